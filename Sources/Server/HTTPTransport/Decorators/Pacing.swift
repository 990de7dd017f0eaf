import HTTPTypes
import Synchronization

/// Spaces the calls made with one bearer token after the provider has refused one of them as too many (429).
///
/// A limit of a provider is a person's or an app's, so what one phone does must not slow down the others: the pace is
/// that of a token. A 429 doubles the least distance between two calls, each success shortens it by a quarter, until it
/// is forgotten. A call waits at most ``longestWait`` and is then made anyway, and so is one for which too many others
/// wait or the deadline leaves no time: only the provider decides what is too many. Retrying is the business of whoever
/// made the call (``Backoff``), as is waiting as long as `Retry-After` says. One per process, shared by its threads; no
/// lock is held during a wait.
public final class Pacing: TransportDecorator {
    /// The distance after the first 429.
    static let firstDistance: Duration = .milliseconds(100)
    /// The distance that is not exceeded.
    static let longestDistance: Duration = .seconds(1)
    /// A shorter distance is none.
    static let shortestDistance: Duration = .milliseconds(20)
    /// How long a call waits at most.
    static let longestWait: Duration = .seconds(2)
    /// Tokens remembered; more than that are not paced.
    static let maximumTokens = 10_000

    /// A call in progress.
    public struct PacedCall {
        fileprivate var payer: Payer
        fileprivate var start: ContinuousClock.Instant
    }

    /// A token in a form from which it cannot be recovered; its seed is this process's own.
    fileprivate struct Payer: Hashable {
        private let hash: Int

        /// `nil` if the request has no bearer token: nobody knows then whose limit it counts against.
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
        /// When the distance was last increased: calls that were in progress then are of the same burst.
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
