/// How often and when a request that failed is sent again.
///
/// Exponential backoff with full jitter: before attempt n + 1 a random time between nothing and
/// `baseDelay` · 2^(n - 1), at most `maximumDelay`.
public struct RetryPolicy: Sendable, Hashable {
    /// Attempts in all, at least 1.
    public var maximumAttempts: Int
    /// Longest pause after the first attempt.
    public var baseDelay: Duration
    /// Longest pause of all, and the longest `Retry-After` that is waited for.
    public var maximumDelay: Duration

    /// Puts a policy together.
    public init(
        maximumAttempts: Int = 5, baseDelay: Duration = .seconds(1), maximumDelay: Duration = .seconds(60)
    ) {
        precondition(maximumAttempts >= 1, "a request is sent at least once")
        self.maximumAttempts = maximumAttempts
        self.baseDelay = baseDelay
        self.maximumDelay = maximumDelay
    }

    /// The pause after an attempt; nil if there must not be another one.
    /// - Parameters:
    ///   - attempt: How many there were, 1 or more.
    ///   - retryAfter: What the server asks for, at least.
    ///   - fraction: A random number from 0 to 1.
    func delay(afterAttempt attempt: Int, retryAfter: Duration?, fraction: Double) -> Duration? {
        guard attempt < maximumAttempts else { return nil }
        if let retryAfter, retryAfter > maximumDelay { return nil }
        // 2^20 base delays are longer than any sensible maximum.
        let longest = min(maximumDelay, baseDelay * (1 << min(attempt - 1, 20)))
        return max(longest * fraction, retryAfter ?? .zero)
    }
}

/// When a request may be sent again although the server may have carried it out.
enum Repetition: Sendable, Hashable {
    /// Never, whatever happened: the first answer counts.
    case never
    /// Only if the server has surely not carried it out.
    case ifNotCarriedOut
    /// If the server recognises the second request by an id in it, which only those with extensions do; else as above.
    case ifRecognised
    /// Always: a second time does no harm.
    case always
}

/// Decides about the attempts of one request. A value without clock, network or randomness of its own.
struct AttemptDecisions: Sendable {
    /// What to do next.
    enum Decision: Sendable, Hashable {
        /// Get new credentials, and send the request again at once.
        case refreshCredentials
        /// Send the request again after a pause.
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
    ///   - hasCredentials: Whether the request had any.
    ///   - wasSent: Whether the server may have seen the request.
    mutating func decide(
        after error: ServerConnectionError, hasCredentials: Bool, wasSent: Bool, extensions: ServerExtensions,
        fraction: Double
    ) -> Decision {
        guard repetition != .never else { return .fail }
        if error.code == .signInRequired {
            // A good token of nobody does not get better.
            guard hasCredentials, !hasRefreshed, error.serverCode != .userUnknown else { return .fail }
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

    /// Whether the server may have done what was asked: it may, unless it never saw the request or turned it away at the door.
    private func mayBeCarriedOut(_ error: ServerConnectionError, wasSent: Bool) -> Bool {
        wasSent && error.code != .busy
    }
}
