import HTTPTypes
import Synchronization

/// Spaces the calls made with one bearer token after the provider has refused one of them as too many (429).
///
/// A limit of a provider is a person's or an app's, so what one phone does must not slow down the others: the pace is
/// that of a token. Each 429 doubles the least distance between two calls, each success shortens it by a quarter, until
/// it is forgotten. A call waits at most ``longestWait`` and is then made anyway: only the provider decides what is too
/// many. Retrying is the business of whoever made the call (``Backoff``), as is waiting as long as `Retry-After` says.
/// One per process, shared by its threads; no lock is held during a wait.
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

    /// A token in a form from which it cannot be recovered; its seed is this process's own.
    public struct Payer: Hashable, Sendable {
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
    }

    private let pause: @Sendable (Duration) -> Void
    private let now: @Sendable () -> ContinuousClock.Instant
    private let paces = Mutex<[Payer: Pace]>([:])

    /// - Parameters:
    ///   - pause: blocks the calling thread; tests pass one that does not.
    ///   - now: the clock; tests pass one that they control.
    public init(
        pause: @escaping @Sendable (Duration) -> Void,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.pause = pause
        self.now = now
    }

    public func begin(_ request: OutgoingRequest, by deadline: Deadline) -> Payer? {
        guard let payer = Payer(request) else { return nil }
        let now = now()
        let wait = paces.withLock { paces -> Duration in
            guard var pace = paces[payer] else { return .zero }
            let start = max(now, pace.next)
            pace.next = start + pace.distance
            paces[payer] = pace
            return start - now
        }
        let longest = min(Self.longestWait, deadline.remaining)
        if wait > .zero, longest > .zero { pause(min(wait, longest)) }
        return payer
    }

    public func replied(_ payer: Payer?, _ head: ReplyHead) {
        guard let payer else { return }
        let now = now()
        if head.status == 429 {
            paces.withLock { paces in
                if paces.count >= Self.maximumTokens { paces = paces.filter { now < $1.next + Self.longestWait } }
                let distance = paces[payer].map { min($0.distance * 2, Self.longestDistance) } ?? Self.firstDistance
                if paces[payer] != nil || paces.count < Self.maximumTokens {
                    paces[payer] = Pace(distance: distance, next: now + distance)
                }
            }
        } else if head.status < 400 {
            paces.withLock { paces in
                guard let distance = paces[payer]?.distance else { return }
                let shorter = distance * 3 / 4
                if shorter < Self.shortestDistance { paces[payer] = nil } else { paces[payer]?.distance = shorter }
            }
        }
    }
}
