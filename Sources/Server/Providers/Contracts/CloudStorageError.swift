public import HTTPTransport

/// What a provider's failure means for the caller; adapters throw nothing else.
public enum CloudStorageError: Error {
    /// The object is definitely not there.
    case notFound
    /// The person's permission is gone and cannot be renewed: they must sign in again.
    case authorizationRevoked
    /// The person's storage is full.
    case quotaExceeded
    /// The provider asks us to slow down, for longer than the deadline allows.
    case rateLimited(retryAfter: Duration?)
    /// The provider was not asked, to protect all other users.
    case withheld(WithheldCall)
    /// The provider failed in a way that may be transient; the detail is for the log only.
    case unavailable(detail: String)
    /// The provider did not answer by the deadline.
    case timedOut
    /// What the provider stored is not what we sent.
    case contentMismatch
    /// The provider rejects the request for a permanent reason; the code is the provider's own, for the log.
    case rejected(code: String)
    /// The person's server is not admitted any more, or its name leads to an address that is not.
    case serverNotAllowed
    /// The content that was to be uploaded ended early or was found wrong; nothing was published.
    case contentFailed(any Error)
    /// The receiver of a download ended it.
    case downloadCancelled
    /// Something on our own side failed, such as the database that holds the tokens.
    case localFailure(any Error)
}

extension CloudStorageError {
    /// Whether a later retry may succeed without anybody intervening.
    public var isTransient: Bool {
        switch self {
        case .rateLimited, .withheld, .unavailable, .timedOut, .contentMismatch, .contentFailed, .downloadCancelled,
            .localFailure:
            true
        case .notFound, .authorizationRevoked, .quotaExceeded, .rejected, .serverNotAllowed: false
        }
    }
}
