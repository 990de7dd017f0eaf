/// Waits between attempts: truncated exponential back-off with full jitter, or exactly as long as the provider says.
public struct Backoff: Sendable {
    /// Total number of attempts, including the first.
    public var attempts: Int
    private let pause: @Sendable (Duration) -> Void

    /// - Parameter pause: blocks the calling thread; tests pass one that does not.
    public init(attempts: Int = 5, pause: @escaping @Sendable (Duration) -> Void) {
        self.attempts = attempts
        self.pause = pause
    }

    /// Waits before attempt number `attempt` (the second is 1) if that fits before `deadline`.
    ///
    /// - Parameter retryAfter: the wait that the provider asked for; up to a tenth is added, to spread the clients.
    /// - Returns: `false` if there is no time or no attempt left.
    public func wait(before attempt: Int, retryAfter: Duration?, deadline: Deadline) -> Bool {
        guard attempt < attempts else { return false }
        let delay: Duration
        if let retryAfter {
            delay = retryAfter + retryAfter * Double.random(in: 0...0.1)
        } else {
            let ceiling = min(64.0, Double(1 << min(attempt - 1, 6)) * 0.5)
            delay = .seconds(Double.random(in: 0...ceiling))
        }
        guard delay < deadline.remaining else { return false }
        pause(delay)
        return true
    }

    /// Waits for `duration` if that fits before `deadline`; `false` if it does not.
    public func pause(_ duration: Duration, deadline: Deadline) -> Bool {
        guard duration < deadline.remaining else { return false }
        pause(duration)
        return true
    }
}
