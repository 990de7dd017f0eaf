public import HTTPTransport
public import Logging
public import Providers
public import Store
public import SyncProtocol
public import Vault

/// Performs the outbox work in the clouds and at push services.
///
/// Any number of workers may run, on any number of hosts: each leases its work first. All work may be performed twice.
public struct OutboxWorker: Sendable {
    /// A file for new owners that asks them not to modify the folder.
    public struct WarningFile: Sendable {
        public var name: String
        public var contents: [UInt8]

        public init(name: String, contents: [UInt8]) {
            self.name = name
            self.contents = contents
        }
    }

    /// Rows leased at a time: work for one provider must not wait for another that does not reply.
    private static let rowsInHand = 1
    /// How long other workers leave leased rows alone; longer than a piece of work may take.
    static let leaseSeconds: Int64 = 600
    /// How long work waits before it checks again whether an upload has ended, in seconds.
    private static let uploadPollSeconds: Int64 = 5
    /// The number of attempts after which work that only a person could repair is dropped.
    static let maximumAttempts = 60

    private let store: MetadataStore
    private let cloudWork: CloudWork
    private let pushWork: PushWork
    private let revocationWork: RevocationWork
    private let leaseOwner: String
    private let now: @Sendable () -> WireDate
    private let logger: Logger

    /// - Parameters:
    ///   - writesIndexPage: whether to keep a page in each owner's folder; otherwise scheduled pages are dropped.
    ///   - manifests: how to write manifests; otherwise scheduled ones are dropped.
    ///   - readings: shared with the other workers of the process.
    ///   - leaseOwner: a string that no other worker uses.
    public init(
        store: MetadataStore, storage: StorageRegistry, push: PushServices = PushServices(), warningFile: WarningFile?,
        writesIndexPage: Bool = false, manifests: ManifestSettings? = nil, readings: ReadingSlots = ReadingSlots(1),
        leaseOwner: String,
        now: @escaping @Sendable () -> WireDate, logger: Logger
    ) {
        self.store = store
        let indexPages = IndexPageWork(store: store, leaseOwner: leaseOwner, now: now)
        cloudWork = CloudWork(
            store: store, storage: storage, warningFile: warningFile, indexPages: writesIndexPage ? indexPages : nil,
            manifests: manifests.map { ManifestWork(store: store, vault: storage.vault, settings: $0, now: now) },
            rebuild: RebuildWork(store: store, vault: storage.vault, now: now), readings: readings,
            leaseOwner: leaseOwner, now: now)
        pushWork = PushWork(store: store, services: push, leaseOwner: leaseOwner, now: now)
        revocationWork = RevocationWork(store: store, storage: storage, leaseOwner: leaseOwner)
        self.leaseOwner = leaseOwner
        self.now = now
        self.logger = logger
    }

    /// Leases due work and performs it.
    /// - Parameter beforeItem: called before each piece of work, to show that the worker is alive.
    /// - Returns: how many rows were leased; 0 if nothing is due.
    /// - Throws: ``StoreError``.
    public func run(transport: Transport, beforeItem: () -> Void = {}) throws -> Int {
        let items = try store.transaction { session in
            try session.leaseDue(
                by: leaseOwner, limit: Self.rowsInHand, until: time(in: Self.leaseSeconds), at: now())
        }
        for item in items {
            beforeItem()
            try handle(item, transport, beforeItem)
        }
        return items.count
    }

    private func handle(_ item: OutboxItem, _ transport: Transport, _ signOfLife: () -> Void) throws {
        var logger = logger
        logger[metadataKey: LogKey.outboxID.rawValue] = "\(item.id.rawValue)"
        logger[metadataKey: LogKey.owningUserID.rawValue] = "\(item.userID)"
        if let requestID = item.requestID { logger[metadataKey: LogKey.requestID.rawValue] = "\(requestID)" }
        let transport = transport.decorated(by: CallLog(logger))
        do {
            switch item.work {
            case .inStorage(let work, let owner):
                try cloudWork.perform(work, of: owner, item, transport, logger, signOfLife)
            case .sendPush(let order): try pushWork.send(order, for: item, transport, logger)
            case .removePushTopic(let topic): try pushWork.removeTopic(topic, transport)
            case .revokeGrant(let grant): try revocationWork.revoke(grant, for: item, transport, logger)
            case .incomplete: logger.warning("Outbox item dropped: it is incomplete")
            }
            if try complete(item, logger) != .passedOn {
                logger.info("Outbox item done", metadata: .keyed([.reason: "\(item.kind.rawValue)"]))
            }
        } catch let wait as WaitsForUpload {
            try hold(item, wait, logger)
        } catch let error as CloudStorageError {
            try postpone(item, Setback(error, "\(error)", error.isTransient, error.retryAfter), logger)
        } catch let error as PushError {
            try postpone(item, Setback(error, "\(error)", error.isTransient, error.retryAfter), logger)
        } catch let error as AccountError {
            // An operator may fix the problem within the day for which a grant is kept.
            try postpone(item, Setback(error, error.word, true, error.retryAfter), logger)
        }
    }

