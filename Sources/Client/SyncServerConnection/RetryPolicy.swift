import SyncProtocol

/// How often and when a failed request is retried.
///
/// Exponential backoff with full jitter: before attempt n + 1 a random time between zero and `baseDelay` · 2^(n - 1),
/// at most `maximumDelay`. A request that receives no reply in time is repeated at most once; see ``ServerConnection``.
public struct RetryPolicy: Sendable, Hashable {
    /// Maximum number of attempts, including the first; at least 1.
    public var maximumAttempts: Int
    /// Maximum delay after the first attempt.
    public var baseDelay: Duration
    /// Maximum delay overall, and the longest `Retry-After` that is honored.
    public var maximumDelay: Duration

    /// Creates a policy.
    public init(
        maximumAttempts: Int = 5, baseDelay: Duration = .seconds(1), maximumDelay: Duration = .seconds(60)
    ) {
        precondition(maximumAttempts >= 1, "a request is sent at least once")
        self.maximumAttempts = maximumAttempts
        self.baseDelay = baseDelay
        self.maximumDelay = maximumDelay
    }

    /// The delay after an attempt; nil if no further attempt is allowed.
    /// - Parameters:
    ///   - attempt: The number of attempts so far, 1 or more.
    ///   - retryAfter: The minimum delay that the server requests.
    ///   - fraction: A random number from 0 to 1.
    func delay(afterAttempt attempt: Int, retryAfter: Duration?, fraction: Double) -> Duration? {
        guard attempt < maximumAttempts else { return nil }
        if let retryAfter, retryAfter > maximumDelay { return nil }
        // 2^20 base delays are longer than any sensible maximum.
        let longest = min(maximumDelay, baseDelay * (1 << min(attempt - 1, 20)))
        return max(longest * fraction, retryAfter ?? .zero)
    }
}

/// When a request may be retried although the server may have processed it.
enum Repetition: Sendable, Hashable {
    /// Never: the first answer counts.
    case never
    /// Only if the server has definitely not processed it.
    case ifNotCarriedOut
    /// If the server recognises the second request by its id, which only servers with extensions do; otherwise like
    /// ``ifNotCarriedOut``.
    case ifRecognised
    /// Always: the request is idempotent.
    case always
}

/// Decides whether and when to repeat one request. A pure value, without a clock, network or random source.
struct AttemptDecisions: Sendable {
    /// The next step.
    enum Decision: Sendable, Hashable {
        /// Refresh the credentials, and retry the request at once.
        case refreshCredentials
        /// Retry the request after a delay.
        case retry(after: Duration)
        /// Give up: the error is the result.
        case fail
    }

    let policy: RetryPolicy
    let repetition: Repetition
    private(set) var attempt = 1
    private var hasRefreshed = false

    init(policy: RetryPolicy, repetition: Repetition) {
        self.policy = policy
        self.repetition = repetition
    }

    /// Decides after an attempt that ended with `error`.
    /// - Parameters:
    ///   - hasCredentials: Whether the request had credentials.
    ///   - wasSent: Whether the server may have seen the request.
    ///   - isSilentAgain: Whether the server has not replied in time, for the second time.
    mutating func decide(
        after error: ServerConnectionError, hasCredentials: Bool, wasSent: Bool, isSilentAgain: Bool = false,
        extensions: ServerExtensions, fraction: Double
    ) -> Decision {
        guard repetition != .never, !isSilentAgain else { return .fail }
        if error.code == .signInRequired {
            // A refresh does not help if the token is valid but belongs to no user, or no longer does.
            guard hasCredentials, !hasRefreshed, error.serverCode != .known(.userUnknown),
                error.serverCode != .known(.accountRetired)
            else { return .fail }
            hasRefreshed = true
            return .refreshCredentials
        }
        guard error.isRetryable, error.code != .serverUnavailable, error.code != .cancelled,
            error.code != .credentialsUnavailable
        else { return .fail }
        let isAllowed =
            switch repetition {
            case .never: false
            case .always: true
            case .ifRecognised: extensions == .present || !mayBeCarriedOut(error, wasSent: wasSent)
            case .ifNotCarriedOut: !mayBeCarriedOut(error, wasSent: wasSent)
            }
        guard isAllowed,
            let delay = policy.delay(afterAttempt: attempt, retryAfter: error.retryAfter, fraction: fraction)
        else { return .fail }
        attempt += 1
        return .retry(after: delay)
    }

    /// Whether the server may have processed the request: yes, unless it never saw the request or rejected it up front.
    private func mayBeCarriedOut(_ error: ServerConnectionError, wasSent: Bool) -> Bool {
        wasSent && error.code != .busy
    }
}
