import SyncProtocol

/// The `code` of an error reply (docs/protocol.md, section 4.2): stable, machine-readable, and extensible.
///
/// Contains only the codes that a client acts upon.
public struct ServerErrorCode: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The code as received.
    public let rawValue: String

    /// Creates a code.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    private init(_ code: ErrorCode) { rawValue = code.rawValue }

    /// The code as received.
    public var description: String { rawValue }

    /// 401: no token has arrived.
    static let credentialsMissing = Self(.credentialsMissing)
    /// 401: a valid token, but no such user.
    public static let userUnknown = Self(.userUnknown)
    /// 401: the person has switched to another account, whose type is in a header of the reply.
    public static let accountRetired = Self(.accountRetired)
    /// 409: the person has switched accounts since the epoch that the request names.
    public static let staleEpoch = Self(.staleEpoch)
    /// 409: the account belongs, or belonged, to an identity.
    public static let accountInUse = Self(.accountInUse)
    /// 409: the device has no valid grant of the identity.
    public static let grantInvalid = Self(.grantInvalid)
    /// 409: the device's grant is too recent to begin a switch.
    public static let grantTooYoung = Self(.grantTooYoung)
    /// 409: the request requires a new authorization code of the account, or its password.
    public static let freshSignInRequired = Self(.freshSignInRequired)
    /// 409: the authorization code is used, expired, or another person's.
    public static let authorizationCodeRejected = Self(.authorizationCodeRejected)
    /// 409: the switch can no longer be undone.
    public static let undoExpired = Self(.undoExpired)
    /// 409: a switch to another account is in progress.
    public static let switchInProgress = Self(.switchInProgress)
    /// 409: the switch is confirmed, and can no longer be withdrawn.
    public static let switchConfirmed = Self(.switchConfirmed)
    /// 404: the caller has no such account switch, or its proposal has expired.
    public static let switchUnknown = Self(.switchUnknown)
    /// 409: the server requires credentials of the former account.
    public static let oldAccountProofRequired = Self(.oldAccountProofRequired)
    /// 401: the account's provider refuses the token.
    public static let credentialsRejected = Self(.credentialsRejected)
    /// 403: the invitation accepts only accounts with cloud storage.
    public static let storageAccountRequired = Self(.storageAccountRequired)
    /// 404: the server has no such endpoint.
    public static let endpointUnknown = Self(.endpointUnknown)
    /// 404: no such upload of this user on this device, or it has expired.
    public static let uploadUnknown = Self(.uploadUnknown)
    /// 409: the upload is at another position, which the reply contains.
    public static let uploadOffsetMismatch = Self(.uploadOffsetMismatch)
    /// 409: another request is sending bytes of the upload.
    public static let uploadConflict = Self(.uploadConflict)
    /// 422: the storage does not accept such a small piece, or only as the last one.
    public static let pieceTooSmall = Self(.pieceTooSmall)
    /// 404: no such file in this group.
    public static let fileUnknown = Self(.fileUnknown)
    /// 404: the file has no app metadata.
    public static let appMetaDataUnknown = Self(.appMetaDataUnknown)
    /// 404: redeeming an invitation that never existed, is used up, or expired.
    public static let invitationUnknown = Self(.invitationUnknown)
    /// 404: Index of a group that the caller is not a member of.
    public static let groupUnknown = Self(.groupUnknown)
    /// 404: the user to change or remove is not a member.
    public static let memberUnknown = Self(.memberUnknown)
    /// 409: the caller is a member, but does not have the permission.
    public static let permissionTooLow = Self(.permissionTooLow)
    /// 409: the UUID of a new group is taken.
    public static let groupExists = Self(.groupExists)
    /// 409: the account already has a user.
    public static let userExists = Self(.userExists)
    /// 409: the request requires an owning account, and the caller's has no storage.
    public static let owningAccountRequired = Self(.owningAccountRequired)
    /// 409: redeeming an invitation to a group that the caller is already a member of.
    public static let alreadyMember = Self(.alreadyMember)
    /// 409: a different version of the file is requested.
    public static let fileVersionMismatch = Self(.fileVersionMismatch)
    /// 409: a different version of the app metadata is requested.
    public static let appMetaDataVersionMismatch = Self(.appMetaDataVersionMismatch)
    /// 409: the file is deleted and the request does not undelete it.
    public static let fileDeleted = Self(.fileDeleted)
    /// 409: the `commitId` belongs to another commit.
    public static let commitIDReused = Self(.commitIdReused)
    /// 409: the batch differs from the request's parameters.
    public static let batchMismatch = Self(.batchMismatch)
    /// 409: the group would no longer have an admin.
    public static let lastAdmin = Self(.lastAdmin)
    /// 410: the caller is not, or is no longer, a member of the group.
    public static let notAMember = Self(.notAMember)
    /// 410: the user who would own the file was removed.
    public static let ownerRemoved = Self(.ownerRemoved)
    /// 410: the owner must sign in again.
    public static let cloudAuthorizationRevoked = Self(.cloudAuthorizationRevoked)
    /// 410: GetSharingInvitationInfo: never existed, used up, or expired.
    public static let invitationGone = Self(.invitationGone)
    /// 507: the owner's storage is full.
    public static let cloudQuotaExceeded = Self(.cloudQuotaExceeded)
}
