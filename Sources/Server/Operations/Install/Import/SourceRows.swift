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

/// The tables and columns of a SyncServerII database. A database without one of them is a different database or an
/// unknown version, and is rejected.
enum SourceSchema {
    static let columns: [(table: String, columns: [String])] = [
        ("SharingGroup", ["sharingGroupUUID", "sharingGroupName", "deleted"]),
        (
            "User",
            ["userId", "username", "accountType", "credsId", "creds", "cloudFolderName", "pushNotificationTopic"]
        ),
        ("DeviceUUID", ["userId", "deviceUUID"]),
        (
            "FileIndex",
            [
                "fileIndexId", "fileUUID", "userId", "deviceUUID", "fileGroupUUID", "sharingGroupUUID", "creationDate",
                "updateDate", "mimeType", "appMetaData", "appMetaDataVersion", "deleted", "fileVersion",
                "lastUploadedCheckSum",
            ]
        ),
        (
            "Upload",
            [
                "uploadId", "fileUUID", "userId", "deviceUUID", "fileGroupUUID", "sharingGroupUUID", "creationDate",
                "updateDate", "mimeType", "appMetaData", "appMetaDataVersion", "fileVersion", "state",
                "lastUploadedCheckSum",
            ]
        ),
        (
            "SharingInvitation",
            [
                "sharingInvitationUUID", "expiry", "owningUserId", "sharingGroupUUID", "permission",
                "allowSocialAcceptance", "numberAcceptors",
            ]
        ),
        ("SharingGroupUser", ["sharingGroupUserId", "sharingGroupUUID", "userId", "owningUserId", "permission"]),
        ("MasterVersion", ["sharingGroupUUID", "masterVersion"]),
    ]

    /// The missing tables and columns, as sentences; empty if `present` (`Table.column`) is complete.
    static func problems(present: Set<String>) -> [String] {
        var problems: [String] = []
        for (table, columns) in columns {
            let missing = columns.filter { !present.contains("\(table).\($0)") }
            if missing.count == columns.count {
                problems.append("there is no table \(table)")
            } else {
                problems += missing.map { "\(table) has no column \($0)" }
            }
        }
        return problems
    }
}
