/// Decides whether a host that fails repeatedly is called at all; a value without clock or lock.
///
/// When closed, it admits every call. After ``failuresToOpen`` failures without a success in between, over at least
/// ``shortestStreak``, it opens and rejects calls. When its open period has passed, it admits one call as a probe; if
/// that succeeds it closes, otherwise it stays open for twice as long.
struct CircuitBreaker {
    typealias Instant = ContinuousClock.Instant

    static let failuresToOpen = 8
    /// A burst of failures at one moment proves nothing; neither does a single request that is retried.
    static let shortestStreak: Duration = .seconds(5)
    static let firstPause: Duration = .seconds(5)
    static let longestPause: Duration = .seconds(30)
    /// The wait reported to other callers while the probe is in progress.
    static let pauseWhileTrying: Duration = .seconds(2)

    enum Admission: Equatable {
        case go
        /// Admitted although the breaker is open: the outcome of this call decides.
        case probe
        case refused(retryAfter: Duration)
    }

    private enum State {
        case closed
        case open(until: Instant, pause: Duration)
        case probing(pause: Duration)
    }

    /// The number of failures that open it: ``failuresToOpen`` unless its owner is less patient.
    private let patience: Int
    private var state = State.closed
    private var failures = 0
    private var failingSince: Instant?

    init(failuresToOpen patience: Int = Self.failuresToOpen) { self.patience = patience }

    var isClosed: Bool { if case .closed = state { true } else { false } }

    /// Whether the breaker has no state worth keeping.
    var isPristine: Bool { isClosed && failures == 0 }

    /// Whether a call may be made now.
    mutating func admit(at now: Instant) -> Admission {
        switch state {
        case .closed: return .go
        case .probing: return .refused(retryAfter: Self.pauseWhileTrying)
        case .open(let until, let pause):
            guard until <= now else { return .refused(retryAfter: until - now) }
            state = .probing(pause: pause)
            return .probe
        }
    }

    /// The host has responded.
    mutating func succeeded() { self = CircuitBreaker(failuresToOpen: patience) }

    /// A call that began at `start` got no response, or one that says that the service is unavailable.
    mutating func failed(_ admission: Admission, began start: Instant, at now: Instant) {
        switch state {
        case .closed:
            failures += 1
            let since = min(start, failingSince ?? start)
            failingSince = since
            if failures >= patience, now - since >= Self.shortestStreak {
                open(for: Self.firstPause, at: now)
            }
        case .probing(let pause) where admission == .probe: open(for: min(pause * 2, Self.longestPause), at: now)
        case .open, .probing: break  // begun before it opened
        }
    }

    /// A call ended in a way that says nothing about the host.
    mutating func ended(_ admission: Admission, at now: Instant) {
        // The next call is the probe.
        if case .probing(let pause) = state, admission == .probe { state = .open(until: now, pause: pause) }
    }

    private mutating func open(for pause: Duration, at now: Instant) {
        state = .open(until: now + pause, pause: pause)
    }
}
