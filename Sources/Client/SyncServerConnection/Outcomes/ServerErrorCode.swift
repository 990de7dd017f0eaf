import SyncProtocol

/// The `code` of an error reply (docs/protocol.md, section 4.2): stable, machine-readable, and extensible.
///
/// Only the codes that a client acts upon are named here.
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
    /// 401: the person has switched to another account, of the type that the reply's header names.
    public static let accountRetired = Self(.accountRetired)
    /// 409: the person has switched accounts since the epoch that the request names.
    public static let staleEpoch = Self(.staleEpoch)
    /// 409: the account is, or was, that of an identity.
    public static let accountInUse = Self(.accountInUse)
    /// 409: the device has no valid grant of the identity.
    public static let grantInvalid = Self(.grantInvalid)
    /// 409: the device has its grant for too short a time to begin a switch.
    public static let grantTooYoung = Self(.grantTooYoung)
    /// 409: the request takes a new authorization code of the account, or its password.
    public static let freshSignInRequired = Self(.freshSignInRequired)
    /// 409: the authorization code is spent, expired, or another person's.
    public static let authorizationCodeRejected = Self(.authorizationCodeRejected)
    /// 409: the switch can no longer be undone.
    public static let undoExpired = Self(.undoExpired)
    /// 409: a switch to another account has been begun.
    public static let switchInProgress = Self(.switchInProgress)
    /// 409: the switch is confirmed, and cannot be withdrawn any more.
    public static let switchConfirmed = Self(.switchConfirmed)
    /// 404: no such account switch of the caller's, or a proposal that has expired.
    public static let switchUnknown = Self(.switchUnknown)
    /// 409: the server asks for credentials of the account that is to be left.
    public static let oldAccountProofRequired = Self(.oldAccountProofRequired)
    /// 401: the account's provider refuses the token.
    public static let credentialsRejected = Self(.credentialsRejected)
    /// 403: the invitation accepts only accounts with cloud storage.
    public static let storageAccountRequired = Self(.storageAccountRequired)
    /// 404: the server has no such endpoint.
    public static let endpointUnknown = Self(.endpointUnknown)
    /// 404: no such upload of this user on this device, or it has expired.
    public static let uploadUnknown = Self(.uploadUnknown)
    /// 409: the upload has got to another position; the reply says to which.
    public static let uploadOffsetMismatch = Self(.uploadOffsetMismatch)
    /// 409: another request sends bytes of the upload.
    public static let uploadConflict = Self(.uploadConflict)
    /// 422: the storage keeps no piece that is so small, or none but the last.
    public static let pieceTooSmall = Self(.pieceTooSmall)
    /// 404: no such file in this group.
    public static let fileUnknown = Self(.fileUnknown)
    /// 404: the file has no app metadata.
    public static let appMetaDataUnknown = Self(.appMetaDataUnknown)
    /// 404: redeeming an invitation that never existed, is used up, or expired.
    public static let invitationUnknown = Self(.invitationUnknown)
    /// 404: Index of a group that the caller is not a member of.
    public static let groupUnknown = Self(.groupUnknown)
    /// 404: the user to be changed or removed is not a member.
    public static let memberUnknown = Self(.memberUnknown)
    /// 409: the caller is a member, but lacks the permission.
    public static let permissionTooLow = Self(.permissionTooLow)
    /// 409: the UUID of a new group is taken.
    public static let groupExists = Self(.groupExists)
    /// 409: the account already has a user.
    public static let userExists = Self(.userExists)
    /// 409: an account without storage tries something that requires an owning account.
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
    /// 409: the batch differs from what the request says.
    public static let batchMismatch = Self(.batchMismatch)
    /// 409: the group would be left without an admin.
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
