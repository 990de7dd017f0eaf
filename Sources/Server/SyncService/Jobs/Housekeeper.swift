import HTTPTransport
public import Logging
public import Store
public import SyncProtocol

/// Removes obsolete rows: expired invitations, staged changes without a commit, results of old codes, commits that are
/// no longer needed.
///
/// Any number of instances may run; each step is a separate transaction over a bounded number of rows.
public struct Housekeeper: Sendable {
    private static let batch = 500
    /// Commits deleted in one round; one round per minute keeps up with 80 commits per second.
    private static let commitBatch = 5_000
    /// How long the result of an exchanged authorization code is kept, in seconds: far longer than requests are
    /// retried.
    private static let codeLifetimeSeconds: Int64 = 86_400
    /// How long a commit is remembered by its id, in seconds: as long as operating systems allow background transfers
    /// to last.
    private static let commitLifetimeSeconds: Int64 = 7 * 86_400
    /// How long the known hashes of an object are kept, in seconds: they can be computed again.
    private static let contentLifetimeSeconds: Int64 = 90 * 86_400

    /// How long Apple's notices are remembered, in seconds: twice as long as a notice is accepted.
    private static let noticeLifetimeSeconds: Int64 = 60 * 86_400

    /// How long replies about missing contents are remembered, in seconds.
    private static let goneLifetimeSeconds: Int64 = 90 * 86_400
    /// How long the row of a process that no longer renews it is kept, in seconds: far longer than the process counts
    /// as running.
    private static let holderLifetimeSeconds: Int64 = 86_400

    /// How long a finished switch is remembered, in seconds: far longer than its request is retried.
    private static let switchLifetimeSeconds: Int64 = 90 * 86_400

    /// How far back to search for uploads of people who have since left, in seconds: far longer than the time between
    /// two rounds.
    private static let departureSeconds: Int64 = 3_600

    private let store: MetadataStore
    private let stagingLifetimeSeconds: Int64
    private let undoSeconds: Int64
    private let now: @Sendable () -> WireDate
    private let logger: Logger

    /// - Parameters:
    ///   - stagingLifetimeDays: days without a commit after which staged changes are withdrawn.
    ///   - undoDays: how long an account switch can be undone.
    public init(
        store: MetadataStore, stagingLifetimeDays: Int, undoDays: Int = 14, now: @escaping @Sendable () -> WireDate,
        logger: Logger
    ) {
        self.store = store
        stagingLifetimeSeconds = Int64(stagingLifetimeDays) * 86_400
        undoSeconds = Int64(undoDays) * 86_400
        self.now = now
        self.logger = logger
    }

    /// Runs one round: every sweep, in the order of the table.
    /// - Throws: ``StoreError``.
    public func run() throws {
        for sweep in sweeps {
            let count = try store.transaction { session in try sweep.work(&session) }
            if count > 0 { logger.info(sweep.sentence, metadata: .keyed([.count: "\(count)"])) }
        }
    }

    /// One kind of obsolete rows.
    private struct Sweep {
        /// The log line, if there were any.
        let sentence: Logger.Message
        /// Handles a bounded number of rows in one transaction; returns their number.
        let work: (inout StoreSession) throws -> Int

        init(_ sentence: Logger.Message, _ work: @escaping (inout StoreSession) throws -> Int) {
            self.sentence = sentence
            self.work = work
        }
    }

    private var sweeps: [Sweep] {
        [
            Sweep("Removed expired invitations") { session in
                try session.removeExpiredInvitations(at: now(), limit: Self.batch)
            },
            Sweep("Withdrew abandoned uploads") { session in
                try session.withdrawAbandoned(
                    stagedBefore: time(ago: stagingLifetimeSeconds), limit: Self.batch, at: now())
            },
            Sweep("Withdrew uploads of people who have left") { session in
                try session.withdrawStagedByStrangers(
                    since: time(ago: Self.departureSeconds), limit: Self.batch, at: now())
            },
            Sweep("Removed incomplete batches") { session in
                try session.forgetBatches(changedBefore: time(ago: stagingLifetimeSeconds), limit: Self.batch)
            },
            Sweep("Removed expired uploads") { session in
                try session.forgetResumableUploads(at: now(), limit: Self.batch)
            },
            Sweep("Removed old commits") { session in
                try session.forgetCommits(before: time(ago: Self.commitLifetimeSeconds), limit: Self.commitBatch)
            },
            Sweep("Removed results of old authorization codes") { session in
                try session.forgetExchangedCodes(before: time(ago: Self.codeLifetimeSeconds), limit: Self.batch)
            },
            Sweep("Removed old quota counts") { session in try session.forgetQuotaWindows(limit: Self.commitBatch) },
            Sweep("Removed old Apple notices") { session in
                try session.forgetAppleNotices(before: time(ago: Self.noticeLifetimeSeconds), limit: Self.batch)
            },
            Sweep("Removed old object hashes") { session in
                try session.forgetContents(before: time(ago: Self.contentLifetimeSeconds), limit: Self.batch)
            },
            Sweep("Removed old replies about missing contents") { session in
                try session.forgetGoneContents(before: time(ago: Self.goneLifetimeSeconds), limit: Self.batch)
            },
            Sweep("Removed processes that ended without deregistering") { session in
                try session.forgetKeyHolders(before: time(ago: Self.holderLifetimeSeconds), limit: Self.batch)
            },
            Sweep("Removed revoked and unused device grants") { session in
                try session.forgetGrants(revokedBefore: time(ago: undoSeconds), at: now(), limit: Self.batch)
            },
            Sweep("Removed object locations of switches that can no longer be undone") { session in
                try session.forgetForUndo(before: time(ago: undoSeconds), limit: Self.commitBatch)
            },
            Sweep("Removed unregistered accounts that were switched away from") { session in
                try session.forgetRetiredAccounts(before: time(ago: undoSeconds), limit: Self.batch)
            },
            Sweep("Expired unconfirmed account switches") { session in
                try session.forgetExpiredSwitches(at: now(), limit: Self.batch)
            },
            Sweep("Removed old content moves") { session in
                try session.forgetEndedMoves(before: time(ago: Self.switchLifetimeSeconds), limit: Self.batch)
            },
            Sweep("Removed old account switches") { session in
                try session.forgetFinishedSwitches(before: time(ago: Self.switchLifetimeSeconds), limit: Self.batch)
            },
            Sweep("Gave up clearing the storage of removed users") { session in
                try session.forgetDepartedUsers(at: now(), limit: Self.batch)
            },
        ]
    }

    private func time(ago seconds: Int64) -> WireDate {
        WireDate(secondsSince1970: now().secondsSince1970 - seconds)
    }
}
