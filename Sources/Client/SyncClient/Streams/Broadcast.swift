import Synchronization

/// Sends each element to any number of streams.
final class Broadcast<Element: Sendable>: Sendable {
    private struct Subscriber: Sendable {
        let continuation: AsyncStream<Element>.Continuation
        let isWanted: @Sendable (Element) -> Bool
    }

    private struct State {
        var next = 0
        var subscribers: [Int: Subscriber] = [:]
        var isFinished = false
    }

    private let state = Mutex(State())

    /// A stream of the elements sent from now on, which finishes with the library.
    /// - Parameters:
    ///   - first: The first element of the stream.
    ///   - isWanted: Which of the later elements it delivers.
    func stream(
        _ bufferingPolicy: AsyncStream<Element>.Continuation.BufferingPolicy = .unbounded, first: Element? = nil,
        where isWanted: @escaping @Sendable (Element) -> Bool = { _ in true }
    ) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: bufferingPolicy)
        if let first { continuation.yield(first) }
        let number: Int? = state.withLock { state in
            guard !state.isFinished else { return nil }
            state.next += 1
            state.subscribers[state.next] = Subscriber(continuation: continuation, isWanted: isWanted)
            return state.next
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { $0.subscribers[number] = nil }
        }
        return stream
    }

    func send(_ element: Element) {
        // Outside the lock, which the termination of a stream acquires.
        let subscribers = state.withLock { Array($0.subscribers.values) }
        for subscriber in subscribers where subscriber.isWanted(element) { subscriber.continuation.yield(element) }
    }

    func finish() {
        let subscribers = state.withLock { state in
            state.isFinished = true
            defer { state.subscribers = [:] }
            return Array(state.subscribers.values)
        }
        for subscriber in subscribers { subscriber.continuation.finish() }
    }
}
