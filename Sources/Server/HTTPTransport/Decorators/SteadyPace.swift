import Synchronization

/// Lets calls begin at a steady rate, whomever they serve: for work without urgency, which must leave room for users'
/// requests.
///
/// A call waits for its turn, or until its deadline, and is then made. ``Pacing`` and the caller handle calls that a
/// provider refuses nevertheless.
public final class SteadyPace: TransportDecorator {
    private let distance: Duration
    private let pause: @Sendable (Duration) -> Void
    private let now: @Sendable () -> ContinuousClock.Instant
    private let next: Mutex<ContinuousClock.Instant>

    /// - Parameters:
    ///   - callsPerSecond: above 0.
    ///   - pause: blocks the calling thread; tests pass one that does not.
    ///   - now: the clock; tests pass one that they control.
    public init(
        callsPerSecond: Int, pause: @escaping @Sendable (Duration) -> Void,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        distance = .seconds(1) / max(1, callsPerSecond)
        self.pause = pause
        self.now = now
        next = Mutex(now())
    }

    public func begin(_ request: OutgoingRequest, by deadline: Deadline) {
        let now = now()
        let start = next.withLock { next in
            let start = max(now, next)
            next = start + distance
            return start
        }
        let wait = min(start - now, deadline.remaining)
        if wait > .zero { pause(wait) }
    }
}
