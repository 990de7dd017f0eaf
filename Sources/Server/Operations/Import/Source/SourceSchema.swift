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
