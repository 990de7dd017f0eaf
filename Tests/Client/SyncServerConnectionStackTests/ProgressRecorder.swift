import SyncServerConnection
import Synchronization

/// Remembers how a transfer went on.
final class ProgressRecorder: Sendable {
    private let state = Mutex((last: TransferProgress?.none, count: 0))

    /// The last report.
    var last: TransferProgress? { state.withLock { $0.last } }
    /// How many reports there were.
    var count: Int { state.withLock { $0.count } }

    func add(_ progress: TransferProgress) {
        state.withLock {
            $0.last = progress
            $0.count += 1
        }
    }
}
