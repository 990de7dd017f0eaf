public import HTTPTransport

/// Why an account provider's reply does not allow us to continue.
public enum AccountError: Error, Equatable {
    /// The presented token is not valid: expired, revoked, issued for another app, or not a token at all.
    case rejected
    /// Like ``rejected``, if the provider reports what is wrong with a key: the text is a sentence for the caller.
    case keyRejected(String)
    /// The presented key lacks a right that the storage requires; the text is a sentence for the caller that names it.
    case rightMissing(String)
    /// Any other error at an address named by a caller who is not yet a user: the server may have failed, or the
    /// address may be wrong.
    indirect case addressDoubtful(AccountError)
    /// The authorization code has been used, has expired, or does not belong to the caller.
    case codeRejected
    /// The person has not granted the permission that the storage requires.
    case scopeMissing
    /// The account has no storage at the provider, although accounts of its kind usually do; the detail is for the log
    /// only.
    case storageMissing(detail: String)
    /// The stored refresh token no longer works; only a new sign-in by the person helps.
    case revoked
    /// `X-account-details` is not what this kind of account requires; the text is the end of a sentence about it, for
    /// the caller.
    case malformedDetails(String)
    /// The operator's settings or the address guard do not allow the server that the person has named.
    case serverNotAllowed
    /// The server that the person has named accepts any password or shows the folder to everybody, so it cannot prove
    /// who somebody is.
    case anyPasswordAccepted
    /// The storage that the person has named cannot store files.
    case storageUnusable(StorageObstacle)
    /// The provider could not be reached, or asked for a pause. It has certainly not handled a single-use request, so
    /// the same request may be sent again after that time; another kind of request may also have failed in a different
    /// way. The detail is for the log only.
    case notAsked(retryAfter: Duration, detail: String)
    /// The request was withheld from the provider, to protect all other users.
    case withheld(WithheldCall)
    /// The provider's reply was missing or unintelligible, or it is unknown whether a single-use request took effect;
    /// the detail is for the log only.
    case unavailable(detail: String)
    /// The provider did not answer by the deadline.
    case timedOut
    /// The provider rejects us, not the user: the operator must check client IDs and secrets.
    case misconfigured(detail: String)
}

extension AccountError {
    /// Whether the provider has judged the credentials themselves and rejects them.
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
        case .storageUnusable(let obstacle): "the storage is unusable: \(obstacle.sentence)"
        case .notAsked(_, let detail): "not asked: \(detail)"
        case .withheld(let reason): "not asked: \(reason)"
        case .unavailable(let detail): "unavailable: \(detail)"
        case .timedOut: "timed out"
        case .misconfigured(let detail): "misconfigured: \(detail)"
        }
    }
}

/// Why a storage that a person has named cannot store files.
public enum StorageObstacle: Equatable, Sendable {
    /// The server does not show the folder to this user; some servers report that instead of 401.
    case forbidden
    /// The folder belongs to a different person on the same server.
    case ofSomebodyElse
    /// Not a folder of files, but a folder of a different kind on a server with several kinds.
    case notAHome
    /// The user may only read the folder.
    case readOnly
    /// Writing fails for another reason; see the status.
    case notWritable(status: Int)
    /// A written file cannot be deleted.
    case notDeletable
    /// A written file cannot be read back, or its contents differ.
    case notKept
    /// The server rejects a body the size of a photograph.
    case bodyLimit
    /// The storage is full.
    case full
    /// The server offers only Digest authentication and has rejected Basic.
    case digestOnly
    /// The person must accept the server's terms of service.
    case termsNotAccepted

    /// Names the cause, for the caller.
    public var sentence: String {
        switch self {
        case .forbidden:
            "the server does not show the folder at this address to this user: the password is wrong, or the folder "
                + "belongs to another user"
        case .ofSomebodyElse: "the address belongs to another person's files"
        case .notAHome:
            "this is not the address of a person's files, which in Nextcloud is …/remote.php/dav/files/NAME/"
        case .readOnly: "the user may read the folder at this address but not write to it"
        case .notWritable(let status): "the server does not allow writing at this address (status \(status))"
        case .notDeletable: "a file written at this address cannot be deleted"
        case .notKept: "a file written at this address cannot be read back, or its contents differ"
        case .bodyLimit: "the server, or a proxy in front of it, rejects files of 1 MiB"
        case .full: "the storage at this address is full"
        case .digestOnly:
            "the server rejects the password and offers only Digest authentication; Basic authentication is required"
        case .termsNotAccepted: "the person must sign in to the server itself and accept its terms of service"
        }
    }
}

extension AccountError {
    /// Whether the server has rejected the password, or its reply cannot be distinguished from a rejection; both count
    /// as a wrong password.
    public var refusesPassword: Bool {
        switch self {
        case .rejected, .storageUnusable(.forbidden), .storageUnusable(.digestOnly): true
        default: false
        }
    }
}

extension AccountError {
    /// The meaning of a call's failure after an earlier call has used up a code: the code must not be sent again.
    var afterUseOfCode: AccountError {
        switch self {
        case .notAsked(_, let detail), .misconfigured(let detail): .unavailable(detail: detail)
        case .withheld(let reason): .unavailable(detail: "not asked: \(reason)")
        default: self
        }
    }
}
