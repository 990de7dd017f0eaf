import CloudStorage
public import HTTPTransport
public import Logging
public import Store
public import SyncProtocol
public import UserStorage

/// Does what the outbox says must still happen in the clouds.
///
/// Any number of them may run, on any number of hosts: each leases its work first. All work may be done twice.
public struct OutboxWorker: Sendable {
    /// A file for new owners that asks them not to touch the folder.
    public struct WarningFile: Sendable {
        public var name: String
        public var contents: [UInt8]

        public init(name: String, contents: [UInt8]) {
            self.name = name
            self.contents = contents
        }
    }

    /// Rows leased at a time.
    private static let batch = 8
    /// How long other workers leave leased rows alone; longer than a batch may take.
    private static let leaseSeconds: Int64 = 600
    private static let itemTime: Duration = .seconds(60)
    /// After so many attempts at something that only a person could mend, the work is dropped.
    private static let maximumAttempts = 60

    private let store: Store
    private let storage: StorageRegistry
    private let warningFile: WarningFile?
    private let leaseOwner: String
    private let now: @Sendable () -> WireDate
    private let logger: Logger

    /// - Parameter leaseOwner: a text that no other worker uses.
    public init(
        store: Store, storage: StorageRegistry, warningFile: WarningFile?, leaseOwner: String,
        now: @escaping @Sendable () -> WireDate, logger: Logger
    ) {
        self.store = store
        self.storage = storage
        self.warningFile = warningFile
        self.leaseOwner = leaseOwner
        self.now = now
        self.logger = logger
    }

    /// Leases what is due and does it.
    /// - Parameter beforeItem: called before each piece of work, as a sign of life.
    /// - Returns: how many rows were leased; 0 if nothing is due.
    /// - Throws: ``StoreError``.
    public func run(transport: Transport, beforeItem: () -> Void = {}) throws -> Int {
        let items = try store.transaction { session in
            try session.leaseDue(
                by: leaseOwner, limit: Self.batch, until: time(in: Self.leaseSeconds), at: now())
        }
        for item in items {
            beforeItem()
            try handle(item, transport, beforeItem)
        }
        return items.count
    }

    private func handle(_ item: OutboxItem, _ transport: Transport, _ beforeItem: () -> Void) throws {
        var logger = logger
        logger[metadataKey: LogKey.outboxID.rawValue] = "\(item.id.rawValue)"
        logger[metadataKey: LogKey.owningUserID.rawValue] = "\(item.owner.userID)"
        do {
            guard let user = try store.withSession({ try $0.user(item.owner.userID) }) else {
                // Their account is gone, and with it our access.
                return try complete(item)
            }
            let storage = try storage.storage(
                of: user, transport: transport, deadline: .after(Self.itemTime), logger: logger)
            switch item.kind {
            case .deleteObject: try deleteObject(item, storage)
            case .writeWarningFile: try writeWarningFile(item, storage)
            case .hashObject: try hashObject(item, storage, beforeItem)
            }
            try complete(item)
            logger.info("Outbox item done", metadata: .keyed([.reason: "\(item.kind.rawValue)"]))
        } catch let error as CloudStorageError {
            try postpone(item, after: error, logger)
        }
    }

    private func deleteObject(_ item: OutboxItem, _ storage: UserStorage) throws {
        var objectID = item.objectID
        if let name = item.objectName {
            // Where names are unique another upload may have found this one's object, and count on it.
            if storage.provider.storageType != .google {
                let isShared = try store.withSession { session in
                    try session.isBeingUploaded(
                        name, of: item.owner, otherThan: item.id, by: leaseOwner, at: now())
                }
                if isShared { throw CloudStorageError.unavailable(detail: "another upload goes by the same name") }
            }
            // Left by an upload that died before it learned its object's identifier, or stored by an older server.
            // Recorded before the decision, so that nobody adopts the object from then on.
            if objectID == nil, let found = try storage.provider.find(name: name, in: storage.access)?.objectID {
                try store.transaction { session in try session.record(objectID: found, in: item.id, by: leaseOwner) }
                objectID = found
            }
        }
        guard let objectID else { return }
        let name = item.objectName.flatMap { CloudFileName($0) }
        let isReferenced = try store.transaction { session in
            if try session.isReferenced(objectID, of: item.owner) { return true }
            return try name.map { try session.isReferenced($0, of: item.owner) } ?? false
        }
        // From here on nobody adopts the object: while this row exists, adoption is refused.
        if !isReferenced { try storage.provider.delete(objectID: objectID, in: storage.access) }
    }

