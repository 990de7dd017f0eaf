import Synchronization

/// A clock that only moves when somebody pauses or the test says so.
final class SteppedClock: Sendable {
    private let offset = Mutex(Duration.zero)
    private let start = ContinuousClock.now
    var now: ContinuousClock.Instant { start + offset.withLock { $0 } }
    func advance(_ duration: Duration) { offset.withLock { $0 += duration } }
}
