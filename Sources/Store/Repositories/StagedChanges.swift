internal import MariaDB
public import SyncProtocol

/// Whose staged changes: those of one user on one device in one group.
public struct StagingArea: Equatable, Sendable {
    public var userID: UserID
    public var deviceUUID: DeviceUUID
    public var groupID: SharingGroupID

    public init(userID: UserID, deviceUUID: DeviceUUID, groupID: SharingGroupID) {
        self.userID = userID
        self.deviceUUID = deviceUUID
        self.groupID = groupID
    }

    var values: [Value] {
        [.int(userID.rawValue), .text(deviceUUID.rawValue), .int(groupID.rawValue)]
    }
}

/// A change that waits for its commit.
public struct StagedChange: Equatable, Sendable {
    public enum Kind: String, Equatable, Sendable {
        case upload
        /// An upload that revives a deleted file.
        case undelete
        case metadata
        case deletion
    }

    public var fileUUID: FileUUID
    public var kind: Kind
    public var fileGroupUUID: FileGroupUUID?
    /// New files only.
    public var createdAt: WireDate?
    /// Uploads only.
    public var updatedAt: WireDate?
    public var mimeType: MIMEType?
    public var appMetaData: String?
    public var appMetaDataVersion: AppMetaDataVersion?
    /// `nil` for changes of metadata alone.
    public var fileVersion: FileVersion?
    /// Uploads only.
    public var content: StoredContent?

    public init(fileUUID: FileUUID, kind: Kind) {
        self.fileUUID = fileUUID
        self.kind = kind
    }
}

extension StoreSession {
    private static let table = "staged_changes"

    /// The staged change of one file.
    public mutating func stagedChange(
        of file: FileUUID, in area: StagingArea
    ) throws(StoreError) -> StagedChange? {
        try first(
            """
            SELECT file_uuid, kind, file_group_uuid, created_at, updated_at, mime_type, app_metadata,
                   app_metadata_version, file_version, check_sum, sha256, size_bytes, owning_user_id, storage_type,
                   object_id, object_revision, provider_hash
              FROM staged_changes
             WHERE user_id = ?
               AND device_uuid = ?
               AND sharing_group_id = ?
               AND file_uuid = ?
            """, area.values + [.text(file.rawValue)], Self.stagedChange(from:))
    }

    /// All staged changes of one area, in the order of their files' UUIDs.
    ///
    /// - Parameter locked: whether the rows stay locked to the end of the transaction. Only then what was staged after
    ///   the transaction's first read is seen too.
    public mutating func stagedChanges(
        in area: StagingArea, locked: Bool = false
    ) throws(StoreError) -> [StagedChange] {
        if locked {
            return try all(
                """
                SELECT file_uuid, kind, file_group_uuid, created_at, updated_at, mime_type, app_metadata,
                       app_metadata_version, file_version, check_sum, sha256, size_bytes, owning_user_id,
                       storage_type, object_id, object_revision, provider_hash
                  FROM staged_changes
                 WHERE user_id = ?
                   AND device_uuid = ?
                   AND sharing_group_id = ?
                 ORDER BY file_uuid
                   FOR UPDATE
                """, area.values, Self.stagedChange(from:))
        }
        return try all(
            """
            SELECT file_uuid, kind, file_group_uuid, created_at, updated_at, mime_type, app_metadata,
                   app_metadata_version, file_version, check_sum, sha256, size_bytes, owning_user_id, storage_type,
                   object_id, object_revision, provider_hash
              FROM staged_changes
             WHERE user_id = ?
               AND device_uuid = ?
               AND sharing_group_id = ?
             ORDER BY file_uuid
            """, area.values, Self.stagedChange(from:))
    }

    private static func stagedChange(from row: borrowing Row) throws(StoreError) -> StagedChange {
        var change = StagedChange(
            fileUUID: try row.identifier(0, table, "file_uuid"), kind: try row.word(1, table, "kind"))
        change.fileGroupUUID = try row.optionalIdentifier(2, table, "file_group_uuid")
        if !row.isNull(3) { change.createdAt = try row.date(3, table, "created_at") }
        if !row.isNull(4) { change.updatedAt = try row.date(4, table, "updated_at") }
        if let text = row.optionalText(5) { change.mimeType = MIMEType(text) }
        change.appMetaData = row.optionalText(6)
        if !row.isNull(7) {
            change.appMetaDataVersion = AppMetaDataVersion(try row.number32(7, table, "app_metadata_version"))
        }
        if !row.isNull(8) { change.fileVersion = FileVersion(try row.number32(8, table, "file_version")) }
        if let owner = try row.optionalNumber(12) {
            change.content = StoredContent(
                owningUser: OwningUser(userID: UserID(owner), storageType: try row.word(13, table, "storage_type")),
                checkSum: try row.identifier(9, table, "check_sum"), sha256: row.optionalBytes(10),
                sizeBytes: try row.optionalNumber(11), objectID: row.optionalText(14),
                objectRevision: row.optionalText(15), providerHash: row.optionalText(16))
        }
        return change
    }

