import SyncServerConnection
import Synchronization

/// Records the progress of a transfer.
final class ProgressRecorder: Sendable {
    private let state = Mutex((last: TransferProgress?.none, count: 0))

    /// The last report.
    var last: TransferProgress? { state.withLock { $0.last } }
    /// The number of reports.
    var count: Int { state.withLock { $0.count } }

    func add(_ progress: TransferProgress) {
        state.withLock {
            $0.last = progress
            $0.count += 1
        }
    }
}
