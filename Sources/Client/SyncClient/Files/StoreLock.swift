import Foundation
import SyncEngine
import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Android)
    import Android
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Restricts a store to one instance in one process, until it is released or the process ends: flock(2).
final class StoreLock: Sendable {
    private let descriptor: Mutex<Int32?>

    /// - Throws: `storeInUse` if another process or instance holds it; `storeError`.
    init(_ file: URL) throws(SyncError) {
        let number = unsafe open(file.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard number >= 0 else { throw SyncError(.storeError) }
        guard flock(number, LOCK_EX | LOCK_NB) == 0 else {
            let isTaken = errno == EWOULDBLOCK
            close(number)
            throw SyncError(isTaken ? .storeInUse : .storeError)
        }
        descriptor = Mutex(number)
    }

    deinit { release() }

    /// Releases the store.
    func release() {
        descriptor.withLock { number in
            if let number { close(number) }
            number = nil
        }
    }
}
