internal import MariaDB
public import SyncProtocol

/// The bytes of one file version: their location and their hashes.
public struct StoredContent: Equatable, Sendable {
    public var owningUser: OwningUser
    /// In the format of the owner's storage; the checksum that clients compare.
    public var checkSum: CheckSum
    /// `nil` only for files imported from an older server.
    public var sha256: [UInt8]?
    public var sizeBytes: Int64?
    /// The provider's identifier of the object.
    public var objectID: String?
    public var objectRevision: String?
    /// The provider's own hash, if it differs from `checkSum`.
    public var providerHash: String?

    public init(
        owningUser: OwningUser, checkSum: CheckSum, sha256: [UInt8]?, sizeBytes: Int64?, objectID: String?,
        objectRevision: String?, providerHash: String?
    ) {
        self.owningUser = owningUser
        self.checkSum = checkSum
        self.sha256 = sha256
        self.sizeBytes = sizeBytes
        self.objectID = objectID
        self.objectRevision = objectRevision
        self.providerHash = providerHash
    }
}

/// A committed file.
public struct FileRecord: Equatable, Sendable {
    public var fileUUID: FileUUID
    public var owningUser: OwningUser
    public var deviceUUID: DeviceUUID
    public var createdAt: WireDate
    /// When the current version was uploaded.
    public var updatedAt: WireDate
    public var mimeType: MIMEType
    public var appMetaData: String?
    public var appMetaDataVersion: AppMetaDataVersion?
    public var isDeleted: Bool
    public var fileVersion: FileVersion
    /// `nil` only for very old files imported from an older server.
    public var checkSum: CheckSum?
    public var sizeBytes: Int64?
    /// `nil` once the file is deleted, and for a file imported from an older server until its object has been found by
    /// name.
    public var objectID: String?
    public var providerHash: String?
    /// Changes with the object's contents, if the provider reports it.
    public var objectRevision: String?

    /// The name under which an older server stored the object; its only address while ``objectID`` is unknown.
    public var nameByOlderServer: CloudFileName {
        CloudFileName(
            fileUUID: fileUUID, deviceUUID: deviceUUID, fileVersion: fileVersion,
            fileExtension: MIMETypeTable.extensionOfOlderServers(for: mimeType))
    }
}

extension StoreSession {
    private static let table = "files"

    /// A committed file of a group, deleted ones included.
    ///
    /// - Parameter locked: whether the row stays locked until the end of the transaction.
    public mutating func file(
        _ file: FileUUID, in groupID: SharingGroupID, locked: Bool = false
    ) throws(StoreError) -> FileRecord? {
        let values: [Value] = [.int(groupID.rawValue), .text(file.rawValue)]
        if locked {
            return try first(
                """
                SELECT file_uuid, owning_user_id, storage_type, device_uuid, created_at, mime_type, app_metadata,
                       app_metadata_version, is_deleted, file_version, check_sum, size_bytes, object_id, provider_hash,
                       updated_at, object_revision
                  FROM files
                 WHERE sharing_group_id = ?
                   AND file_uuid = ?
                   FOR UPDATE
                """, values, Self.file(from:))
        }
        return try first(
            """
            SELECT file_uuid, owning_user_id, storage_type, device_uuid, created_at, mime_type, app_metadata,
                   app_metadata_version, is_deleted, file_version, check_sum, size_bytes, object_id, provider_hash,
                   updated_at, object_revision
              FROM files
             WHERE sharing_group_id = ?
               AND file_uuid = ?
            """, values, Self.file(from:))
    }

    private static func file(from row: borrowing Row) throws(StoreError) -> FileRecord {
        try file(from: row, column: 0)
    }

    /// A file whose columns begin at `column`.
    static func file(from row: borrowing Row, column: Int) throws(StoreError) -> FileRecord {
        guard let mimeType = MIMEType(try row.string(column + 5)) else {
            throw .corrupt(table: table, column: "mime_type")
        }
        var metaDataVersion: AppMetaDataVersion?
        if !row.isNull(column + 7) {
            metaDataVersion = AppMetaDataVersion(try row.number32(column + 7, table, "app_metadata_version"))
        }
        return FileRecord(
            fileUUID: try row.identifier(column, table, "file_uuid"),
            owningUser: OwningUser(
                userID: UserID(try row.number(column + 1)),
                storageType: try row.word(column + 2, table, "storage_type")),
            deviceUUID: try row.identifier(column + 3, table, "device_uuid"),
            createdAt: try row.date(column + 4, table, "created_at"),
            updatedAt: try row.date(column + 14, table, "updated_at"),
            mimeType: mimeType, appMetaData: row.optionalText(column + 6), appMetaDataVersion: metaDataVersion,
            isDeleted: try row.flag(column + 8),
            fileVersion: FileVersion(try row.number32(column + 9, table, "file_version")),
            checkSum: try row.optionalIdentifier(column + 10, table, "check_sum"),
            sizeBytes: try row.optionalNumber(column + 11), objectID: row.optionalText(column + 12),
            providerHash: row.optionalText(column + 13), objectRevision: row.optionalText(column + 15))
    }

