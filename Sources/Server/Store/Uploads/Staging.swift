import MariaDB
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

    /// The columns that identify the area, in `staged_changes` and `batches`.
    var key: ColumnValues {
        [
            "user_id": .int(userID.rawValue), "device_uuid": .text(deviceUUID.rawValue),
            "sharing_group_id": .int(groupID.rawValue),
        ]
    }

    var values: [Value] { key.values }
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
    /// `nil` for changes to metadata alone.
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

extension StagedChange {
    /// The columns of `staged_changes` that ``init(_:)`` reads.
    static let columns: ColumnList =
        [
            "file_uuid", "kind", "file_group_uuid", "created_at", "updated_at", "mime_type", "app_metadata",
            "app_metadata_version", "file_version", "batch_uuid",
        ] + StoredContent.columns

    init(_ row: borrowing Row) throws(StoreError) {
        self.init(fileUUID: try row.identifier("file_uuid"), kind: try row.word("kind"))
        fileGroupUUID = try row.optionalIdentifier("file_group_uuid")
        createdAt = try row.optionalDate("created_at")
        updatedAt = try row.optionalDate("updated_at")
        mimeType = try row.optionalString("mime_type").flatMap { MIMEType($0) }
        appMetaData = try row.optionalString("app_metadata")
        appMetaDataVersion = try row.optionalNumber32("app_metadata_version").map { AppMetaDataVersion($0) }
        fileVersion = try row.optionalNumber32("file_version").map { FileVersion($0) }
        batchUUID = try row.optionalIdentifier("batch_uuid")
        content = try row.isNull("owning_user_id") ? nil : StoredContent(row)
    }

    /// The values that a statement writes into the row of the change, except its key and its batch.
    fileprivate func columnValues(at now: WireDate) -> ColumnValues {
        let change: ColumnValues = [
            "kind": .text(kind.rawValue), "file_group_uuid": .text(orNull: fileGroupUUID?.rawValue),
            "created_at": .date(orNull: createdAt), "updated_at": .date(orNull: updatedAt),
            "mime_type": .text(orNull: mimeType?.rawValue), "app_metadata": .text(orNull: appMetaData),
            "app_metadata_version": .int(orNull: appMetaDataVersion.map { Int64($0.rawValue) }),
            "app_metadata_bytes": .int(Int64(appMetaData?.utf8.count ?? 0)),
            "file_version": .int(orNull: fileVersion.map { Int64($0.rawValue) }), "staged_at": .date(now),
        ]
        return change + (content?.columnValues ?? .nulls(StoredContent.columns))
    }
}

extension StoreSession {
    /// The staged change to one file.
    public mutating func stagedChange(
        of file: FileUUID, in area: StagingArea
    ) throws(StoreError) -> StagedChange? {
        try first(
            """
            SELECT \(StagedChange.columns)
              FROM staged_changes
             WHERE user_id = ?
               AND device_uuid = ?
               AND sharing_group_id = ?
               AND file_uuid = ?
            """, area.values + [.text(file.rawValue)], StagedChange.init(_:))
    }

    /// All staged changes in one area, including those in batches, in the order of their files' UUIDs.
    public mutating func stagedChanges(in area: StagingArea) throws(StoreError) -> [StagedChange] {
        try all(
            """
            SELECT \(StagedChange.columns)
              FROM staged_changes
             WHERE user_id = ?
               AND device_uuid = ?
               AND sharing_group_id = ?
             ORDER BY file_uuid
            """, area.values, StagedChange.init(_:))
    }

    /// The changes in an area that one commit applies, in the order of the files' UUIDs. The rows stay locked until the
    /// end of the transaction, so that changes staged after the transaction's first read are seen as well.
    ///
    /// - Parameter batch: a batch and the master version that it is committed from; `nil`: what DoneUploads commits.
    public mutating func changesToCommit(
        in area: StagingArea, of batch: (uuid: BatchUUID, masterVersion: MasterVersion)? = nil
    ) throws(StoreError) -> [StagedChange] {
        try all(
            """
            SELECT \(StagedChange.columns)
              FROM staged_changes
             WHERE user_id = ?
               AND device_uuid = ?
               AND sharing_group_id = ?
               AND batch_uuid <=> ?
               AND batch_master_version <=> ?
             ORDER BY file_uuid
               FOR UPDATE
            """, area.values + Self.values(of: batch), StagedChange.init(_:))
    }

    private static func values(of batch: (uuid: BatchUUID, masterVersion: MasterVersion)?) -> [Value] {
        [.text(orNull: batch?.uuid.rawValue), .int(orNull: batch?.masterVersion.rawValue)]
    }

    /// Stages a change to a file that has no staged change yet, in one statement.
    ///
    /// Two uploads of one file by one device are serialized here.
    /// - Returns: `false` if a change is already staged: then nothing was changed, and that row stays locked until the
    ///   end of the transaction. Continue with ``claimStaging(of:in:at:)``.
    public mutating func stageFirst(
        _ change: StagedChange, in area: StagingArea, at now: WireDate
    ) throws(StoreError) -> Bool {
        let row = change.columnValues(at: now) + area.key + ["file_uuid": .text(change.fileUUID.rawValue)]
        return try execute(
            """
            INSERT INTO staged_changes (\(row.columns))
            VALUES (\(valuesOf: row.columns))
                ON DUPLICATE KEY UPDATE file_uuid = file_uuid
            """, row.values) == 1
    }

