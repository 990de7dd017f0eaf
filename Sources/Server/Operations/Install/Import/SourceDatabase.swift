public import MariaDB

/// A SyncServerII database, read as of one point in time. It only reads, and sees one consistent snapshot from the
/// first to the last row, even if the older server is still running. Memory holds a page of users or one group at a
/// time. Text of every character set arrives as UTF-8; in latin1 columns, UTF-8 that a connection stored as latin1 is
/// repaired (``MisreadText``).
public struct SourceDatabase: ~Copyable {
    private static let pageSize = 500

    private var connection: Connection
    /// `Table.column` of the latin1 columns.
    private let latin1: Set<String>

    /// - Throws: ``SourceError/unreachable(_:)``, ``SourceError/notASource(_:)``.
    public init(_ settings: ConnectionSettings) throws(SourceError) {
        var opened: Connection
        do { opened = try Connection(settings) } catch { throw SourceError(error) }
        let latin1 = try Self.checkedColumns(&opened)
        do { try opened.begin(readOnly: true, consistentSnapshot: true) } catch { throw SourceError(error) }
        connection = opened
        self.latin1 = latin1
    }

    /// Checks that all required tables and columns exist.
    /// - Returns: the latin1 columns.
    private static func checkedColumns(_ connection: inout Connection) throws(SourceError) -> Set<String> {
        var present: Set<String> = []
        var latin1: Set<String> = []
        try connection.query(
            """
            SELECT TABLE_NAME AS tableName, COLUMN_NAME AS columnName, CHARACTER_SET_NAME AS characterSet
              FROM information_schema.COLUMNS
             WHERE TABLE_SCHEMA = DATABASE()
            """
        ) { row throws(SourceError) in
            let name = "\(try row.checkedText("tableName")).\(try row.checkedText("columnName"))"
            present.insert(name)
            if try row.checkedOptionalText("characterSet") == "latin1" { latin1.insert(name) }
        }
        let problems = SourceSchema.problems(present: present)
        guard problems.isEmpty else { throw .notASource(problems) }
        return latin1
    }

    private func repaired(_ text: String, _ column: String) -> String {
        latin1.contains(column) ? MisreadText.repaired(text) : text
    }

    private func repaired(_ text: String?, _ column: String) -> String? { text.map { repaired($0, column) } }

    // MARK: Users

    /// The users after number `last`, in the order of their numbers; empty after the last one.
    public mutating func users(after last: Int64) throws(SourceError) -> [SourceUser] {
        var users: [SourceUser] = []
        try connection.query(
            """
            SELECT userId, username, accountType, credsId, creds, cloudFolderName, pushNotificationTopic
              FROM User
             WHERE userId > ?
             ORDER BY userId
             LIMIT ?
            """, [.int(last), .int(Int64(Self.pageSize))]
        ) { row throws(SourceError) in
            users.append(
                SourceUser(
                    userId: try row.checkedInt("userId"),
                    username: try row.checkedText("username"),
                    accountType: try row.checkedText("accountType"),
                    credsId: try row.checkedText("credsId"),
                    creds: try row.checkedText("creds"),
                    cloudFolderName: try row.checkedOptionalText("cloudFolderName"),
                    pushNotificationTopic: try row.checkedOptionalText("pushNotificationTopic")))
        }
        for index in users.indices {
            users[index].username = repaired(users[index].username, "User.username")
            users[index].cloudFolderName = repaired(users[index].cloudFolderName, "User.cloudFolderName")
        }
        return users
    }

    /// A user's devices.
    public mutating func devices(of userId: Int64) throws(SourceError) -> [String] {
        var devices: [String] = []
        try connection.query(
            "SELECT deviceUUID FROM DeviceUUID WHERE userId = ? ORDER BY deviceUUID", [.int(userId)]
        ) { row throws(SourceError) in devices.append(try row.checkedText("deviceUUID")) }
        return devices
    }

    // MARK: Groups