    /// Writes the files of a group, deleted ones included: all in the order of their UUIDs, or those that changed after
    /// master version `since` in the order of their changes.
    ///
    /// Rows go from the connection's buffers into the reply without intermediate values. The time required depends only
    /// on the files written.
    /// - Parameter drain: called after each row; may remove what `writer` holds, and must not block.
    public mutating func writeFiles(
        of group: Membership, changedAfter since: MasterVersion? = nil, to writer: inout IndexResponseWriter,
        drain: (inout IndexResponseWriter) -> Void = { _ in }
    ) throws(StoreError) {
        let groupUUID = group.groupUUID
        let write: (borrowing Row) throws(StoreError) -> Void = { row throws(StoreError) in
            try Self.write(row, of: groupUUID, to: &writer)
            drain(&writer)
        }
        guard let since else {
            return try connection.query(
                """
                SELECT file_uuid, device_uuid, file_group_uuid, created_at, updated_at, mime_type, is_deleted,
                       app_metadata_version, file_version, owning_user_id, storage_type
                  FROM files
                 WHERE sharing_group_id = ?
                 ORDER BY file_uuid
                """, [.int(group.groupID.rawValue)], write)
        }
        try connection.query(
            """
            SELECT file_uuid, device_uuid, file_group_uuid, created_at, updated_at, mime_type, is_deleted,
                   app_metadata_version, file_version, owning_user_id, storage_type
              FROM files FORCE INDEX (changes)
             WHERE sharing_group_id = ?
               AND changed_at_master_version > ?
             ORDER BY changed_at_master_version, file_uuid
            """, [.int(group.groupID.rawValue), .int(since.rawValue)], write)
    }

    private static func write(
        _ row: borrowing Row, of groupUUID: SharingGroupUUID, to writer: inout IndexResponseWriter
    ) throws(StoreError) {
        writer.beginFile()
        row.withText(0) { if let text = $0 { writer.fileUUID(text) } }
        row.withText(1) { if let text = $0 { writer.deviceUUID(text) } }
        row.withText(2) { if let text = $0 { writer.fileGroupUUID(text) } }
        writer.sharingGroupUUID(groupUUID)
        row.withText(3) { if let text = $0 { writer.creationDate(text) } }
        row.withText(4) { if let text = $0 { writer.updateDate(text) } }
        row.withText(5) { if let text = $0 { writer.mimeType(text) } }
        writer.deleted(try row.flag(6))
        if !row.isNull(7) {
            writer.appMetaDataVersion(AppMetaDataVersion(try row.number32(7, table, "app_metadata_version")))
        }
        writer.fileVersion(FileVersion(try row.number32(8, table, "file_version")))
        writer.owningUserID(UserID(try row.number(9)))
        writer.cloudStorageType(try row.word(10, table, "storage_type"))
        writer.endFile()
    }

    /// Whether a file with that UUID is live in another group: a file belongs to one group forever.
    ///
    /// - Parameter locked: whether to wait for and lock other groups' rows of that UUID, so that changes that another
    ///   transaction is about to commit are seen too.
    public mutating func isLiveElsewhere(
        _ file: FileUUID, otherThan groupID: SharingGroupID, locked: Bool = false
    ) throws(StoreError) -> Bool {
        let values: [Value] = [.text(file.rawValue), .int(groupID.rawValue)]
        if locked {
            return try first(
                """
                SELECT 1
                  FROM files
                 WHERE file_uuid = ?
                   AND sharing_group_id <> ?
                   AND NOT is_deleted
                 LIMIT 1
                   FOR UPDATE
                """, values
            ) { _ in true } ?? false
        }
        return try first(
            """
            SELECT 1
              FROM files
             WHERE file_uuid = ?
               AND sharing_group_id <> ?
               AND NOT is_deleted
             LIMIT 1
            """, values
        ) { _ in true } ?? false
    }

    /// Stores the current location of a file's object, if the file is still at that version and the object is not about
    /// to be deleted. Call in a transaction.
    ///
    /// An older server allowed a file in two groups, with one object for both: if it is found for one, it is recorded
    /// for the other too, or it would be deleted as soon as the first no longer needs it.
    /// - Returns: whether the object was adopted.
    public mutating func adopt(
        objectID: String, revision: String?, as file: FileRecord, in groupID: SharingGroupID
    ) throws(StoreError) -> Bool {
        let adopted = try execute(
            """
            UPDATE files
               SET object_id = ?, object_revision = ?
             WHERE sharing_group_id = ?
               AND file_uuid = ?
               AND file_version = ?
               AND NOT is_deleted
               AND NOT EXISTS (SELECT 1 FROM outbox o
                                WHERE o.user_id = files.owning_user_id AND o.object_id = ?
                                  AND o.kind = 'deleteObject')
            """,
            [
                .text(objectID), .text(orNull: revision), .int(groupID.rawValue), .text(file.fileUUID.rawValue),
                .int(Int64(file.fileVersion.rawValue)), .text(objectID),
            ])
        guard adopted == 1 else { return false }
        if file.objectID == nil {
            try execute(
                """
                UPDATE files
                   SET object_id = ?, object_revision = ?
                 WHERE file_uuid = ?
                   AND owning_user_id = ?
                   AND device_uuid = ?
                   AND file_version = ?
                   AND object_id IS NULL
                   AND NOT is_deleted
                """,
                [
                    .text(objectID), .text(orNull: revision), .text(file.fileUUID.rawValue),
                    .int(file.owningUser.userID.rawValue), .text(file.deviceUUID.rawValue),
                    .int(Int64(file.fileVersion.rawValue)),
                ])
        }
        // A deletion recorded from now on finds our row; one recorded while the row was being written shows up here.
        let isDoomed = try first(
            "SELECT 1 FROM outbox WHERE user_id = ? AND object_id = ? AND kind = 'deleteObject' LIMIT 1",
            [.int(file.owningUser.userID.rawValue), .text(objectID)]
        ) { _ in true }
        guard isDoomed == nil else { throw .contention(.contention(code: 0, message: "the object is being deleted")) }
        return true
    }
}
