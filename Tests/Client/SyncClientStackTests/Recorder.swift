import SyncClient
import Synchronization
import TestSupport

/// Collects a stream's elements.
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

    /// The elements so far.
    var elements: [Element] { state.withLock { $0 } }
}
