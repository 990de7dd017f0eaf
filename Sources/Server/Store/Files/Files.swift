package import MariaDB
public import SyncProtocol

/// The bytes of one file version: their location and their hashes.
public struct StoredContent: Equatable, Sendable {
    public var owningUser: OwningUser
    /// In the format of the owner's storage; the checksum that clients compare.
    public var checkSum: CheckSum
    /// `nil` unless the provider reported it when the file was uploaded.
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

/// Whether the owner's current account contains the bytes of a file.
public enum ContentState: String, Sendable, Hashable, Codable {
    case stored
    /// The owner has switched accounts since; a device has to upload the bytes again.
    case awaiting
    /// The owner has given up on the bytes; a device may still upload them.
    case missing
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
    /// If not ``ContentState/stored``: there is no object, and ``checkSum`` is in the flavour of an earlier storage.
    /// Meaningless for deleted files.
    public var contentState = ContentState.stored

    /// The name under which this server stores the object; while ``objectID`` is unknown, the name that an older server
    /// gave it.
    public var cloudName: CloudFileName {
        guard objectID != nil else { return nameByOlderServer }
        return CloudFileName(
            fileUUID: fileUUID, deviceUUID: deviceUUID, fileVersion: fileVersion, fileExtension: mimeType.fileExtension)
    }

    /// The names under which the object may be found: an older server named types that it did not know differently.
    public var cloudNames: [CloudFileName] {
        cloudName == nameByOlderServer ? [cloudName] : [cloudName, nameByOlderServer]
    }

    /// The name under which an older server stored the object; its only address while ``objectID`` is unknown.
    public var nameByOlderServer: CloudFileName {
        CloudFileName(
            fileUUID: fileUUID, deviceUUID: deviceUUID, fileVersion: fileVersion,
            fileExtension: MIMETypeTable.extensionOfOlderServers(for: mimeType))
    }
}

extension StoredContent {
    /// The columns of a content in `files` and in `staged_changes`.
    static let columns: ColumnList = [
        "owning_user_id", "storage_type", "check_sum", "sha256", "size_bytes", "object_id", "object_revision",
        "provider_hash",
    ]

    init(_ row: borrowing Row) throws(StoreError) {
        owningUser = try OwningUser(row)
        checkSum = try row.identifier("check_sum")
        sha256 = try row.optionalData("sha256")
        sizeBytes = try row.optionalNumber("size_bytes")
        objectID = try row.optionalString("object_id")
        objectRevision = try row.optionalString("object_revision")
        providerHash = try row.optionalString("provider_hash")
    }

    /// The values that a statement writes into the ``columns``.
    var columnValues: ColumnValues {
        [
            "owning_user_id": .int(owningUser.userID.rawValue), "storage_type": .text(owningUser.storageType.rawValue),
            "check_sum": .text(checkSum.rawValue), "sha256": .bytes(orNull: sha256),
            "size_bytes": .int(orNull: sizeBytes), "object_id": .text(orNull: objectID),
            "object_revision": .text(orNull: objectRevision), "provider_hash": .text(orNull: providerHash),
        ]
    }
}

extension OwningUser {
    /// The owner in a row of `files` or `staged_changes`.
    package init(_ row: borrowing Row) throws(StoreError) {
        self.init(userID: UserID(try row.number("owning_user_id")), storageType: try row.word("storage_type"))
    }
}

extension FileRecord {
    /// The columns of `files` that ``init(_:)`` reads.
    package static let columns: ColumnList = [
        "file_uuid", "owning_user_id", "storage_type", "device_uuid", "created_at", "updated_at", "mime_type",
        "app_metadata", "app_metadata_version", "is_deleted", "file_version", "check_sum", "size_bytes", "object_id",
        "object_revision", "provider_hash", "content_state",
    ]

