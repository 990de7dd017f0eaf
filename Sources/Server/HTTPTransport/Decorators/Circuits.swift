import Synchronization

/// Stops calls to a host that has failed for a while, which spares the host load and the callers the wait; only single
/// probes are sent from time to time (``CircuitBreaker``). One per process, shared by its threads; no lock is held
/// during a call.
public final class Circuits: TransportDecorator {
    /// Called when calls to a host stop or resume.
    public typealias Observer = @Sendable (ExternalService, _ host: String, _ isOpen: Bool) -> Void

    /// A call in progress.
    public struct Call {
        fileprivate var service: ExternalService
        fileprivate var host: String
        /// Whether to report changes in the circuit's state to the operator: not for a server that only a person named.
        fileprivate var isReported: Bool
        fileprivate var admission: CircuitBreaker.Admission
        fileprivate var start: ContinuousClock.Instant
    }

    /// The meaning of a call's result for its host.
    private enum Outcome {
        case success
        case failure
        case nothing

        init(status: Int) { self = [502, 503, 504].contains(status) ? .failure : .success }
    }

    /// If a call had less time than this, its timeout says nothing about the host.
    private static let shortestMeaningfulTimeout: Duration = .seconds(2)

    /// The maximum number of failing hosts remembered; further hosts that only a person names are called as if they
    /// worked.
    private static let maximumHosts = 4096

    private let failuresToOpen: Int
    private let now: @Sendable () -> ContinuousClock.Instant
    private let observer: Observer
    private let breakers = Mutex<[String: CircuitBreaker]>([:])

    /// - Parameters:
    ///   - failuresToOpen: how many consecutive failures, over a few seconds, stop the calls to a host; `nil` for a
    ///     number that suits people's requests.
    ///   - now: the clock; tests pass one that they control.
    public init(
        failuresToOpen: Int? = nil, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        observer: @escaping Observer = { _, _, _ in }
    ) {
        self.failuresToOpen = failuresToOpen ?? CircuitBreaker.failuresToOpen
        self.now = now
        self.observer = observer
    }

    /// - Throws: ``TransportError/withheld(_:)`` with ``WithheldCall/circuitOpen(retryAfter:)``.
    public func begin(_ request: OutgoingRequest, by deadline: Deadline) throws(TransportError) -> Call {
        let service = request.call.service
        // For an entry that matches many hosts, the host's own name is not stored.
        let host =
            request.server ?? HTTPSAddress(request.url).flatMap { service.entry(for: $0.host) } ?? service.name
        let now = now()
        let admission = breakers.withLock { $0[host]?.admit(at: now) } ?? .go
        if case .refused(let retryAfter) = admission { throw .withheld(.circuitOpen(retryAfter: retryAfter)) }
        return Call(
            service: service, host: host, isReported: request.destination != .named, admission: admission, start: now)
    }

    public func replied(_ call: Call, _ head: ReplyHead) { note(.init(status: head.status), call) }

    public func ended(_ call: Call, _ result: CallResult) {
        guard case .failed(let error, let head) = result, head == nil else { return }
        let outcome: Outcome =
            switch error {
            case .notSent, .interrupted: .failure
            case .timedOut: now() - call.start >= Self.shortestMeaningfulTimeout ? .failure : .nothing
            case .replyTooLarge: .success
            case .cancelled, .refused, .forbiddenAddress, .withheld: .nothing
            }
        note(outcome, call)
    }

    private func note(_ outcome: Outcome, _ call: Call) {
        let now = now()
        let (wasClosed, isClosed) = breakers.withLock { breakers in
            var breaker = breakers[call.host] ?? CircuitBreaker(failuresToOpen: failuresToOpen)
            let wasClosed = breaker.isClosed
            switch outcome {
            case .success: breaker.succeeded()
            case .failure: breaker.failed(call.admission, began: call.start, at: now)
            case .nothing: breaker.ended(call.admission, at: now)
            }
            // A breaker without failures need not be remembered.
            let isKnown = breakers[call.host] != nil
            if breaker.isPristine {
                breakers[call.host] = nil
            } else if isKnown || call.isReported || breakers.count < Self.maximumHosts {
                breakers[call.host] = breaker
            }
            return (wasClosed, breaker.isClosed)
        }
        if wasClosed != isClosed, call.isReported { observer(call.service, call.host, !isClosed) }
    }
}

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