    /// Makes sure that a row for the file exists and is locked to the end of the transaction, and returns what was staged.
    ///
    /// Two uploads of one file by one device wait for each other here. A row that is inserted first needs no lock on
    /// the gap around it, which would stand in the way of other files. Follow with ``stage(_:in:at:)``, or undo the
    /// transaction if `nil` was returned.
    public mutating func claimStaging(
        of file: FileUUID, in area: StagingArea, at now: WireDate
    ) throws(StoreError) -> StagedChange? {
        let inserted = try execute(
            """
            INSERT INTO staged_changes (user_id, device_uuid, sharing_group_id, file_uuid, kind, staged_at)
            VALUES (?, ?, ?, ?, 'upload', ?)
                ON DUPLICATE KEY UPDATE file_uuid = file_uuid
            """, area.values + [.text(file.rawValue), .date(now)])
        guard inserted == 0 else { return nil }
        return try first(
            """
            SELECT file_uuid, kind, file_group_uuid, created_at, updated_at, mime_type, app_metadata,
                   app_metadata_version, file_version, check_sum, sha256, size_bytes, owning_user_id, storage_type,
                   object_id, object_revision, provider_hash
              FROM staged_changes
             WHERE user_id = ?
               AND device_uuid = ?
               AND sharing_group_id = ?
               AND file_uuid = ?
               FOR UPDATE
            """, area.values + [.text(file.rawValue)], Self.stagedChange(from:))
    }

    /// Stages a change in a row that ``claimStaging(of:in:at:)`` has locked; what was staged there before gives way.
    public mutating func stage(
        _ change: StagedChange, in area: StagingArea, at now: WireDate
    ) throws(StoreError) {
        let content = change.content
        try execute(
            """
            UPDATE staged_changes
               SET kind = ?, file_group_uuid = ?, created_at = ?, updated_at = ?, mime_type = ?, app_metadata = ?,
                   app_metadata_version = ?, file_version = ?, check_sum = ?, sha256 = ?, size_bytes = ?,
                   owning_user_id = ?, storage_type = ?, object_id = ?, object_revision = ?, provider_hash = ?,
                   staged_at = ?
             WHERE user_id = ?
               AND device_uuid = ?
               AND sharing_group_id = ?
               AND file_uuid = ?
            """,
            [
                .text(change.kind.rawValue), .text(orNull: change.fileGroupUUID?.rawValue),
                .date(orNull: change.createdAt), .date(orNull: change.updatedAt),
                .text(orNull: change.mimeType?.rawValue), .text(orNull: change.appMetaData),
                .int(orNull: change.appMetaDataVersion.map { Int64($0.rawValue) }),
                .int(orNull: change.fileVersion.map { Int64($0.rawValue) }), .text(orNull: content?.checkSum.rawValue),
                .bytes(orNull: content?.sha256), .int(orNull: content?.sizeBytes),
                .int(orNull: content?.owningUser.userID.rawValue),
                .text(orNull: content?.owningUser.storageType.rawValue), .text(orNull: content?.objectID),
                .text(orNull: content?.objectRevision), .text(orNull: content?.providerHash), .date(now),
            ] + area.values + [.text(change.fileUUID.rawValue)])
    }

    /// Withdraws a staged change.
    public mutating func unstage(_ file: FileUUID, in area: StagingArea) throws(StoreError) {
        try execute(
            """
            DELETE FROM staged_changes
             WHERE user_id = ?
               AND device_uuid = ?
               AND sharing_group_id = ?
               AND file_uuid = ?
            """, area.values + [.text(file.rawValue)])
    }

    /// Withdraws everything staged in one area.
    /// - Returns: how many changes were withdrawn.
    mutating func unstageAll(in area: StagingArea) throws(StoreError) -> Int {
        try execute(
            "DELETE FROM staged_changes WHERE user_id = ? AND device_uuid = ? AND sharing_group_id = ?", area.values)
    }

    /// Withdraws changes that were staged before `time` and hands their objects to the outbox.
    ///
    /// - Parameter limit: changes withdrawn at most.
    /// - Returns: how many were withdrawn.
    public mutating func withdrawAbandoned(
        stagedBefore time: WireDate, limit: Int, at now: WireDate
    ) throws(StoreError) -> Int {
        let abandoned = try all(
            """
            SELECT user_id, device_uuid, sharing_group_id, file_uuid, owning_user_id, storage_type, object_id,
                   file_version, mime_type
              FROM staged_changes
             WHERE staged_at < ?
             ORDER BY staged_at
             LIMIT ?
               FOR UPDATE SKIP LOCKED
            """,
            [.date(time), .int(Int64(limit))]
        ) { row throws(StoreError) in
            (
                area: StagingArea(
                    userID: UserID(try row.number(0)), deviceUUID: try row.identifier(1, Self.table, "device_uuid"),
                    groupID: SharingGroupID(try row.number(2))),
                file: try row.identifier(3, as: FileUUID.self, Self.table, "file_uuid"),
                owner: try row.optionalNumber(4).map(UserID.init),
                storageType: try row.optionalWord(5, as: CloudStorageType.self, Self.table, "storage_type"),
                objectID: row.optionalText(6), version: try row.optionalNumber(7),
                mimeType: row.optionalText(8).flatMap { MIMEType($0) }
            )
        }
        for change in abandoned {
            if let owner = change.owner, let storageType = change.storageType {
                var name: CloudFileName?
                if let version = change.version.flatMap({ Int32(exactly: $0) }), let mimeType = change.mimeType {
                    name = CloudFileName(
                        fileUUID: change.file, deviceUUID: change.area.deviceUUID, fileVersion: FileVersion(version),
                        fileExtension: MIMETypeTable.extensionOfOlderServers(for: mimeType))
                }
                try addDeletion(
                    of: change.objectID, named: name, in: OwningUser(userID: owner, storageType: storageType), at: now)
            }
            try unstage(change.file, in: change.area)
        }
        return abandoned.count
    }
}