    package init(_ row: borrowing Row) throws(StoreError) {
        fileUUID = try row.identifier("file_uuid")
        owningUser = try OwningUser(row)
        deviceUUID = try row.identifier("device_uuid")
        createdAt = try row.date("created_at")
        updatedAt = try row.date("updated_at")
        guard let mimeType = MIMEType(try row.string("mime_type")) else { throw try row.corrupt("mime_type") }
        self.mimeType = mimeType
        appMetaData = try row.optionalString("app_metadata")
        appMetaDataVersion = try row.optionalNumber32("app_metadata_version").map { AppMetaDataVersion($0) }
        isDeleted = try row.flag("is_deleted")
        fileVersion = FileVersion(try row.number32("file_version"))
        checkSum = try row.optionalIdentifier("check_sum")
        sizeBytes = try row.optionalNumber("size_bytes")
        objectID = try row.optionalString("object_id")
        objectRevision = try row.optionalString("object_revision")
        providerHash = try row.optionalString("provider_hash")
        contentState = try row.word("content_state")
    }

    /// The values that a statement writes into the row of a deleted file: its bytes no longer belong to it.
    package static let deletion: ColumnValues = [
        "is_deleted": .bool(true), "object_id": .null, "object_revision": .null,
        "content_state": .text(ContentState.stored.rawValue),
    ]
}

/// The positions of the columns that the files of an Index reply are written from.
///
/// Determined once for each statement, since groups have tens of thousands of files.
private struct IndexColumns {
    static let all: ColumnList = [
        "file_uuid", "device_uuid", "file_group_uuid", "created_at", "updated_at", "mime_type", "is_deleted",
        "app_metadata_version", "file_version", "owning_user_id", "storage_type", "content_state",
    ]

    private static let awaitingByteCount = ContentState.awaiting.rawValue.utf8.count

    private let fileUUID: Int
    private let deviceUUID: Int
    private let fileGroupUUID: Int
    private let createdAt: Int
    private let updatedAt: Int
    private let mimeType: Int
    private let isDeleted: Int
    private let appMetaDataVersion: Int
    private let fileVersion: Int
    private let owningUserID: Int
    private let storageType: Int
    private let contentState: Int

    init(_ row: borrowing Row) throws(StoreError) {
        fileUUID = try row.position("file_uuid")
        deviceUUID = try row.position("device_uuid")
        fileGroupUUID = try row.position("file_group_uuid")
        createdAt = try row.position("created_at")
        updatedAt = try row.position("updated_at")
        mimeType = try row.position("mime_type")
        isDeleted = try row.position("is_deleted")
        appMetaDataVersion = try row.position("app_metadata_version")
        fileVersion = try row.position("file_version")
        owningUserID = try row.position("owning_user_id")
        storageType = try row.position("storage_type")
        contentState = try row.position("content_state")
    }

