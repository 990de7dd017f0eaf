import MariaDB
public import Store
public import SyncProtocol

/// The files of a group to list.
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

extension ListedFile {
    /// The columns of `files` that ``init(_:)`` reads.
    static let columns: ColumnList = [
        "file_uuid", "file_version", "is_deleted", "mime_type", "size_bytes", "owning_user_id", "storage_type",
        "created_at", "updated_at", "changed_at_master_version",
    ]

    init(_ row: borrowing Row) throws(StoreError) {
        let owner = try OwningUser(row)
        fileUUID = try row.identifier("file_uuid")
        fileVersion = FileVersion(try row.number32("file_version"))
        deleted = try row.flag("is_deleted")
        mimeType = try row.string("mime_type")
        sizeBytes = try row.optionalNumber("size_bytes")
        owningUserID = owner.userID
        storageType = owner.storageType
        createdAt = try row.date("created_at")
        updatedAt = try row.date("updated_at")
        changedAtMasterVersion = MasterVersion(try row.number("changed_at_master_version"))
    }

    /// The extension of the object's name; unless the object is known, the extension that an older server gave it.
    func fileExtension(ofObject objectID: String?) -> String {
        guard let type = MIMEType(mimeType) else { return "dat" }
        return objectID == nil ? MIMETypeTable.extensionOfOlderServers(for: type) : type.fileExtension
    }
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
            SELECT \(ListedFile.columns, of: "f")
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
            ], ListedFile.init(_:))
    }
}

extension ListedFile: TableRow {
    public static var noun: String { "files" }
    public static var header: [String] {
        ["FILE", "VERSION", "TYPE", "BYTES", "OWNER", "STORAGE", "UPDATED", ""]
    }

    public var cells: [String] {
        [
            "\(fileUUID)", "\(fileVersion)", mimeType, sizeBytes.map { "\($0)" } ?? "", "\(owningUserID)",
            storageType.rawValue, "\(updatedAt.iso8601)", deleted ? "deleted" : "",
        ]
    }
}