    /// The groups after `last`, in the order of their UUIDs; empty after the last one.
    public mutating func groups(after last: String) throws(SourceError) -> [SourceGroup] {
        var groups: [SourceGroup] = []
        try connection.query(
            """
            SELECT g.sharingGroupUUID, g.sharingGroupName, g.deleted, m.masterVersion
              FROM SharingGroup g
              LEFT JOIN MasterVersion m ON m.sharingGroupUUID = g.sharingGroupUUID
             WHERE g.sharingGroupUUID > ?
             ORDER BY g.sharingGroupUUID
             LIMIT ?
            """, [.text(last), .int(Int64(Self.pageSize))]
        ) { row throws(SourceError) in
            groups.append(
                SourceGroup(
                    sharingGroupUUID: try row.checkedText("sharingGroupUUID"),
                    sharingGroupName: try row.checkedOptionalText("sharingGroupName"),
                    deleted: try row.checkedInt("deleted") != 0,
                    masterVersion: try row.checkedOptionalInt("masterVersion")))
        }
        for index in groups.indices {
            groups[index].sharingGroupName = repaired(
                groups[index].sharingGroupName, "SharingGroup.sharingGroupName")
        }
        return groups
    }

    /// Everything that belongs to a group.
    public mutating func contents(of group: SourceGroup) throws(SourceError) -> SourceGroupContents {
        var contents = SourceGroupContents(group: group)
        let key: [Value] = [.text(group.sharingGroupUUID)]
        contents.members = try members(key)
        contents.files = try files(key)
        contents.uploads = try uploads(key)
        contents.invitations = try invitations(key)
        return contents
    }

    private mutating func members(_ key: [Value]) throws(SourceError) -> [SourceMember] {
        var members: [SourceMember] = []
        try connection.query(
            """
            SELECT userId, owningUserId, permission
              FROM SharingGroupUser
             WHERE sharingGroupUUID = ?
             ORDER BY sharingGroupUserId
            """, key
        ) { row throws(SourceError) in
            members.append(
                SourceMember(
                    userId: try row.checkedInt("userId"),
                    owningUserId: try row.checkedOptionalInt("owningUserId"),
                    permission: try row.checkedOptionalText("permission") ?? ""))
        }
        return members
    }

    private mutating func files(_ key: [Value]) throws(SourceError) -> [SourceFile] {
        var files: [SourceFile] = []
        try connection.query(
            """
            SELECT fileIndexId, fileUUID, userId, deviceUUID, fileGroupUUID, CAST(creationDate AS CHAR) AS creationDate,
                   CAST(updateDate AS CHAR) AS updateDate, mimeType, appMetaData, appMetaDataVersion, deleted,
                   fileVersion, lastUploadedCheckSum
              FROM FileIndex
             WHERE sharingGroupUUID = ?
             ORDER BY fileIndexId
            """, key
        ) { row throws(SourceError) in
            files.append(
                SourceFile(
                    fileIndexId: try row.checkedInt("fileIndexId"),
                    fileUUID: try row.checkedText("fileUUID"),
                    userId: try row.checkedInt("userId"),
                    deviceUUID: try row.checkedText("deviceUUID"),
                    fileGroupUUID: try row.checkedOptionalText("fileGroupUUID"),
                    creationDate: try row.checkedOptionalText("creationDate"),
                    updateDate: try row.checkedOptionalText("updateDate"),
                    mimeType: try row.checkedText("mimeType"),
                    appMetaData: try row.checkedOptionalText("appMetaData"),
                    appMetaDataVersion: try row.checkedOptionalInt("appMetaDataVersion"),
                    deleted: try row.checkedInt("deleted") != 0,
                    fileVersion: try row.checkedInt("fileVersion"),
                    lastUploadedCheckSum: try row.checkedOptionalText("lastUploadedCheckSum")))
        }
        for index in files.indices {
            files[index].appMetaData = repaired(files[index].appMetaData, "FileIndex.appMetaData")
        }
        return files
    }

