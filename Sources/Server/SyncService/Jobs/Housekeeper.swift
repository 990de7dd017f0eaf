public import Logging
public import Store
public import SyncProtocol
import Vault

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

    /// Runs one round.
    /// - Throws: ``StoreError``.
    public func run() throws {
        let invitations = try store.transaction { session in
            try session.removeExpiredInvitations(at: now(), limit: Self.batch)
        }
        report("Removed expired invitations", invitations)
        let changes = try store.transaction { session in
            try session.withdrawAbandoned(
                stagedBefore: time(ago: stagingLifetimeSeconds), limit: Self.batch, at: now())
        }
        report("Withdrew abandoned uploads", changes)
        let orphans = try store.transaction { session in
            try session.withdrawStagedByStrangers(
                since: time(ago: Self.departureSeconds), limit: Self.batch, at: now())
        }
        report("Withdrew uploads of people who have left", orphans)
        let batches = try store.transaction { session in
            try session.forgetBatches(changedBefore: time(ago: stagingLifetimeSeconds), limit: Self.batch)
        }
        report("Removed incomplete batches", batches)
        let uploads = try store.transaction { session in
            try session.forgetResumableUploads(at: now(), limit: Self.batch)
        }
        report("Removed expired uploads", uploads)
        let commits = try store.transaction { session in
            try session.forgetCommits(before: time(ago: Self.commitLifetimeSeconds), limit: Self.commitBatch)
        }
        report("Removed old commits", commits)
        let codes = try store.transaction { session in
            try session.forgetExchangedCodes(before: time(ago: Self.codeLifetimeSeconds), limit: Self.batch)
        }
        report("Removed results of old authorization codes", codes)
        let hours = try store.transaction { try $0.forgetQuotaWindows(limit: Self.commitBatch) }
        report("Removed old quota counts", hours)
        let notices = try store.transaction { session in
            try session.forgetAppleNotices(before: time(ago: Self.noticeLifetimeSeconds), limit: Self.batch)
        }
        report("Removed old Apple notices", notices)
        let contents = try store.transaction { session in
            try session.forgetContents(before: time(ago: Self.contentLifetimeSeconds), limit: Self.batch)
        }
        report("Removed old object hashes", contents)
        let gone = try store.transaction { session in
            try session.forgetGoneContents(before: time(ago: Self.goneLifetimeSeconds), limit: Self.batch)
        }
        report("Removed old replies about missing contents", gone)
        let holders = try store.transaction { session in
            try session.forgetKeyHolders(before: time(ago: Self.holderLifetimeSeconds), limit: Self.batch)
        }
        report("Removed processes that ended without deregistering", holders)
        let grants = try store.transaction { session in
            try session.forgetGrants(revokedBefore: time(ago: undoSeconds), at: now(), limit: Self.batch)
        }
        report("Removed revoked and unused device grants", grants)
        let kept = try store.transaction { session in
            try session.forgetForUndo(before: time(ago: undoSeconds), limit: Self.commitBatch)
        }
        report("Removed object locations of switches that can no longer be undone", kept)
        let accounts = try store.transaction { session in
            try session.forgetRetiredAccounts(before: time(ago: undoSeconds), limit: Self.batch)
        }
        report("Removed unregistered accounts that were switched away from", accounts)
        let proposals = try store.transaction { try $0.forgetExpiredSwitches(at: now(), limit: Self.batch) }
        report("Expired unconfirmed account switches", proposals)
        let moves = try store.transaction { session in
            try session.forgetEndedMoves(before: time(ago: Self.switchLifetimeSeconds), limit: Self.batch)
        }
        report("Removed old content moves", moves)
        let switches = try store.transaction { session in
            try session.forgetFinishedSwitches(before: time(ago: Self.switchLifetimeSeconds), limit: Self.batch)
        }
        report("Removed old account switches", switches)
        let departed = try store.transaction { session in
            try session.forgetDepartedUsers(at: now(), limit: Self.batch)
        }
        report("Gave up clearing the storage of removed users", departed)
    }

    private func report(_ sentence: Logger.Message, _ count: Int) {
        if count > 0 { logger.info(sentence, metadata: .keyed([.count: "\(count)"])) }
    }

    private func time(ago seconds: Int64) -> WireDate {
        WireDate(secondsSince1970: now().secondsSince1970 - seconds)
    }
}
