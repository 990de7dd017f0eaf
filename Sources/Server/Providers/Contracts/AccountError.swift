public import HTTPTransport

/// Why an account provider's reply does not let us continue.
public enum AccountError: Error, Equatable {
    /// The presented token is not valid: expired, revoked, issued for another app, or not a token at all.
    case rejected
    /// The authorization code is used, expired, or not the caller's.
    case codeRejected
    /// The person has not granted the permission that their storage needs.
    case scopeMissing
    /// The account has no storage at the provider, though its kind usually has; the detail is for the log only.
    case storageMissing(detail: String)
    /// The stored refresh token no longer works; only the person can fix that, by signing in.
    case revoked
    /// `X-account-details` is not what this kind of account needs; the text is the end of a sentence about it, for the
    /// caller.
    case malformedDetails(String)
    /// The person has named a server that the operator's settings, or the address guard, do not admit.
    case serverNotAllowed
    /// The provider has certainly not handled the single-use request, so the same one may be sent again; the detail is
    /// for the log only.
    case notAsked(detail: String)
    /// The provider was not asked, to protect all other users.
    case withheld(WithheldCall)
    /// The provider could not be asked, or asks us to slow down; the detail is for the log only.
    case unavailable(detail: String)
    /// The provider did not answer by the deadline.
    case timedOut
    /// The provider refuses us, not the user: the operator must look at client ids and secrets.
    case misconfigured(detail: String)
}

extension AccountError: CustomStringConvertible {
    /// A few words for the log, and for operators.
    public var description: String {
        switch self {
        case .rejected: "the token is rejected"
        case .codeRejected: "the authorization code is rejected"
        case .scopeMissing: "the permission for the storage is missing"
        case .storageMissing(let detail): "the account has no storage: \(detail)"
        case .revoked: "the authorization is revoked"
        case .malformedDetails(let text): "X-account-details \(text)"
        case .serverNotAllowed: "the server is not allowed"
        case .notAsked(let detail): "not asked: \(detail)"
        case .withheld(let reason): "not asked: \(reason)"
        case .unavailable(let detail): "unavailable: \(detail)"
        case .timedOut: "timed out"
        case .misconfigured(let detail): "misconfigured: \(detail)"
        }
    }
}