    func write(
        _ row: borrowing Row, of groupUUID: SharingGroupUUID, to writer: inout IndexResponseWriter
    ) throws(StoreError) {
        writer.beginFile()
        row.withText(fileUUID) { if let text = $0 { writer.fileUUID(text) } }
        row.withText(deviceUUID) { if let text = $0 { writer.deviceUUID(text) } }
        row.withText(fileGroupUUID) { if let text = $0 { writer.fileGroupUUID(text) } }
        writer.sharingGroupUUID(groupUUID)
        row.withText(createdAt) { if let text = $0 { writer.creationDate(text) } }
        row.withText(updatedAt) { if let text = $0 { writer.updateDate(text) } }
        row.withText(mimeType) { if let text = $0 { writer.mimeType(text) } }
        writer.deleted(try row.flag(.position(isDeleted)))
        if let version = try row.optionalNumber32(.position(appMetaDataVersion)) {
            writer.appMetaDataVersion(AppMetaDataVersion(version))
        }
        writer.fileVersion(FileVersion(try row.number32(.position(fileVersion))))
        writer.owningUserID(UserID(try row.number(.position(owningUserID))))
        writer.cloudStorageType(try row.word(.position(storageType)))
        // The only state of that length; compared without creating a value for each row.
        if row.withText(contentState, { $0?.byteCount == Self.awaitingByteCount }) { writer.awaitingReupload() }
        writer.endFile()
    }
}

extension StoreSession {
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
                SELECT \(FileRecord.columns)
                  FROM files
                 WHERE sharing_group_id = ?
                   AND file_uuid = ?
                   FOR UPDATE
                """, values, FileRecord.init(_:))
        }
        return try first(
            """
            SELECT \(FileRecord.columns)
              FROM files
             WHERE sharing_group_id = ?
               AND file_uuid = ?
            """, values, FileRecord.init(_:))
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
        var columns: IndexColumns?
        let write: (borrowing Row) throws(StoreError) -> Void = { row throws(StoreError) in
            if let columns {
                try columns.write(row, of: groupUUID, to: &writer)
            } else {
                let found = try IndexColumns(row)
                columns = found
                try found.write(row, of: groupUUID, to: &writer)
            }
            drain(&writer)
        }
        guard let since else {
            return try connection.query(
                """
                SELECT \(IndexColumns.all)
                  FROM files
                 WHERE sharing_group_id = ?
                 ORDER BY file_uuid
                """, [.int(group.groupID.rawValue)], write)
        }
        try connection.query(
            """
            SELECT \(IndexColumns.all)
              FROM files FORCE INDEX (changes)
             WHERE sharing_group_id = ?
               AND changed_at_master_version > ?
             ORDER BY changed_at_master_version, file_uuid
            """, [.int(group.groupID.rawValue), .int(since.rawValue)], write)
    }

    /// Whether a file with that UUID is live in another group: a file belongs to one group forever.
    ///
    /// - Parameter locked: whether to wait for and lock other groups' rows of that UUID, so that changes that another
    ///   transaction is about to commit are seen as well.
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
    /// for the other as well; otherwise it would be deleted as soon as the first no longer needs it.
    /// - Returns: whether the object was adopted.
    public mutating func adopt(
        objectID: String, revision: String?, as file: FileRecord, in groupID: SharingGroupID
    ) throws(StoreError) -> Bool {
        let object: ColumnValues = ["object_id": .text(objectID), "object_revision": .text(orNull: revision)]
        let adopted = try execute(
            """
            UPDATE files
               SET \(assigning: object.columns)
             WHERE sharing_group_id = ?
               AND file_uuid = ?
               AND file_version = ?
               AND content_state = 'stored'
               AND NOT is_deleted
               AND NOT EXISTS (SELECT 1 FROM outbox o
                                WHERE o.user_id = files.owning_user_id AND o.object_id = ?
                                  AND o.kind = 'deleteObject')
            """,
            object.values + [
                .int(groupID.rawValue), .text(file.fileUUID.rawValue), .int(Int64(file.fileVersion.rawValue)),
                .text(objectID),
            ])
        guard adopted == 1 else { return false }
        if file.objectID == nil {
            try execute(
                """
                UPDATE files
                   SET \(assigning: object.columns)
                 WHERE file_uuid = ?
                   AND owning_user_id = ?
                   AND device_uuid = ?
                   AND file_version = ?
                   AND object_id IS NULL
                   AND content_state = 'stored'
                   AND NOT is_deleted
                """,
                object.values + [
                    .text(file.fileUUID.rawValue), .int(file.owningUser.userID.rawValue),
                    .text(file.deviceUUID.rawValue), .int(Int64(file.fileVersion.rawValue)),
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

extension AppMetaDataVersion {
    /// Whether metadata of this version may follow that of the committed file: 0 if the file has none, otherwise one
    /// more.
    public func isNext(after current: FileRecord?) -> Bool {
        guard let committed = current?.appMetaDataVersion else { return self == .first }
        return self == committed.next
    }
}
