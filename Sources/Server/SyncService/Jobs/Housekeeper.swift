public import Logging
public import Store
public import SyncProtocol
import Vault

/// Removes obsolete rows: expired invitations, staged changes without a commit, results of old codes, commits that
/// nobody will ask about again.
///
/// Any number of instances may run; each step is a transaction of its own over a bounded number of rows.
public struct Housekeeper: Sendable {
    private static let batch = 500
    /// Commits deleted in one round; a round a minute keeps up with 80 of them a second.
    private static let commitBatch = 5_000
    /// How long the result of an exchanged authorization code is kept, in seconds: far longer than requests are
    /// retried.
    private static let codeLifetimeSeconds: Int64 = 86_400
    /// How long a commit is remembered by its id, in seconds: as long as an operating system lets background transfers
    /// take.
    private static let commitLifetimeSeconds: Int64 = 7 * 86_400
    /// How long the known hashes of an object are kept, in seconds: they can be computed again.
    private static let contentLifetimeSeconds: Int64 = 90 * 86_400

    /// How long Apple's notices are remembered, in seconds: twice as long as a notice is accepted.
    private static let noticeLifetimeSeconds: Int64 = 60 * 86_400

    /// How long it is known what phones were told about contents that are gone, in seconds.
    private static let goneLifetimeSeconds: Int64 = 90 * 86_400
    /// How long the row of a process that no longer renews it is kept, in seconds: far longer than anybody counts it.
    private static let holderLifetimeSeconds: Int64 = 86_400

    /// How long it is known that a switch was finished, in seconds: far longer than its request is retried.
    private static let switchLifetimeSeconds: Int64 = 90 * 86_400

    /// How far back uploads of people who have since left are searched for, in seconds: far longer than the time
    /// between two rounds.
    private static let departureSeconds: Int64 = 3_600

    private let store: MetadataStore
    private let stagingLifetimeSeconds: Int64
    private let undoSeconds: Int64
    private let now: @Sendable () -> WireDate
    private let logger: Logger

    /// - Parameters:
    ///   - stagingLifetimeDays: number of days without a commit after which staged changes are withdrawn.
    ///   - undoDays: for how long a switch of accounts can be undone.
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
        report("Expired invitations removed", invitations)
        let changes = try store.transaction { session in
            try session.withdrawAbandoned(
                stagedBefore: time(ago: stagingLifetimeSeconds), limit: Self.batch, at: now())
        }
        report("Abandoned uploads withdrawn", changes)
        let orphans = try store.transaction { session in
            try session.withdrawStagedByStrangers(
                since: time(ago: Self.departureSeconds), limit: Self.batch, at: now())
        }
        report("Uploads of people who left meanwhile withdrawn", orphans)
        let batches = try store.transaction { session in
            try session.forgetBatches(changedBefore: time(ago: stagingLifetimeSeconds), limit: Self.batch)
        }
        report("Incomplete batches forgotten", batches)
        let uploads = try store.transaction { session in
            try session.forgetResumableUploads(at: now(), limit: Self.batch)
        }
        report("Expired uploads forgotten", uploads)
        let commits = try store.transaction { session in
            try session.forgetCommits(before: time(ago: Self.commitLifetimeSeconds), limit: Self.commitBatch)
        }
        report("Old commits forgotten", commits)
        let codes = try store.transaction { session in
            try session.forgetExchangedCodes(before: time(ago: Self.codeLifetimeSeconds), limit: Self.batch)
        }
        report("Results of old authorization codes forgotten", codes)
        let hours = try store.transaction { try $0.forgetQuotaWindows(limit: Self.commitBatch) }
        report("Hours of quotas forgotten", hours)
        let notices = try store.transaction { session in
            try session.forgetAppleNotices(before: time(ago: Self.noticeLifetimeSeconds), limit: Self.batch)
        }
        report("Old notices of Apple forgotten", notices)
        let contents = try store.transaction { session in
            try session.forgetContents(before: time(ago: Self.contentLifetimeSeconds), limit: Self.batch)
        }
        report("Results of reading objects forgotten", contents)
        let gone = try store.transaction { session in
            try session.forgetGoneContents(before: time(ago: Self.goneLifetimeSeconds), limit: Self.batch)
        }
        report("Old replies about contents that are gone forgotten", gone)
        let holders = try store.transaction { session in
            try session.forgetKeyHolders(before: time(ago: Self.holderLifetimeSeconds), limit: Self.batch)
        }
        report("Processes forgotten that ended without saying so", holders)
        let grants = try store.transaction { session in
            try session.forgetGrants(revokedBefore: time(ago: undoSeconds), at: now(), limit: Self.batch)
        }
        report("Device grants forgotten that were revoked, or not used for long", grants)
        let kept = try store.transaction { session in
            try session.forgetForUndo(before: time(ago: undoSeconds), limit: Self.commitBatch)
        }
        report("Locations forgotten that an undo of an account switch would need", kept)
        let accounts = try store.transaction { session in
            try session.forgetRetiredAccounts(before: time(ago: undoSeconds), limit: Self.batch)
        }
        report("Accounts forgotten that people switched away from without having signed up with them", accounts)
        let proposals = try store.transaction { try $0.forgetExpiredSwitches(at: now(), limit: Self.batch) }
        report("Account switches forgotten that nobody confirmed", proposals)
        let moves = try store.transaction { session in
            try session.forgetEndedMoves(before: time(ago: Self.switchLifetimeSeconds), limit: Self.batch)
        }
        report("Old moves of contents forgotten", moves)
        let switches = try store.transaction { session in
            try session.forgetFinishedSwitches(before: time(ago: Self.switchLifetimeSeconds), limit: Self.batch)
        }
        report("Old account switches forgotten", switches)
        let departed = try store.transaction { session in
            try session.forgetDepartedUsers(at: now(), limit: Self.batch)
        }
        report("Removed users forgotten whose storage could not be cleared in time", departed)
    }

    private func report(_ sentence: Logger.Message, _ count: Int) {
        if count > 0 { logger.info(sentence, metadata: .keyed([.count: "\(count)"])) }
    }

    private func time(ago seconds: Int64) -> WireDate {
        WireDate(secondsSince1970: now().secondsSince1970 - seconds)
    }
}
