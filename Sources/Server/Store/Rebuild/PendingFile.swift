import MariaDB
public import SyncProtocol

/// A live file whose object has not been found yet, with the manifest's description of the object.
public struct PendingFile: Equatable, Sendable {
    public var groupID: SharingGroupID
    public var groupUUID: SharingGroupUUID
    public var fileUUID: FileUUID
    public var fileVersion: FileVersion
    public var storageType: CloudStorageType
    /// The name in the owner's folder; the object's name may also contain the mark of a spare name.
    public var objectName: String
    public var sizeBytes: Int64?
    /// The checksum that clients compare, or its first bytes; empty if unknown.
    public var checkSumBytes: [UInt8]
    /// The beginning of the storage's own hash, if it is not the checksum.
    public var storageHash: String?
    /// Whether a known key has signed the manifest of the group.
    public var isSigned: Bool

    public init(
        groupID: SharingGroupID, groupUUID: SharingGroupUUID, fileUUID: FileUUID, fileVersion: FileVersion,
        storageType: CloudStorageType, objectName: String, sizeBytes: Int64?, checkSumBytes: [UInt8],
        storageHash: String?, isSigned: Bool
    ) {
        self.groupID = groupID
        self.groupUUID = groupUUID
        self.fileUUID = fileUUID
        self.fileVersion = fileVersion
        self.storageType = storageType
        self.objectName = objectName
        self.sizeBytes = sizeBytes
        self.checkSumBytes = checkSumBytes
        self.storageHash = storageHash
        self.isSigned = isSigned
    }
}

/// The object that was found for a pending file.
public struct FoundObject: Equatable, Sendable {
    public var objectID: String
    public var sizeBytes: Int64
    /// The checksum that clients compare; `nil` if it is not completely known.
    public var checkSum: CheckSum?
    /// The storage's own hash, if it is not the checksum.
    public var providerHash: String?
    public var revision: String?

    public init(
        objectID: String, sizeBytes: Int64, checkSum: CheckSum?, providerHash: String?, revision: String?
    ) {
        self.objectID = objectID
        self.sizeBytes = sizeBytes
        self.checkSum = checkSum
        self.providerHash = providerHash
        self.revision = revision
    }
}

extension StoreSession {
    /// The pending files in an owner's storage, in the order of groups and files, after `last`, at most `limit`.
    public mutating func pendingFiles(
        of owner: OwningUser, after last: PendingFile?, limit: Int
    ) throws(StoreError) -> [PendingFile] {
        try all(
            """
            SELECT r.sharing_group_id, g.sharing_group_uuid, r.file_uuid, f.file_version, f.storage_type, r.object_name,
                   f.size_bytes, r.check_sum, r.storage_hash, b.is_signed
              FROM rebuild_files r
              JOIN files f ON f.sharing_group_id = r.sharing_group_id
                          AND f.file_uuid = r.file_uuid
              JOIN sharing_groups g ON g.sharing_group_id = r.sharing_group_id
              JOIN rebuild_groups b ON b.sharing_group_id = r.sharing_group_id
             WHERE f.owning_user_id = ?
               AND f.object_id IS NULL
               AND f.storage_type = ?
               AND NOT f.is_deleted
               AND (r.sharing_group_id, r.file_uuid) > (?, ?)
             ORDER BY r.sharing_group_id, r.file_uuid
             LIMIT ?
            """,
            [
                .int(owner.userID.rawValue), .text(owner.storageType.rawValue), .int(last?.groupID.rawValue ?? 0),
                .text(last?.fileUUID.rawValue ?? ""), .int(Int64(limit)),
            ]
        ) { row throws(StoreError) in
            PendingFile(
                groupID: SharingGroupID(try row.number(0)), groupUUID: try row.identifier(1),
                fileUUID: try row.identifier(2), fileVersion: FileVersion(try row.number32(3)),
                storageType: try row.word(4), objectName: try row.string(5),
                sizeBytes: try row.optionalNumber(6), checkSumBytes: try row.optionalData(7) ?? [],
                storageHash: try row.optionalString(8), isSigned: try row.flag(9))
        }
    }

    /// Records the object of a pending file, unless another group's file or a scheduled deletion uses it. Call in a
    /// transaction that has locked the group.
    /// - Returns: whether it was recorded.
    public mutating func attach(
        _ object: FoundObject, to file: PendingFile, of owner: OwningUser
    ) throws(StoreError) -> Bool {
        let (group, uuid) = (Value.int(file.groupID.rawValue), Value.text(file.fileUUID.rawValue))
        let row: ColumnValues = [
            "object_id": .text(object.objectID), "object_revision": .text(orNull: object.revision),
            "provider_hash": .text(orNull: object.providerHash), "size_bytes": .int(object.sizeBytes),
        ]
        // If two files shared an object, it would be deleted as soon as one of them no longer needed it.
        guard try !isReferenced(object.objectID, of: owner) else { return false }
        let attached = try execute(
            """
            UPDATE files
               SET \(assigning: row.columns), check_sum = COALESCE(?, check_sum)
             WHERE sharing_group_id = ?
               AND file_uuid = ?
               AND owning_user_id = ?
               AND file_version = ?
               AND object_id IS NULL
               AND content_state = 'stored'
               AND NOT is_deleted
               AND NOT EXISTS (SELECT 1 FROM outbox o
                                WHERE o.user_id = files.owning_user_id AND o.object_id = ?
                                  AND o.kind = 'deleteObject')
            """,
            row.values + [
                .text(orNull: object.checkSum?.rawValue), group, uuid, .int(owner.userID.rawValue),
                .int(Int64(file.fileVersion.rawValue)), .text(object.objectID),
            ])
        guard attached == 1 else { return false }
        try execute("DELETE FROM rebuild_files WHERE sharing_group_id = ? AND file_uuid = ?", [group, uuid])
        return true
    }

    /// Records that the storage has no object for a pending file, whose bytes therefore have to be uploaded again. Call
    /// in a transaction that has locked the group.
    /// - Parameter checkSum: the checksum of the bytes, if all of it is known; otherwise only the owner can upload them.
    public mutating func awaitContent(
        of file: PendingFile, checkSum: CheckSum?
    ) throws(StoreError) {
        let (group, uuid) = (Value.int(file.groupID.rawValue), Value.text(file.fileUUID.rawValue))
        let changed = try execute(
            """
            UPDATE files
               SET content_state = 'awaiting', check_sum = ?
             WHERE sharing_group_id = ?
               AND file_uuid = ?
               AND file_version = ?
               AND object_id IS NULL
               AND content_state = 'stored'
               AND NOT is_deleted
            """,
            [.text(orNull: checkSum?.rawValue), group, uuid, .int(Int64(file.fileVersion.rawValue))])
        try execute("DELETE FROM rebuild_files WHERE sharing_group_id = ? AND file_uuid = ?", [group, uuid])
        // Index shows that the file waits; its tag contains this number.
        if changed == 1 {
            try execute("UPDATE sharing_groups SET reuploads = reuploads + 1 WHERE sharing_group_id = ?", [group])
        }
    }

    /// Records a manifest that was found in an owner's folder, so that later manifests replace it; does nothing if one
    /// is already recorded.
    public mutating func adopt(_ manifest: ManifestRecord) throws(StoreError) {
        let values = manifest.columnValues
        try execute(
            "INSERT IGNORE INTO manifests (\(values.columns)) VALUES (\(valuesOf: values.columns))", values.values)
    }
}
