import Providers
import Store
import SyncProtocol
import Synchronization

/// Limits how many objects on servers named by people the workers of a process read at a time, and to one per owner: a
/// large object on a slow server would keep other work waiting for a thread.
public final class ReadingSlots: Sendable {
    private let count: Int
    private let owners = Mutex<Set<UserID>>([])

    public init(_ count: Int) { self.count = count }

    /// - Throws: ``CloudStorageError/unavailable(detail:)`` if others are reading; any error of `body`.
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
    /// Whether the storage is on a server named by its owner.
    fileprivate var isNamedByPerson: Bool { self == .webDAV || self == .s3 }
}
