import MariaDB
public import Store
public import SyncProtocol

/// An object in a user's storage that a file refers to.
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

extension ReferredObject {
    static let columns: SQL = "g.sharing_group_id, g.sharing_group_uuid, \(FileRecord.columns, of: "f")"

    init(_ row: borrowing Row) throws(StoreError) {
        groupID = SharingGroupID(try row.number("sharing_group_id"))
        groupUUID = try row.identifier("sharing_group_uuid", as: SharingGroupUUID.self)
        file = try FileRecord(row)
    }
}

extension StoreSession {
    /// A group's existing files whose objects are known, in the order of their UUIDs, after `after`, at most `limit`.
    public mutating func referredObjects(
        group: SharingGroupUUID, after: ReferredObject?, limit: Int
    ) throws(StoreError) -> [ReferredObject] {
        try all(
            """
            SELECT \(ReferredObject.columns)
              FROM sharing_groups g
              JOIN files f ON f.sharing_group_id = g.sharing_group_id
             WHERE g.sharing_group_uuid = ?
               AND NOT g.is_deleted
               AND f.file_uuid > ?
               AND f.object_id IS NOT NULL
               AND NOT f.is_deleted
             ORDER BY f.file_uuid
             LIMIT ?
            """,
            [.text(group.rawValue), .text(after?.file.fileUUID.rawValue ?? ""), .int(Int64(limit))],
            ReferredObject.init(_:))
    }

    /// An owner's existing files whose objects are known, in the order of their objects, after `after`, at most `limit`.
    public mutating func referredObjects(
        owner: UserID, after: ReferredObject?, limit: Int
    ) throws(StoreError) -> [ReferredObject] {
        let object = Value.text(after?.file.objectID ?? "")
        let group = Value.int(after?.groupID.rawValue ?? .min)
        return try all(
            """
            SELECT \(ReferredObject.columns)
              FROM files f
              JOIN sharing_groups g ON g.sharing_group_id = f.sharing_group_id
             WHERE f.owning_user_id = ?
               AND f.object_id >= ?
               -- Older servers let two files have one object.
               AND (f.object_id > ? OR f.sharing_group_id > ? OR (f.sharing_group_id = ? AND f.file_uuid > ?))
               AND NOT f.is_deleted
               AND NOT g.is_deleted
             ORDER BY f.object_id, f.sharing_group_id, f.file_uuid
             LIMIT ?
            """,
            [
                .int(owner.rawValue), object, object, group, group, .text(after?.file.fileUUID.rawValue ?? ""),
                .int(Int64(limit)),
            ], ReferredObject.init(_:))
    }

    /// The existing files that refer to an owner's object: one, or several that an older server allowed.
    public mutating func referredObjects(
        objectID: String, of owner: UserID
    ) throws(StoreError) -> [ReferredObject] {
        try all(
            """
            SELECT \(ReferredObject.columns)
              FROM files f
              JOIN sharing_groups g ON g.sharing_group_id = f.sharing_group_id
             WHERE f.owning_user_id = ?
               AND f.object_id = ?
               AND NOT f.is_deleted
               AND NOT g.is_deleted
            """, [.int(owner.rawValue), .text(objectID)], ReferredObject.init(_:))
    }

    /// A file in each group where it exists, even if its object is unknown.
    public mutating func referredObjects(file: FileUUID) throws(StoreError) -> [ReferredObject] {
        try all(
            """
            SELECT \(ReferredObject.columns)
              FROM files f
              JOIN sharing_groups g ON g.sharing_group_id = f.sharing_group_id
             WHERE f.file_uuid = ?
               AND NOT f.is_deleted
               AND NOT g.is_deleted
             ORDER BY g.sharing_group_uuid
            """, [.text(file.rawValue)], ReferredObject.init(_:))
    }