    /// Removes work that is done or dropped, unless it has since passed to a user other than the one for whom it was
    /// leased.
    private func complete(_ item: OutboxItem, _ logger: Logger) throws -> LeaseEnd {
        let end = try store.transaction { session in
            let end = try session.complete(item, by: leaseOwner, at: now())
            if end == .asAsked { try session.forgetDepartedUser(item.userID) }
            return end
        }
        note(end, logger)
        return end
    }

    private func note(_ end: LeaseEnd, _ logger: Logger) {
        if end == .passedOn { logger.info("Outbox item passed on: its account has a new user") }
    }

    /// Why work could not be performed.
    private struct Setback {
        /// A few words for the log and the table, without text from the provider.
        let word: String
        let isTransient: Bool
        let retryAfter: Duration?
        let level: Logger.Level

        init(_ error: any Error, _ word: String, _ isTransient: Bool, _ retryAfter: Duration?) {
            self.word = word
            self.isTransient = isTransient
            self.retryAfter = retryAfter
            level = Logger.Level(ofFailure: error)
        }
    }

    /// Postpones work briefly, at most until the upload that it waits for has ended.
    private func hold(_ item: OutboxItem, _ wait: WaitsForUpload, _ logger: Logger) throws {
        let next = max(wait.until ?? .earliest, time(in: Self.uploadPollSeconds))
        logger.debug("Outbox item waits for an upload", metadata: .keyed([.reason: "\(item.kind.rawValue)"]))
        note(
            try store.transaction { session in
                try session.postpone(
                    item, by: leaseOwner, until: next, error: "unavailable", isAttempt: false, at: now())
            }, logger)
    }

    /// Postpones the work: as long as the provider asks, or twice as long as the last time; for a day if only a person
    /// can fix the problem. For a removed user nobody fixes anything, and access to their storage ends soon.
    private func postpone(_ item: OutboxItem, _ setback: Setback, _ logger: Logger) throws {
        let word = setback.word
        let isTransient = try setback.isTransient || isDeparted(item)
        var seconds = min(3_600, Int64(2) << Int64(min(item.attempts, 11)))
        if !isTransient { seconds = 86_400 }
        // Current time and due time are whole seconds, rounded down: two more are added, or the retry would be slightly
        // too early.
        if let retryAfter = setback.retryAfter { seconds = max(seconds, retryAfter.components.seconds + 2) }
        let isHopeless = !isTransient && item.attempts >= Self.maximumAttempts
        guard !isHopeless, !isStale(item, at: time(in: seconds)) else {
            logger.log(
                level: setback.level, "Outbox item dropped",
                metadata: .keyed([.reason: "\(word)", .count: "\(item.attempts)"]))
            _ = try complete(item, logger)
            return
        }
        logger.log(
            level: setback.level, "Outbox item postponed",
            metadata: .keyed([
                .reason: "\(word)", .seconds: "\(seconds)", .count: "\(item.attempts + 1)",
            ]))
        note(
            try store.transaction { session in
                try session.postpone(item, by: leaseOwner, until: time(in: seconds), error: word, at: now())
            }, logger)
    }

    /// Whether work will be too late at `time`.
    private func isStale(_ item: OutboxItem, at time: WireDate) -> Bool {
        switch item.work {
        case .sendPush(let order): pushWork.isStale(order, at: time)
        case .revokeGrant(let grant): revocationWork.isStale(grant, at: time)
        case .inStorage, .removePushTopic, .incomplete: false
        }
    }

    /// Whether the work concerns the storage of a removed user.
    private func isDeparted(_ item: OutboxItem) throws -> Bool {
        guard item.owner != nil else { return false }
        return try store.withSession { try $0.departedUser(item.userID) != nil }
    }

    private func time(in seconds: Int64) -> WireDate {
        WireDate(secondsSince1970: now().secondsSince1970 + seconds)
    }
}
