import Providers
import Synchronization

/// How many objects the workers of a process read at a time: an object may be large, and its server as slow as it likes,
/// while the other work waits for a thread.
public final class ReadingSlots: Sendable {
    private let free: Mutex<Int>

    public init(_ count: Int) { free = Mutex(count) }

    /// - Throws: ``CloudStorageError/unavailable(detail:)`` if others are reading; whatever `body` throws.
    func run<Result>(_ body: () throws(CloudStorageError) -> Result) throws(CloudStorageError) -> Result {
        let isFree = free.withLock { free in
            guard free > 0 else { return false }
            free -= 1
            return true
        }
        guard isFree else { throw .unavailable(detail: "other objects are being read") }
        defer { free.withLock { $0 += 1 } }
        return try body()
    }
}
