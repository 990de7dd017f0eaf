import Synchronization

/// A clock that moves only when a caller pauses or the test advances it.
final class SteppedClock: Sendable {
    private let offset = Mutex(Duration.zero)
    private let start = ContinuousClock.now
    var now: ContinuousClock.Instant { start + offset.withLock { $0 } }
    func advance(_ duration: Duration) { offset.withLock { $0 += duration } }
}
