internal import MariaDB
public import SyncProtocol

/// Which files of a group to list.
public struct FileFilter: Sendable {
    public var owner: UserID?
    /// Only deleted files, or only existing ones; `nil` for all.
    public var isDeleted: Bool?

    public init(owner: UserID? = nil, isDeleted: Bool? = nil) {
        self.owner = owner
        self.isDeleted = isDeleted
    }
}

/// A committed file in a list.
public struct ListedFile: Equatable, Sendable, Encodable {
    public var fileUUID: FileUUID
    public var fileVersion: FileVersion
    public var deleted: Bool
    public var mimeType: String
    public var sizeBytes: Int64?
    public var owningUserID: UserID
    public var storageType: CloudStorageType
    public var createdAt: WireDate
    public var updatedAt: WireDate
    public var changedAtMasterVersion: MasterVersion
}

extension StoreSession {
    /// Files of a group in the order of their UUIDs, after `after`, at most `limit` of them.
    public mutating func listFiles(
        of group: SharingGroupUUID, _ filter: FileFilter, after: FileUUID?, limit: Int
    ) throws(StoreError) -> [ListedFile] {
        let owner = Value.int(orNull: filter.owner?.rawValue)
        let deleted = filter.isDeleted.map(Value.bool) ?? .null
        return try all(
            """
            SELECT f.file_uuid, f.file_version, f.is_deleted, f.mime_type, f.size_bytes, f.owning_user_id,
                   f.storage_type, f.created_at, f.updated_at, f.changed_at_master_version
              FROM files f
              JOIN sharing_groups g ON g.sharing_group_id = f.sharing_group_id
             WHERE g.sharing_group_uuid = ?
               AND f.file_uuid > ?
               AND (? IS NULL OR f.owning_user_id = ?)
               AND (? IS NULL OR f.is_deleted = ?)
             ORDER BY f.file_uuid
             LIMIT ?
            """,
            [
                .text(group.rawValue), .text(after?.rawValue ?? ""), owner, owner, deleted, deleted,
                .int(Int64(limit)),
            ]
        ) { row throws(StoreError) in
            ListedFile(
                fileUUID: try row.identifier(0, "files", "file_uuid"),
                fileVersion: FileVersion(try row.number32(1, "files", "file_version")), deleted: try row.flag(2),
                mimeType: try row.string(3), sizeBytes: try row.optionalNumber(4),
                owningUserID: UserID(try row.number(5)), storageType: try row.word(6, "files", "storage_type"),
                createdAt: try row.date(7, "files", "created_at"), updatedAt: try row.date(8, "files", "updated_at"),
                changedAtMasterVersion: MasterVersion(try row.number(9)))
        }
    }
}
