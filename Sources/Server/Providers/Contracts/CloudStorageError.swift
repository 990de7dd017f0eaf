public import HTTPTransport

/// The meaning of a provider's failure for the caller; adapters throw no other errors.
public enum CloudStorageError: Error {
    /// The object definitely does not exist.
    case notFound
    /// The person's permission has ended and cannot be renewed: they must sign in again.
    case authorizationRevoked
    /// The person's storage is full.
    case quotaExceeded
    /// The provider asks us to wait longer than the deadline allows.
    case rateLimited(retryAfter: Duration?)
    /// The request was withheld from the provider, to protect all other users.
    case withheld(WithheldCall)
    /// The provider failed in a way that may be transient; the detail is for the log only.
    case unavailable(detail: String)
    /// The provider did not answer by the deadline.
    case timedOut
    /// The stored contents differ from what we sent.
    case contentMismatch
    /// The provider rejects the request for a permanent reason; the code is the provider's own and is for the log.
    case rejected(code: String)
    /// The person must sign in at their own server and accept its terms of service.
    case termsNotAccepted
    /// The person's server is no longer allowed, or its name resolves to a forbidden address.
    case serverNotAllowed
    /// The provider rejects this server, not the person: the operator must check client IDs and secrets.
    case misconfigured(detail: String)
    /// The content to upload ended early or was found to be wrong; nothing was published.
    case contentFailed(any Error)
    /// The receiver of a download ended it.
    case downloadCancelled
    /// A local component failed, such as the database that holds the tokens.
    case localFailure(any Error)
}

extension CloudStorageError {
    /// Whether a later retry may succeed without any action by the person.
    public var isTransient: Bool {
        switch self {
        case .rateLimited, .withheld, .unavailable, .timedOut, .contentMismatch, .contentFailed, .downloadCancelled,
            .localFailure, .misconfigured:
            true
        case .notFound, .authorizationRevoked, .quotaExceeded, .rejected, .termsNotAccepted, .serverNotAllowed: false
        }
    }
}

extension CloudStorageError: CustomStringConvertible, CustomDebugStringConvertible {
    /// A few words that contain none of the provider's text, except for the code of a permanent rejection.
    public var description: String {
        switch self {
        case .notFound: "not found"
        case .authorizationRevoked: "authorization revoked"
        case .quotaExceeded: "quota exceeded"
        case .rateLimited: "rate limited"
        case .withheld: "withheld"
        case .unavailable: "unavailable"
        case .timedOut: "timed out"
        case .contentMismatch: "content mismatch"
        case .rejected(let code): "rejected: \(code)"
        case .misconfigured(let detail): "misconfigured: \(detail)"
        case .serverNotAllowed: "server not allowed"
        case .termsNotAccepted: "terms of service not accepted"
        case .contentFailed, .downloadCancelled: "content failed"
        case .localFailure: "local failure"
        }
    }

    /// Includes details and causes: for operators' logs only.
    public var debugDescription: String {
        switch self {
        case .withheld(let reason): "not asked: \(reason)"
        case .unavailable(let detail): "unavailable: \(detail)"
        case .contentFailed(let cause): "content failed: \(String(reflecting: cause))"
        case .downloadCancelled: "download cancelled"
        case .localFailure(let cause): "local failure: \(String(reflecting: cause))"
        default: description
        }
    }
}
