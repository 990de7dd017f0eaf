import CloudStorage
import HTTPTransport
import Logging
import Store
import UserStorage

/// The part of the outbox that happens in people's storage.
struct CloudWork: Sendable {
    private static let itemTime: Duration = .seconds(60)

    let store: Store
    let storage: StorageRegistry
    let warningFile: OutboxWorker.WarningFile?
    let leaseOwner: String

    /// Does one piece of work; doing it again changes nothing.
    /// - Throws: `CloudStorageError`, `StoreError`.
    func carryOut(_ item: OutboxItem, _ transport: Transport, _ logger: Logger) throws {
        guard let owner = item.owner, let user = try store.withSession({ try $0.user(owner.userID) }) else {
            // Their account is gone, and with it our access.
            return
        }
        let storage = try storage.storage(
            of: user, transport: transport, deadline: .after(Self.itemTime), logger: logger)
        switch item.kind {
        case .deleteObject: try deleteObject(item, of: owner, storage)
        case .writeWarningFile: try writeWarningFile(item, storage)
        case .sendPush, .removePushTopic: preconditionFailure("push work is not done in storage")
        }
    }

    private func deleteObject(_ item: OutboxItem, of owner: OwningUser, _ storage: UserStorage) throws {
        var objectID = item.objectID
        if objectID == nil, let name = item.objectName {
            // Only an upload that died before it learned its object's identifier leaves a name alone.
            objectID = try storage.provider.find(name: name, in: storage.access)?.objectID
        }
        guard let objectID else { return }
        let isReferenced = try store.transaction { session in
            try session.isReferenced(objectID, of: owner)
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

    /// A word for log and table that holds nothing of what the provider wrote.
    static func word(for error: CloudStorageError) -> String {
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

extension CloudStorageError {
    /// How long the provider asks to wait, if it does.
    var retryAfter: Duration? { if case .rateLimited(let told) = self { told } else { nil } }
}
