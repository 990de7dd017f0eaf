public import HTTPTransport

/// Why an account provider's reply does not let us continue.
public enum AccountError: Error, Equatable {
    /// The presented token is not valid: expired, revoked, issued for another app, or not a token at all.
    case rejected
    /// The same, where the provider says what is wrong with a key: the text is a sentence for the caller.
    case keyRejected(String)
    /// The presented key lacks a right that the storage needs; the text is a sentence for the caller that names it.
    case rightMissing(String)
    /// Another error, of an address that somebody without a user has named: the server may fail, or the address may be wrong.
    indirect case addressDoubtful(AccountError)
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
    /// The server that the person has named takes any password, or shows the folder to everybody, so that it cannot tell who
    /// somebody is.
    case anyPasswordAccepted
    /// No file can be kept in the storage that the person has named.
    case storageUnusable(StorageObstacle)
    /// The provider has certainly not handled a single-use request, so the same one may be sent again after that time: it
    /// could not be reached, or asked for a pause. Of another request it may also have failed. The detail is for the log only.
    case notAsked(retryAfter: Duration, detail: String)
    /// The provider was not asked, to protect all other users.
    case withheld(WithheldCall)
    /// The provider gave no answer that could be understood, or it is not known whether a single-use request took effect; the
    /// detail is for the log only.
    case unavailable(detail: String)
    /// The provider did not answer by the deadline.
    case timedOut
    /// The provider refuses us, not the user: the operator must look at client ids and secrets.
    case misconfigured(detail: String)
}

extension AccountError {
    /// Whether the provider has judged the credentials themselves, and refuses them.
    public var isRejection: Bool {
        switch self {
        case .rejected, .keyRejected: true
        default: false
        }
    }
}

extension AccountError: CustomStringConvertible {
    /// A few words for the log, and for operators.
    public var description: String {
        switch self {
        case .rejected: "the token is rejected"
        case .keyRejected(let text), .rightMissing(let text): text
        case .addressDoubtful(let error): "\(error)"
        case .codeRejected: "the authorization code is rejected"
        case .scopeMissing: "the permission for the storage is missing"
        case .storageMissing(let detail): "the account has no storage: \(detail)"
        case .revoked: "the authorization is revoked"
        case .malformedDetails(let text): "X-account-details \(text)"
        case .serverNotAllowed: "the server is not allowed"
        case .anyPasswordAccepted: "the server accepts any password"
        case .storageUnusable(let obstacle): "the storage is of no use: \(obstacle.sentence)"
        case .notAsked(_, let detail): "not asked: \(detail)"
        case .withheld(let reason): "not asked: \(reason)"
        case .unavailable(let detail): "unavailable: \(detail)"
        case .timedOut: "timed out"
        case .misconfigured(let detail): "misconfigured: \(detail)"
        }
    }
}

/// Why no file can be kept in a storage that a person has named.
public enum StorageObstacle: Equatable, Sendable {
    /// The server does not show the folder to this user; or it says so in place of 401.
    case forbidden
    /// The folder of another person of the same server.
    case ofSomebodyElse
    /// No folder of files, but another one of a server that has several kinds.
    case notAHome
    /// The user may read the folder only.
    case readOnly
    /// Nothing can be written there, for whatever reason; the status tells.
    case notWritable(status: Int)
    /// What was written cannot be deleted.
    case notDeletable
    /// What was written cannot be read, or is something else.
    case notKept
    /// The server refuses a body of the size of a photograph.
    case bodyLimit
    /// There is no room left.
    case full
    /// The server offers Digest authentication only, and has refused Basic.
    case digestOnly
    /// The person has to accept the terms of service at the server.
    case termsNotAccepted

    /// Names the cause, for the caller.
    public var sentence: String {
        switch self {
        case .forbidden:
            "the server does not show the folder at this address to this user: the password is wrong, or it is not the "
                + "user's own folder"
        case .ofSomebodyElse: "the address is that of another person's files"
        case .notAHome:
            "the address is not that of a person's files, which at a Nextcloud is …/remote.php/dav/files/NAME/"
        case .readOnly: "the user may read the folder at this address, but not write there"
        case .notWritable(let status): "nothing can be written at this address (status \(status))"
        case .notDeletable: "what was written at this address cannot be deleted"
        case .notKept: "what was written at this address is not there, or is not what was written"
        case .bodyLimit: "the server refuses files of 1 MiB; the limit is one of it, or of a proxy in front of it"
        case .full: "the storage at this address is full"
        case .digestOnly:
            "the server refuses the password, and offers Digest authentication only; Basic authentication is needed"
        case .termsNotAccepted: "the person has to sign in at the server itself, and accept its terms of service"
        }
    }
}

extension AccountError {
    /// Whether the server has refused the password, which is to be counted as a wrong one, or cannot be told from one.
    public var refusesPassword: Bool {
        switch self {
        case .rejected, .storageUnusable(.forbidden), .storageUnusable(.digestOnly): true
        default: false
        }
    }
}
