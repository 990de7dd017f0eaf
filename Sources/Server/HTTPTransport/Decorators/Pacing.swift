import HTTPTypes
import Synchronization

/// Spaces the calls made with one bearer token after the provider has rejected one of them with 429.
///
/// A provider's limit applies to a person or an app, and one phone must not slow down the others, so each token has its
/// own pace. A 429 doubles the minimum distance between two calls; each success shortens it by a quarter, until it is
/// dropped. A call waits at most ``longestWait`` and is then made anyway; so is a call when too many others are waiting
/// or the deadline leaves no time, since only the provider decides how many calls are too many. The caller is
/// responsible for retries, and for waiting as long as `Retry-After` requests (``Backoff``). One per process, shared by
/// its threads; no lock is held during a wait.
public final class Pacing: TransportDecorator {
    /// The distance after the first 429.
    static let firstDistance: Duration = .milliseconds(100)
    /// The maximum distance.
    static let longestDistance: Duration = .seconds(1)
    /// A shorter distance counts as none.
    static let shortestDistance: Duration = .milliseconds(20)
    /// The maximum wait of a call.
    static let longestWait: Duration = .seconds(2)
    /// Tokens remembered; more than that are not paced.
    static let maximumTokens = 10_000

    /// A call in progress.
    public struct PacedCall {
        fileprivate var payer: Payer
        fileprivate var start: ContinuousClock.Instant
    }

    /// A token hashed so that it cannot be recovered; each process has its own seed.
    fileprivate struct Payer: Hashable {
        private let hash: Int

        /// `nil` if the request has no bearer token, since it is then unknown whose limit it counts against.
        init?(_ request: OutgoingRequest) {
            guard let authorization = request.headers[.authorization], authorization.hasPrefix("Bearer ") else {
                return nil
            }
            hash = authorization.hashValue
        }
    }

    private struct Pace {
        var distance: Duration
        /// When the next call may begin.
        var next: ContinuousClock.Instant
        /// When the distance was last increased: calls in progress at that time belong to the same burst.
        var increased: ContinuousClock.Instant
    }

    private struct State {
        var paces: [Payer: Pace] = [:]
        var waiting = 0
    }

    private let maximumWaiting: Int
    private let pause: @Sendable (Duration) -> Void
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Mutex(State())

    /// - Parameters:
    ///   - maximumWaiting: how many threads may wait at a time.
    ///   - pause: blocks the calling thread; tests pass one that does not.
    ///   - now: the clock; tests pass one that they control.
    public init(
        maximumWaiting: Int, pause: @escaping @Sendable (Duration) -> Void,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.maximumWaiting = maximumWaiting
        self.pause = pause
        self.now = now
    }

    public func begin(_ request: OutgoingRequest, by deadline: Deadline) -> PacedCall? {
        guard let payer = Payer(request) else { return nil }
        let (now, remaining) = (now(), deadline.remaining)
        let wait = state.withLock { state -> Duration in
            guard var pace = state.paces[payer] else { return .zero }
            let start = max(now, pace.next)
            pace.next = min(start + pace.distance, now + Self.longestWait)
            state.paces[payer] = pace
            let wait = start - now
            guard wait > .zero, wait < remaining, state.waiting < maximumWaiting else { return .zero }
            state.waiting += 1
            return wait
        }
        if wait > .zero {
            pause(wait)
            state.withLock { $0.waiting -= 1 }
        }
        return PacedCall(payer: payer, start: now + wait)
    }

    public func replied(_ call: PacedCall?, _ head: ReplyHead) {
        guard let call else { return }
        if head.status == 429 {
            slowDown(after: call)
        } else if head.status < 400 {
            speedUp(call.payer)
        }
    }

    private func slowDown(after call: PacedCall) {
        let now = now()
        state.withLock { state in
            if let pace = state.paces[call.payer] {
                guard call.start > pace.increased else { return }
                let distance = min(pace.distance * 2, Self.longestDistance)
                state.paces[call.payer] = Pace(
                    distance: distance, next: max(pace.next, now + distance), increased: now)
                return
            }
            if state.paces.count >= Self.maximumTokens {
                state.paces = state.paces.filter { now < $1.next + Self.longestWait }
            }
            guard state.paces.count < Self.maximumTokens else { return }
            state.paces[call.payer] = Pace(
                distance: Self.firstDistance, next: now + Self.firstDistance, increased: now)
        }
    }

    private func speedUp(_ payer: Payer) {
        state.withLock { state in
            guard let distance = state.paces[payer]?.distance else { return }
            let shorter = distance * 3 / 4
            if shorter < Self.shortestDistance {
                state.paces[payer] = nil
            } else {
                state.paces[payer]?.distance = shorter
            }
        }
    }
}

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
