import SyncClient
import Synchronization
import TestSupport

/// Collects what a stream brings.
final class Recorder<Element: Sendable>: Sendable {
    private let state = Mutex<[Element]>([])
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(_ stream: AsyncStream<Element>) {
        let reading = Task { [weak self] in
            for await element in stream { self?.state.withLock { $0.append(element) } }
        }
        task.withLock { $0 = reading }
    }

    deinit { task.withLock { $0?.cancel() } }

    /// What came so far.
    var elements: [Element] { state.withLock { $0 } }
}