    private mutating func uploads(_ key: [Value]) throws(SourceError) -> [SourceUpload] {
        var uploads: [SourceUpload] = []
        try connection.query(
            """
            SELECT uploadId, fileUUID, userId, deviceUUID, fileGroupUUID, CAST(creationDate AS CHAR) AS creationDate,
                   CAST(updateDate AS CHAR) AS updateDate, mimeType, appMetaData, appMetaDataVersion, fileVersion, state,
                   lastUploadedCheckSum
              FROM Upload
             WHERE sharingGroupUUID = ?
             ORDER BY uploadId
            """, key
        ) { row throws(SourceError) in
            uploads.append(
                SourceUpload(
                    uploadId: try row.checkedInt("uploadId"),
                    fileUUID: try row.checkedText("fileUUID"),
                    userId: try row.checkedInt("userId"),
                    deviceUUID: try row.checkedText("deviceUUID"),
                    fileGroupUUID: try row.checkedOptionalText("fileGroupUUID"),
                    creationDate: try row.checkedOptionalText("creationDate"),
                    updateDate: try row.checkedOptionalText("updateDate"),
                    mimeType: try row.checkedOptionalText("mimeType"),
                    appMetaData: try row.checkedOptionalText("appMetaData"),
                    appMetaDataVersion: try row.checkedOptionalInt("appMetaDataVersion"),
                    fileVersion: try row.checkedOptionalInt("fileVersion"),
                    state: try row.checkedText("state"),
                    lastUploadedCheckSum: try row.checkedOptionalText("lastUploadedCheckSum")))
        }
        for index in uploads.indices {
            uploads[index].appMetaData = repaired(uploads[index].appMetaData, "Upload.appMetaData")
        }
        return uploads
    }

    private mutating func invitations(_ key: [Value]) throws(SourceError) -> [SourceInvitation] {
        var invitations: [SourceInvitation] = []
        try connection.query(
            """
            SELECT sharingInvitationUUID, CAST(expiry AS CHAR) AS expiry, owningUserId, permission,
                   allowSocialAcceptance, numberAcceptors
              FROM SharingInvitation
             WHERE sharingGroupUUID = ?
             ORDER BY sharingInvitationUUID
            """, key
        ) { row throws(SourceError) in
            invitations.append(
                SourceInvitation(
                    sharingInvitationUUID: try row.checkedText("sharingInvitationUUID"),
                    expiry: try row.checkedOptionalText("expiry"),
                    owningUserId: try row.checkedInt("owningUserId"),
                    permission: try row.checkedOptionalText("permission") ?? "",
                    allowSocialAcceptance: try row.checkedInt("allowSocialAcceptance") != 0,
                    numberAcceptors: try row.checkedInt("numberAcceptors")))
        }
        return invitations
    }

    // MARK: Inconsistencies

    /// Files that are live in more than one group.
    public mutating func filesInSeveralGroups() throws(SourceError) -> [String] {
        var files: [String] = []
        try connection.query(
            """
            SELECT fileUUID
              FROM FileIndex
             WHERE NOT deleted
             GROUP BY fileUUID
            HAVING COUNT(DISTINCT sharingGroupUUID) > 1
             ORDER BY fileUUID
            """
        ) { row throws(SourceError) in files.append(try row.checkedText("fileUUID")) }
        return files
    }

    /// The number of rows that belong to no group or user, by table; foreign keys should have prevented them.
    public mutating func orphans() throws(SourceError) -> [(table: String, count: Int)] {
        var orphans: [(table: String, count: Int)] = []
        try connection.query(
            """
            SELECT 'FileIndex' AS tableName, COUNT(*) AS orphans FROM FileIndex x
             WHERE NOT EXISTS (SELECT 1 FROM SharingGroup g WHERE g.sharingGroupUUID = x.sharingGroupUUID)
             UNION ALL
            SELECT 'SharingGroupUser', COUNT(*) FROM SharingGroupUser x
             WHERE NOT EXISTS (SELECT 1 FROM SharingGroup g WHERE g.sharingGroupUUID = x.sharingGroupUUID)
             UNION ALL
            SELECT 'SharingInvitation', COUNT(*) FROM SharingInvitation x
             WHERE NOT EXISTS (SELECT 1 FROM SharingGroup g WHERE g.sharingGroupUUID = x.sharingGroupUUID)
             UNION ALL
            SELECT 'Upload', COUNT(*) FROM Upload x
             WHERE NOT EXISTS (SELECT 1 FROM SharingGroup g WHERE g.sharingGroupUUID = x.sharingGroupUUID)
             UNION ALL
            SELECT 'DeviceUUID', COUNT(*) FROM DeviceUUID x
             WHERE NOT EXISTS (SELECT 1 FROM User u WHERE u.userId = x.userId)
            """
        ) { row throws(SourceError) in
            let count = Int(try row.checkedInt("orphans"))
            if count > 0 { orphans.append((try row.checkedText("tableName"), count)) }
        }
        return orphans
    }
}

