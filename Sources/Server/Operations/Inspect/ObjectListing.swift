import MariaDB
public import Store
public import SyncProtocol

/// An object in somebody's storage that a file refers to.
public struct ReferredObject: Equatable, Sendable {
    public var groupID: SharingGroupID
    public var groupUUID: SharingGroupUUID
    public var file: FileRecord

    public init(groupID: SharingGroupID, groupUUID: SharingGroupUUID, file: FileRecord) {
        self.groupID = groupID
        self.groupUUID = groupUUID
        self.file = file
    }
}

extension StoreSession {
    /// Existing files whose objects are known, in the order of group and file, after `after`, at most `limit`.
    public mutating func referredObjects(
        owner: UserID?, group: SharingGroupUUID?, after: ReferredObject?, limit: Int
    ) throws(StoreError) -> [ReferredObject] {
        let owner = Value.int(orNull: owner?.rawValue)
        let group = Value.text(orNull: group?.rawValue)
        let afterGroup = Value.int(after?.groupID.rawValue ?? .min)
        let rows = try all(
            """
            SELECT g.sharing_group_id, g.sharing_group_uuid, f.file_uuid
              FROM files f
              JOIN sharing_groups g ON g.sharing_group_id = f.sharing_group_id
             WHERE f.sharing_group_id >= ?
               AND (f.sharing_group_id > ? OR f.file_uuid > ?)
               AND f.object_id IS NOT NULL
               AND NOT f.is_deleted
               AND NOT g.is_deleted
               AND (? IS NULL OR f.owning_user_id = ?)
               AND (? IS NULL OR g.sharing_group_uuid = ?)
             ORDER BY f.sharing_group_id, f.file_uuid
             LIMIT ?
            """,
            [
                afterGroup, afterGroup, .text(after?.file.fileUUID.rawValue ?? ""), owner, owner, group, group,
                .int(Int64(limit)),
            ]
        ) { row throws(StoreError) in
            (
                id: SharingGroupID(try row.number("sharing_group_id")),
                uuid: try row.identifier("sharing_group_uuid", as: SharingGroupUUID.self),
                file: try row.identifier("file_uuid", as: FileUUID.self)
            )
        }
        var objects: [ReferredObject] = []
        for row in rows {
            guard let file = try file(row.file, in: row.id) else { continue }
            objects.append(ReferredObject(groupID: row.id, groupUUID: row.uuid, file: file))
        }
        return objects
    }

    /// Users with storage in the order of their numbers, after `after`, at most `limit` of them.
    public mutating func owners(after: UserID?, limit: Int) throws(StoreError) -> [UserID] {
        try all(
            """
            SELECT user_id
              FROM users
             WHERE user_id > ?
               AND account_type IN (\(SQL.owningAccountTypes))
             ORDER BY user_id
             LIMIT ?
            """, [.int(after?.rawValue ?? .min), .int(Int64(limit))]
        ) { row throws(StoreError) in UserID(try row.number(0)) }
    }

    /// Whether any row refers to an object in a user's storage: a file, a staged change, an upload in progress, work.
    ///
    /// A deleted file counts by its identifier: when its owner left or was removed, its objects stayed in their
    /// storage.
    /// - Parameters:
    ///   - name: the object's original name.
    ///   - actualName: its actual name, which may be a spare one.
    public mutating func isKnown(
        _ objectID: String, named name: CloudFileName, actualName: String, of owner: UserID
    ) throws(StoreError) -> Bool {
        let owner = Value.int(owner.rawValue)
        let object = Value.text(objectID)
        let file = Value.text(name.fileUUID.rawValue)
        return try first(
            """
            SELECT EXISTS (SELECT 1 FROM files WHERE owning_user_id = ? AND object_id = ?)
                OR EXISTS (SELECT 1 FROM staged_changes WHERE owning_user_id = ? AND object_id = ?)
                OR EXISTS (SELECT 1 FROM outbox WHERE user_id = ? AND object_id = ?)
                OR EXISTS (SELECT 1
                             FROM outbox
                            WHERE user_id = ?
                              AND object_id IS NULL
                              AND FIND_IN_SET(?, REPLACE(object_name, '/', ',')) > 0)
                OR EXISTS (SELECT 1
                             FROM staged_changes
                            WHERE owning_user_id = ?
                              AND file_uuid = ?
                              AND object_id IS NULL)
                OR EXISTS (SELECT 1
                             FROM files
                            WHERE file_uuid = ?
                              AND (is_deleted OR (object_id IS NULL AND file_version = ? AND device_uuid = ?)))
            """,
            [
                owner, object, owner, object, owner, object, owner, .text(actualName), owner, file, file,
                .int(Int64(name.fileVersion.rawValue)), .text(name.deviceUUID.rawValue),
            ]
        ) { row throws(StoreError) in try row.flag(0) } ?? false
    }
}
