import Synchronization

/// What one worker thread is doing, for the thread that monitors all of them.
final class WorkerActivity: Sendable {
    private static let idle: Int64 = 0
    private let started = ContinuousClock.now
    /// Milliseconds since `started` at the last sign of progress; ``idle`` while no request is handled.
    private let lastProgress = Atomic<Int64>(idle)
    /// Whether the thread has left its loop.
    private let left = Atomic(false)

    func begin() { progress() }
    func progress() { lastProgress.store(max(1, now), ordering: .relaxed) }
    /// The thread is idle, or waits for a peer that may be slow.
    func end() { lastProgress.store(Self.idle, ordering: .relaxed) }
    func leave() { left.store(true, ordering: .releasing) }

    var hasLeft: Bool { left.load(ordering: .acquiring) }

    /// How long a request has been handled without a byte moved; zero if the thread is idle.
    var timeWithoutProgress: Duration {
        let last = lastProgress.load(ordering: .relaxed)
        return last == Self.idle ? .zero : .milliseconds(now - last)
    }

    private var now: Int64 {
        let elapsed = started.duration(to: .now).components
        return elapsed.seconds * 1_000 + elapsed.attoseconds / 1_000_000_000_000_000
    }
}