    private func writeWarningFile(_ item: OutboxItem, _ storage: UserStorage) throws {
        guard let warningFile else { return }
        var reservation = try storage.provider.reserve(name: warningFile.name, in: storage.access)
        if let objectID = item.objectID {
            reservation.objectID = objectID
        } else {
            // A file of that name may be the person's own, or from an earlier account of theirs: it is left alone.
            if try storage.provider.find(name: warningFile.name, in: storage.access) != nil { return }
            if let objectID = reservation.objectID {
                try store.transaction { session in
                    try session.record(objectID: objectID, in: item.id, by: leaseOwner)
                }
            }
        }
        let content = BytesContent(warningFile.contents, for: storage.provider.storageType)
        _ = try storage.provider.upload(content, as: reservation, mimeType: "text/plain", to: storage.access)
    }

    /// Finds out what the bytes of an object are, and whether the provider's own hash, which may have come late, fits.
    private func hashObject(_ item: OutboxItem, _ storage: UserStorage, _ signOfLife: () -> Void) throws {
        guard let objectID = item.objectID else { return }
        do {
            let object = try storage.provider.describe(objectID: objectID, in: storage.access)
            guard object.providerHash != nil || item.attempts >= Self.maximumAttempts else {
                throw CloudStorageError.unavailable(detail: "the provider has no hash yet")
            }
            let known = try store.withSession { try $0.knownContent(of: objectID, in: item.owner) }
            let content: KnownContent
            if let known, known.providerHash == object.providerHash {
                content = known
            } else {
                content = try ContentReading.contents(of: object, in: storage) {
                    signOfLife()
                    return true
                }
            }
            try store.transaction { session in
                try session.remember(content, of: objectID, in: item.owner, at: now())
            }
        } catch CloudStorageError.notFound {
            // Gone in the meantime: there is nothing left to find out.
        }
    }

    private func complete(_ item: OutboxItem) throws {
        try store.transaction { session in _ = try session.complete(item.id, by: leaseOwner) }
    }

    /// Puts the work off: for as long as the provider says, or twice as long as the last time; for a day if only a
    /// person can mend it.
    private func postpone(_ item: OutboxItem, after error: CloudStorageError, _ logger: Logger) throws {
        let word = Self.word(for: error)
        guard error.isTransient || item.attempts < Self.maximumAttempts else {
            logger.warning("Outbox item dropped", metadata: .keyed([.reason: "\(word)", .count: "\(item.attempts)"]))
            return try complete(item)
        }
        var seconds = min(3_600, Int64(2) << Int64(min(item.attempts, 11)))
        if !error.isTransient { seconds = 86_400 }
        if case .rateLimited(let told?) = error { seconds = max(seconds, told.components.seconds) }
        logger.warning(
            "Outbox item postponed",
            metadata: .keyed([
                .reason: "\(word)", .seconds: "\(seconds)", .count: "\(item.attempts + 1)",
            ]))
        try store.transaction { session in
            try session.postpone(item.id, by: leaseOwner, until: time(in: seconds), error: word)
        }
    }

    private func time(in seconds: Int64) -> WireDate {
        WireDate(secondsSince1970: now().secondsSince1970 + seconds)
    }

    /// A word for log and table that holds nothing of what the provider wrote.
    private static func word(for error: CloudStorageError) -> String {
        switch error {
        case .notFound: "not found"
        case .authorizationRevoked: "authorization revoked"
        case .quotaExceeded: "quota exceeded"
        case .rateLimited: "rate limited"
        case .unavailable: "unavailable"
        case .timedOut: "timed out"
        case .contentMismatch: "content mismatch"
        case .rejected(let code): "rejected: \(code)"
        case .contentFailed, .downloadCancelled: "content failed"
        case .localFailure: "local failure"
        }
    }
}
