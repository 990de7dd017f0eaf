internal import MariaDB
public import SyncProtocol

/// The scope of staged changes: those of one user on one device in one group.
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

/// A staged change that has not been committed.
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
    /// Uploads only; `nil` for a new file if the owner whose storage it was staged into has left.
    public var content: StoredContent?
    /// The batch that commits it; `nil` if DoneUploads commits it.
    public var batchUUID: BatchUUID?

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
                   object_id, object_revision, provider_hash, batch_uuid
              FROM staged_changes
             WHERE user_id = ?
               AND device_uuid = ?
               AND sharing_group_id = ?
               AND file_uuid = ?
            """, area.values + [.text(file.rawValue)], Self.stagedChange(from:))
    }

    /// All staged changes of one area, in the order of their files' UUIDs, those of batches included.
    public mutating func stagedChanges(in area: StagingArea) throws(StoreError) -> [StagedChange] {
        try all(
            """
            SELECT file_uuid, kind, file_group_uuid, created_at, updated_at, mime_type, app_metadata,
                   app_metadata_version, file_version, check_sum, sha256, size_bytes, owning_user_id, storage_type,
                   object_id, object_revision, provider_hash, batch_uuid
              FROM staged_changes
             WHERE user_id = ?
               AND device_uuid = ?
               AND sharing_group_id = ?
             ORDER BY file_uuid
            """, area.values, Self.stagedChange(from:))
    }

    /// The changes of an area that one commit takes, in the order of the files' UUIDs. The rows stay locked until the
    /// end of the transaction, so that changes staged after the transaction's first read are seen too.
    ///
    /// - Parameter batch: a batch and the master version that it is committed from; `nil`: what DoneUploads commits.
    public mutating func changesToCommit(
        in area: StagingArea, of batch: (uuid: BatchUUID, masterVersion: MasterVersion)? = nil
    ) throws(StoreError) -> [StagedChange] {
        try all(
            """
            SELECT file_uuid, kind, file_group_uuid, created_at, updated_at, mime_type, app_metadata,
                   app_metadata_version, file_version, check_sum, sha256, size_bytes, owning_user_id, storage_type,
                   object_id, object_revision, provider_hash, batch_uuid
              FROM staged_changes
             WHERE user_id = ?
               AND device_uuid = ?
               AND sharing_group_id = ?
               AND batch_uuid <=> ?
               AND batch_master_version <=> ?
             ORDER BY file_uuid
               FOR UPDATE
            """, area.values + Self.values(of: batch), Self.stagedChange(from:))
    }

    private static func values(of batch: (uuid: BatchUUID, masterVersion: MasterVersion)?) -> [Value] {
        [.text(orNull: batch?.uuid.rawValue), .int(orNull: batch?.masterVersion.rawValue)]
    }

    private static func stagedChange(from row: borrowing Row) throws(StoreError) -> StagedChange {
        try stagedChange(from: row, column: 0)
    }

    /// A staged change whose columns begin at `column`.
    static func stagedChange(from row: borrowing Row, column: Int) throws(StoreError) -> StagedChange {
        var change = StagedChange(
            fileUUID: try row.identifier(column, table, "file_uuid"), kind: try row.word(column + 1, table, "kind"))
        change.fileGroupUUID = try row.optionalIdentifier(column + 2, table, "file_group_uuid")
        if !row.isNull(column + 3) { change.createdAt = try row.date(column + 3, table, "created_at") }
        if !row.isNull(column + 4) { change.updatedAt = try row.date(column + 4, table, "updated_at") }
        if let text = row.optionalText(column + 5) { change.mimeType = MIMEType(text) }
        change.appMetaData = row.optionalText(column + 6)
        if !row.isNull(column + 7) {
            change.appMetaDataVersion = AppMetaDataVersion(
                try row.number32(column + 7, table, "app_metadata_version"))
        }
        if !row.isNull(column + 8) {
            change.fileVersion = FileVersion(try row.number32(column + 8, table, "file_version"))
        }
        if let owner = try row.optionalNumber(column + 12) {
            change.content = StoredContent(
                owningUser: OwningUser(
                    userID: UserID(owner), storageType: try row.word(column + 13, table, "storage_type")),
                checkSum: try row.identifier(column + 9, table, "check_sum"),
                sha256: row.optionalBytes(column + 10), sizeBytes: try row.optionalNumber(column + 11),
                objectID: row.optionalText(column + 14), objectRevision: row.optionalText(column + 15),
                providerHash: row.optionalText(column + 16))
        }
        change.batchUUID = try row.optionalIdentifier(column + 17, table, "batch_uuid")
        return change
    }

    /// Stages a change of a file that has no staged change yet, in one statement.
    ///
    /// Two uploads of one file by one device are serialized here.
    /// - Returns: `false` if a change is already staged: then nothing was changed, and that row stays locked until the
    ///   end of the transaction. Continue with ``claimStaging(of:in:at:)``.
    public mutating func stageFirst(
        _ change: StagedChange, in area: StagingArea, at now: WireDate
    ) throws(StoreError) -> Bool {
        try execute(
            """
            INSERT INTO staged_changes
                   (kind, file_group_uuid, created_at, updated_at, mime_type, app_metadata, app_metadata_version,
                    file_version, check_sum, sha256, size_bytes, owning_user_id, storage_type, object_id,
                    object_revision, provider_hash, app_metadata_bytes, staged_at, user_id, device_uuid,
                    sharing_group_id, file_uuid)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON DUPLICATE KEY UPDATE file_uuid = file_uuid
            """, Self.values(of: change, at: now) + area.values + [.text(change.fileUUID.rawValue)]) == 1
    }

    /// The column values of a change, in the order of ``stageFirst(_:in:at:)`` and ``stage(_:in:at:)``.
    private static func values(of change: StagedChange, at now: WireDate) -> [Value] {
        let content = change.content
        return [
            .text(change.kind.rawValue), .text(orNull: change.fileGroupUUID?.rawValue),
            .date(orNull: change.createdAt), .date(orNull: change.updatedAt),
            .text(orNull: change.mimeType?.rawValue), .text(orNull: change.appMetaData),
            .int(orNull: change.appMetaDataVersion.map { Int64($0.rawValue) }),
            .int(orNull: change.fileVersion.map { Int64($0.rawValue) }), .text(orNull: content?.checkSum.rawValue),
            .bytes(orNull: content?.sha256), .int(orNull: content?.sizeBytes),
            .int(orNull: content?.owningUser.userID.rawValue),
            .text(orNull: content?.owningUser.storageType.rawValue), .text(orNull: content?.objectID),
            .text(orNull: content?.objectRevision), .text(orNull: content?.providerHash),
            .int(Int64(change.appMetaData?.utf8.count ?? 0)), .date(now),
        ]
    }

    /// Makes sure that a row for the file exists and is locked until the end of the transaction; returns what was
    /// staged.
    ///
    /// Two uploads of one file by one device are serialized here. Inserting the row first avoids a lock on the gap
    /// around it, which would block other files. Follow with ``stage(_:in:at:)``, or roll back the transaction if `nil`
    /// was returned.
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
                   object_id, object_revision, provider_hash, batch_uuid
              FROM staged_changes
             WHERE user_id = ?
               AND device_uuid = ?
               AND sharing_group_id = ?
               AND file_uuid = ?
               FOR UPDATE
            """, area.values + [.text(file.rawValue)], Self.stagedChange(from:))
    }

    /// Stages a change in a row locked by ``claimStaging(of:in:at:)``; it replaces the change staged there before, and
    /// removes the row from its batch. Follow with ``joinBatch(_:with:in:at:)`` if the change is part of a batch.
    public mutating func stage(
        _ change: StagedChange, in area: StagingArea, at now: WireDate
    ) throws(StoreError) {
        try execute(
            """
            UPDATE staged_changes
               SET kind = ?, file_group_uuid = ?, created_at = ?, updated_at = ?, mime_type = ?, app_metadata = ?,
                   app_metadata_version = ?, file_version = ?, check_sum = ?, sha256 = ?, size_bytes = ?,
                   owning_user_id = ?, storage_type = ?, object_id = ?, object_revision = ?, provider_hash = ?,
                   app_metadata_bytes = ?, staged_at = ?, batch_uuid = NULL, batch_master_version = NULL,
                   batch_request_hash = NULL
             WHERE user_id = ?
               AND device_uuid = ?
               AND sharing_group_id = ?
               AND file_uuid = ?
            """, Self.values(of: change, at: now) + area.values + [.text(change.fileUUID.rawValue)])
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

    /// Removes the changes that DoneUploads commits from an area, in one statement. The rows stay locked until the end
    /// of the transaction.
    ///
    /// Call in a transaction that holds the group exclusively, and write the returned changes into the group there.
    mutating func takeStaged(in area: StagingArea) throws(StoreError) -> [StagedChange] {
        try all(
            """
            DELETE FROM staged_changes
             WHERE user_id = ?
               AND device_uuid = ?
               AND sharing_group_id = ?
               AND batch_uuid IS NULL
            RETURNING file_uuid, kind, file_group_uuid, created_at, updated_at, mime_type, app_metadata,
                      app_metadata_version, file_version, check_sum, sha256, size_bytes, owning_user_id, storage_type,
                      object_id, object_revision, provider_hash, batch_uuid
            """, area.values, Self.stagedChange(from:))
    }

    /// Removes the changes that one commit has taken from an area, as returned by ``changesToCommit(in:of:)``.
    /// - Returns: how many changes were removed.
    mutating func unstageCommitted(
        in area: StagingArea, of batch: (uuid: BatchUUID, masterVersion: MasterVersion)?
    ) throws(StoreError) -> Int {
        try execute(
            """
            DELETE FROM staged_changes
             WHERE user_id = ?
               AND device_uuid = ?
               AND sharing_group_id = ?
               AND batch_uuid <=> ?
               AND batch_master_version <=> ?
            """, area.values + Self.values(of: batch))
    }
}
