/// The tables and columns of a SyncServerII database. A database that lacks one of them is not such a database, or has
/// a version that we do not know: nothing is guessed.
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

    /// What is missing, as sentences; empty if `present` (`Table.column`) has everything.
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