// Columns by name, as the statement spells them.
extension Row {
    fileprivate borrowing func checkedInt(_ column: String) throws(SourceError) -> Int64 {
        do { return try int(try position(of: column)) } catch { throw SourceError(error) }
    }

    fileprivate borrowing func checkedOptionalInt(_ column: String) throws(SourceError) -> Int64? {
        do { return try optionalInt(try position(of: column)) } catch { throw SourceError(error) }
    }

    fileprivate borrowing func checkedText(_ column: String) throws(SourceError) -> String {
        do { return try text(try position(of: column)) } catch { throw SourceError(error) }
    }

    fileprivate borrowing func checkedOptionalText(_ column: String) throws(SourceError) -> String? {
        do { return optionalText(try position(of: column)) } catch { throw SourceError(error) }
    }
}

/// UTF-8 text that a connection stored as latin1, so that it reads as `Ã¤` instead of `ä`.
///
/// MySQL's latin1 is Windows-1252, with the five bytes that Windows leaves undefined as control characters
/// (https://mariadb.com/kb/en/supported-character-sets-and-collations/).
enum MisreadText {
    /// The characters at 0x80 to 0x9F.
    private static let upper: [UInt32] = [
        0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D,
        0x017D, 0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A,
        0x0153, 0x9D, 0x017E, 0x0178,
    ]
    private static let bytes: [UInt32: UInt8] = Dictionary(
        uniqueKeysWithValues: upper.enumerated().map { ($1, UInt8($0 + 0x80)) })

    /// The intended text: `text` itself, unless its latin1 bytes are valid UTF-8 beyond ASCII.
    ///
    /// A text that really contains `Ã¤` is changed wrongly; that is far rarer than the mistake.
    static func repaired(_ text: String) -> String {
        var latin1: [UInt8] = []
        var isASCII = true
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0..<0x80: latin1.append(UInt8(scalar.value))
            case 0xA0...0xFF:
                isASCII = false
                latin1.append(UInt8(scalar.value))
            default:
                guard let byte = bytes[scalar.value] else { return text }
                isASCII = false
                latin1.append(byte)
            }
        }
        if isASCII { return text }
        return String(validating: latin1, as: UTF8.self) ?? text
    }
}

/// Why the older server's database cannot be read.
public enum SourceError: Error {
    /// It cannot be reached, or the connection was lost: retry.
    case unreachable(MariaDBError)
    /// It is not a SyncServerII database; the sentences describe what is missing.
    case notASource([String])
    /// It contains a value that SyncServerII never writes there.
    case unreadable(MariaDBError)
}

extension SourceError: MariaDBErrorConvertible {
    public init(_ error: MariaDBError) {
        switch error {
        case .unavailable, .inDoubt, .poolExhausted, .contention, .accessDenied: self = .unreachable(error)
        case .duplicateKey, .constraint, .unexpectedValue, .programming: self = .unreadable(error)
        }
    }
}

extension SourceError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unreachable(let error): "the older server's database cannot be used: \(error)"
        case .notASource(let problems):
            "this is not a SyncServerII database:\n" + problems.map { "  - \($0)" }.joined(separator: "\n")
        case .unreadable(let error): "the older server's database contains an unexpected value: \(error)"
        }
    }
}