    /// Randomly chosen existing files with objects, in the order of their owners; reads an index of all files.
    ///
    /// - Parameter owner: only files in this user's storage.
    public mutating func sampledObjects(
        _ size: SampleSize, owner: UserID?
    ) throws(StoreError) -> [ReferredObject] {
        let owner = Value.int(orNull: owner?.rawValue)
        let total = try count(
            """
            SELECT COUNT(*)
              FROM files
             WHERE object_id IS NOT NULL
               AND (? IS NULL OR owning_user_id = ?)
            """, [owner, owner])
        return try all(
            """
            SELECT \(ReferredObject.columns)
              FROM (SELECT sharing_group_id, file_uuid
                      FROM files
                     WHERE object_id IS NOT NULL
                       AND (? IS NULL OR owning_user_id = ?)
                     ORDER BY RAND()
                     LIMIT ?) chosen
              JOIN files f ON f.sharing_group_id = chosen.sharing_group_id AND f.file_uuid = chosen.file_uuid
              JOIN sharing_groups g ON g.sharing_group_id = f.sharing_group_id
             WHERE NOT f.is_deleted
               AND NOT g.is_deleted
             ORDER BY f.owning_user_id, f.object_id
            """, [owner, owner, .int(Int64(size.count(of: total)))], ReferredObject.init(_:))
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

    /// Whether any row refers to an object in a user's storage: a file, a staged change, an upload in progress, work. A
    /// deleted file counts by its identifier: when its owner left or was removed, its objects were left in their
    /// storage. A file that waits for its contents counts with its version, from any device.
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
                              AND (is_deleted OR (object_id IS NULL AND file_version = ?)))
            """,
            [
                owner, object, owner, object, owner, object, owner, .text(actualName), owner, file, file,
                .int(Int64(name.fileVersion.rawValue)),
            ]
        ) { row throws(StoreError) in try row.flag(0) } ?? false
    }

    /// Whether an object is an index page that the jobs role maintains in an owner's folder.
    public mutating func isIndexPage(_ objectID: String, of owner: UserID) throws(StoreError) -> Bool {
        try first(
            "SELECT 1 FROM index_pages WHERE user_id = ? AND ? IN (object_id, next_object_id)",
            [.int(owner.rawValue), .text(objectID)]
        ) { _ in true } ?? false
    }

    /// The origin of an unreferenced object, as far as this database knows.
    public mutating func origin(
        of name: CloudFileName, createdAt: WireDate, in owner: UserID
    ) throws(StoreError) -> ObjectOrigin {
        let owner = Value.int(owner.rawValue)
        let (file, device) = (Value.text(name.fileUUID.rawValue), Value.text(name.deviceUUID.rawValue))
        let origin = try first(
            """
            SELECT (SELECT MAX(file_version) FROM files WHERE file_uuid = ? AND owning_user_id = ?),
                   EXISTS (SELECT 1
                             FROM files
                            WHERE file_uuid = ?
                              AND owning_user_id = ?
                              AND file_version = ?
                              AND device_uuid = ?),
                   EXISTS (SELECT 1 FROM devices WHERE user_id = ? AND device_uuid = ?)
                   OR EXISTS (SELECT 1
                                FROM memberships mine
                                JOIN memberships theirs ON theirs.sharing_group_id = mine.sharing_group_id
                                JOIN devices d ON d.user_id = theirs.user_id
                               WHERE mine.user_id = ?
                                 AND d.device_uuid = ?),
                   -- With the uploads that were in progress, and for clocks that differ.
                   EXISTS (SELECT 1
                             FROM restorations
                            WHERE ? BETWEEN backup_taken_at - INTERVAL 1 HOUR AND restored_at + INTERVAL 1 HOUR),
                   EXISTS (SELECT 1 FROM imported_users WHERE user_id = ?)
            """,
            [
                file, owner, file, owner, .int(Int64(name.fileVersion.rawValue)), device, owner, device, owner, device,
                .date(createdAt), owner,
            ]
        ) { row throws(StoreError) in
            ObjectOrigin(
                committedVersion: try row.optionalNumber32(0).map { FileVersion($0) }, hasPresentName: try row.flag(1),
                isDeviceKnown: try row.flag(2), isOfUnknownTime: try row.flag(3), isOwnerImported: try row.flag(4))
        }
        return origin
            ?? ObjectOrigin(
                committedVersion: nil, hasPresentName: false, isDeviceKnown: false, isOfUnknownTime: true,
                isOwnerImported: true)
    }
}

/// The origin of an unreferenced object, as far as the database knows.
public struct ObjectOrigin: Equatable, Sendable {
    /// The version of its file; `nil` if there is no such file in that storage.
    public var committedVersion: FileVersion?
    /// Whether its name is the name of the file's current version.
    public var hasPresentName: Bool
    /// Whether the device in its name belongs to a user who may store files there.
    public var isDeviceKnown: Bool
    /// Whether it is from a time that this database has no record of: between a backup and its restoration.
    public var isOfUnknownTime: Bool
    /// Whether its owner was imported from an older server, which may still run with the same devices.
    public var isOwnerImported: Bool
}
