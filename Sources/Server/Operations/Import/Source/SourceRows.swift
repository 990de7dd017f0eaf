// Rows of a SyncServerII database, before any validation. Column names are that server's.

/// A row of `User`.
public struct SourceUser: Equatable, Sendable {
    public var userId: Int64
    public var username: String
    public var accountType: String
    public var credsId: String
    /// JSON; contains tokens, so it is never printed.
    public var creds: String
    public var cloudFolderName: String?
    public var pushNotificationTopic: String?
}

/// A row of `SharingGroup` with its `MasterVersion`.
public struct SourceGroup: Equatable, Sendable {
    public var sharingGroupUUID: String
    public var sharingGroupName: String?
    public var deleted: Bool
    public var masterVersion: Int64?
}

/// A row of `SharingGroupUser`.
public struct SourceMember: Equatable, Sendable {
    public var userId: Int64
    public var owningUserId: Int64?
    public var permission: String
}

/// A row of `FileIndex`. Dates are strings, because they may be invalid.
public struct SourceFile: Equatable, Sendable {
    public var fileIndexId: Int64
    public var fileUUID: String
    public var userId: Int64
    public var deviceUUID: String
    public var fileGroupUUID: String?
    public var creationDate: String?
    public var updateDate: String?
    public var mimeType: String
    public var appMetaData: String?
    public var appMetaDataVersion: Int64?
    public var deleted: Bool
    public var fileVersion: Int64
    public var lastUploadedCheckSum: String?
}

/// A row of `Upload`: a staged change.
public struct SourceUpload: Equatable, Sendable {
    public var uploadId: Int64
    public var fileUUID: String
    public var userId: Int64
    public var deviceUUID: String
    public var fileGroupUUID: String?
    public var creationDate: String?
    public var updateDate: String?
    public var mimeType: String?
    public var appMetaData: String?
    public var appMetaDataVersion: Int64?
    public var fileVersion: Int64?
    public var state: String
    public var lastUploadedCheckSum: String?
}

/// A row of `SharingInvitation`.
public struct SourceInvitation: Equatable, Sendable {
    public var sharingInvitationUUID: String
    public var expiry: String?
    public var owningUserId: Int64
    public var permission: String
    public var allowSocialAcceptance: Bool
    public var numberAcceptors: Int64
}

/// Everything that belongs to one group.
public struct SourceGroupContents: Equatable, Sendable {
    public var group: SourceGroup
    public var members: [SourceMember] = []
    public var files: [SourceFile] = []
    public var uploads: [SourceUpload] = []
    public var invitations: [SourceInvitation] = []
}
