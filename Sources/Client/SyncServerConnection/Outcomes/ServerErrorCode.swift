/// The `code` of an error reply (docs/protocol.md, section 4.2): stable, machine-readable, and open for new ones.
///
/// Only those that a client acts upon have a name here.
public struct ServerErrorCode: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The code as it came.
    public let rawValue: String

    /// Takes a code over.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The code as it came.
    public var description: String { rawValue }

    /// 401: a good token, but no such user.
    public static let userUnknown = Self(rawValue: "user_unknown")
    /// 401: the account's provider refuses the token.
    public static let credentialsRejected = Self(rawValue: "credentials_rejected")
    /// 403: the invitation admits only accounts with cloud storage.
    public static let storageAccountRequired = Self(rawValue: "storage_account_required")
    /// 404: the server has no such endpoint.
    public static let endpointUnknown = Self(rawValue: "endpoint_unknown")
    /// 404: no such file in this group.
    public static let fileUnknown = Self(rawValue: "file_unknown")
    /// 404: the file has no app metadata.
    public static let appMetaDataUnknown = Self(rawValue: "app_meta_data_unknown")
    /// 404: redeeming an invitation that never existed, is used up, or expired.
    public static let invitationUnknown = Self(rawValue: "invitation_unknown")
    /// 404: Index of a group in which the caller is not.
    public static let groupUnknown = Self(rawValue: "group_unknown")
    /// 404: the user to be changed or removed is not a member.
    public static let memberUnknown = Self(rawValue: "member_unknown")
    /// 409: member, but the permission does not suffice.
    public static let permissionTooLow = Self(rawValue: "permission_too_low")
    /// 409: the UUID of a new group is taken.
    public static let groupExists = Self(rawValue: "group_exists")
    /// 409: the account has a user already.
    public static let userExists = Self(rawValue: "user_exists")
    /// 409: an account without storage tries what only owners may.
    public static let owningAccountRequired = Self(rawValue: "owning_account_required")
    /// 409: redeeming an invitation to one's own group.
    public static let alreadyMember = Self(rawValue: "already_member")
    /// 409: another version of the file is asked for.
    public static let fileVersionMismatch = Self(rawValue: "file_version_mismatch")
    /// 409: another version of the app metadata is asked for.
    public static let appMetaDataVersionMismatch = Self(rawValue: "app_meta_data_version_mismatch")
    /// 409: the file is deleted and the request does not undelete it.
    public static let fileDeleted = Self(rawValue: "file_deleted")
    /// 409: the `commitId` belongs to another commit.
    public static let commitIDReused = Self(rawValue: "commit_id_reused")
    /// 409: the batch is another one than the request says.
    public static let batchMismatch = Self(rawValue: "batch_mismatch")
    /// 409: the group would be left without an admin.
    public static let lastAdmin = Self(rawValue: "last_admin")
    /// 410: the caller is not, or no longer, in the group.
    public static let notAMember = Self(rawValue: "not_a_member")
    /// 410: whoever would own the file is gone.
    public static let ownerRemoved = Self(rawValue: "owner_removed")
    /// 410: the owner must sign in again.
    public static let cloudAuthorizationRevoked = Self(rawValue: "cloud_authorization_revoked")
    /// 410: GetSharingInvitationInfo: never existed, used up, or expired.
    public static let invitationGone = Self(rawValue: "invitation_gone")
    /// 507: the owner's storage is full.
    public static let cloudQuotaExceeded = Self(rawValue: "cloud_quota_exceeded")
}
