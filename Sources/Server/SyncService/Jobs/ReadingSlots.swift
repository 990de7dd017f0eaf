import Providers
import Store
import SyncProtocol
import Synchronization

/// How many objects on servers that people name the workers of a process read at a time, one of each owner: an object may be
/// large, and its server as slow as it likes, while the other work waits for a thread.
public final class ReadingSlots: Sendable {
    private let count: Int
    private let owners = Mutex<Set<UserID>>([])

    public init(_ count: Int) { self.count = count }

    /// - Throws: ``CloudStorageError/unavailable(detail:)`` if others are reading; whatever `body` throws.
    func run<Result>(
        for owner: OwningUser, _ body: () throws(CloudStorageError) -> Result
    ) throws(CloudStorageError) -> Result {
        guard owner.storageType.isNamedByPerson else { return try body() }
        let isFree = owners.withLock { $0.count < count && $0.insert(owner.userID).inserted }
        guard isFree else { throw .unavailable(detail: "other objects are being read") }
        defer { owners.withLock { _ = $0.remove(owner.userID) } }
        return try body()
    }
}

extension CloudStorageType {
    /// Whether the storage is at a server that its owner names.
    fileprivate var isNamedByPerson: Bool { self == .webDAV || self == .s3 }
}