    /// The same, if the group has the master version `expected`, which cannot advance before the transaction ends
    /// (``lockMasterVersionShared(of:)``).
    /// - Returns: `false` if it has another version, or a change is already staged; then nothing was changed.
    public mutating func stageFirst(
        _ change: StagedChange, in area: StagingArea, from expected: MasterVersion, at now: WireDate
    ) throws(StoreError) -> Bool {
        let row = change.columnValues(at: now) + area.key + ["file_uuid": .text(change.fileUUID.rawValue)]
        return try execute(
            """
            INSERT INTO staged_changes (\(row.columns))
            SELECT \(valuesOf: row.columns)
              FROM sharing_groups g
             WHERE g.sharing_group_id = ?
               AND g.master_version = ?
               AND NOT g.is_deleted
              LOCK IN SHARE MODE
                ON DUPLICATE KEY UPDATE file_uuid = staged_changes.file_uuid
            """, row.values + [.int(area.groupID.rawValue), .int(expected.rawValue)]) == 1
    }

    /// Ensures that a row for the file exists and is locked until the end of the transaction; returns the change staged
    /// before.
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
            SELECT \(StagedChange.columns)
              FROM staged_changes
             WHERE user_id = ?
               AND device_uuid = ?
               AND sharing_group_id = ?
               AND file_uuid = ?
               FOR UPDATE
            """, area.values + [.text(file.rawValue)], StagedChange.init(_:))
    }

    /// Stages a change in a row locked by ``claimStaging(of:in:at:)``; it replaces the change staged there before, and
    /// removes the row from its batch. Follow with ``joinBatch(_:in:at:)`` if the change is part of a batch.
    public mutating func stage(
        _ change: StagedChange, in area: StagingArea, at now: WireDate
    ) throws(StoreError) {
        let row = change.columnValues(at: now)
        try execute(
            """
            UPDATE staged_changes
               SET \(assigning: row.columns),
                   batch_uuid = NULL, batch_master_version = NULL, batch_request_hash = NULL
             WHERE user_id = ?
               AND device_uuid = ?
               AND sharing_group_id = ?
               AND file_uuid = ?
            """, row.values + area.values + [.text(change.fileUUID.rawValue)])
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
            RETURNING \(StagedChange.columns)
            """, area.values, StagedChange.init(_:))
    }

    /// Removes the changes that one commit has applied from an area, as returned by ``changesToCommit(in:of:)``.
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

/// The state that determines whether a file may be uploaded.
public struct UploadSituation: Equatable, Sendable {
    public var membership: Membership
    /// The device's staged change to the file.
    public var staged: StagedChange?
    /// The committed file, if the group has it, deleted or not.
    public var current: FileRecord?
    /// Whether another group has a live file with that UUID.
    public var isLiveElsewhere = false
}

extension StoreSession {
    /// Reads in one statement, so at the same moment, the data that decides about an upload; `nil` if the caller is not
    /// a member of the group, or if the group is deleted or does not exist.
    ///
    /// Membership and committed file change only together with the group's master version: they are still the same as
    /// when they were read if ``lockMasterVersionShared(of:)`` finds the same version.
    public mutating func uploadSituation(
        of file: FileUUID, by caller: UserRecord, on device: DeviceUUID, in group: SharingGroupUUID
    ) throws(StoreError) -> UploadSituation? {
        let callerWithStorage = caller.accountType.cloudStorageType == nil ? nil : caller.userID.rawValue
        var situation: UploadSituation?
        try connection.query(
            """
            SELECT \(Membership.columns), \(StagedChange.columns, of: "s"),
                   f.sharing_group_id, \(FileRecord.columns, of: "f")
              FROM sharing_groups g
              JOIN memberships m ON m.sharing_group_id = g.sharing_group_id
              LEFT JOIN users o ON o.user_id = IFNULL(?, m.owning_user_id)
              LEFT JOIN staged_changes s ON s.user_id = m.user_id
                                        AND s.device_uuid = ?
                                        AND s.sharing_group_id = m.sharing_group_id
                                        AND s.file_uuid = ?
              LEFT JOIN files f ON f.file_uuid = ?
                               AND (f.sharing_group_id = m.sharing_group_id OR NOT f.is_deleted)
             WHERE g.sharing_group_uuid = ?
               AND NOT g.is_deleted
               AND m.user_id = ?
            """,
            [
                .int(orNull: callerWithStorage), .text(device.rawValue), .text(file.rawValue), .text(file.rawValue),
                .text(group.rawValue), .int(caller.userID.rawValue),
            ]
        ) { row throws(StoreError) in
            // One row for each group that has the file; one row without a file if none has.
            var found: UploadSituation
            if let known = situation {
                found = known
            } else {
                found = UploadSituation(membership: try Membership(row))
                let staged = row.columns(of: "s")
                if try !staged.isNull("file_uuid") { found.staged = try StagedChange(staged) }
            }
            let file = row.columns(of: "f")
            if let groupID = try file.optionalNumber("sharing_group_id") {
                if groupID == found.membership.groupID.rawValue {
                    found.current = try FileRecord(file)
                } else {
                    found.isLiveElsewhere = true
                }
            }
            situation = found
        }
        return situation
    }
}
