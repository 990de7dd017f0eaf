import MariaDB
public import SyncProtocol

/// Why a staged change cannot be committed.
public enum CommitRefusal: Error, Equatable {
    /// The file's committed version, metadata version or state differs from the one that the change was staged for.
    case outdated(FileUUID)
    /// The file already exists in another group.
    case belongsElsewhere(FileUUID)
    /// The owner in whose storage a new file is stored, or would be, has left.
    case ownerGone
}

extension StoreSession {
    /// Commits what is staged in an area to its group, as master version `version`, and hands replaced and deleted
    /// objects to the outbox.
    ///
    /// Call in a transaction that has just advanced the master version to `version`. All or nothing: the transaction
    /// must be rolled back if this throws.
    /// - Parameters:
    ///   - batch: the batch to commit; `nil`: all changes that are in no batch.
    ///   - owningUser: the member's effective owning user, for new files.
    ///   - graceSeconds: for how long replaced and deleted objects are kept, for downloads in progress.
    /// - Returns: how many changes were applied.
    /// - Throws: ``CommitRefusal`` for a change that is not valid, or ``StoreError``.
    public mutating func commitStaged(
        in area: StagingArea, of batch: BatchUUID? = nil, owningUser: OwningUser?, as version: MasterVersion,
        keepingReplacedFor graceSeconds: Int64 = 0, at now: WireDate
    ) throws -> Int32 {
        let deletion = WireDate(secondsSince1970: now.secondsSince1970 + graceSeconds)
        let taken = batch.map { (uuid: $0, masterVersion: MasterVersion(version.rawValue - 1)) }
        let changes = try taken == nil ? takeStaged(in: area) : changesToCommit(in: area, of: taken)
        var comeAlive: [FileUUID] = []
        for change in changes {
            if change.kind == .upload, change.fileVersion == .first {
                try commitNew(change, in: area, owningUser: owningUser, as: version)
                comeAlive.append(change.fileUUID)
                continue
            }
            guard let current = try file(change.fileUUID, in: area.groupID, locked: true) else {
                throw CommitRefusal.outdated(change.fileUUID)
            }
            switch change.kind {
            case .upload, .undelete:
                if try commitNext(change, over: current, in: area, as: version) {
                    try addDeletion(ofContentOf: current, in: area.groupID, availableAt: deletion, at: now)
                }
                if current.isDeleted { comeAlive.append(change.fileUUID) }
            case .metadata: try commitMetadata(change, over: current, in: area, as: version)
            case .deletion:
                try commitDeletion(change, of: current, in: area, as: version)
                try addDeletion(ofContentOf: current, in: area.groupID, availableAt: deletion, at: now)
            }
        }
        try checkAreNowhereElse(comeAlive, in: area, as: version)
        if let batch {
            try recordMembers(of: batch, in: area, at: now)
            guard try unstageCommitted(in: area, of: taken) == changes.count else {
                throw StoreError.corrupt(table: "staged_changes", column: "user_id")
            }
            try closeBatch(batch, in: area, at: now)
        }
        return Int32(clamping: changes.count)
    }

    /// Adds a new file, if the group has none with that UUID.
    private mutating func commitNew(
        _ change: StagedChange, in area: StagingArea, owningUser: OwningUser?, as version: MasterVersion
    ) throws {
        do {
            try addFile(change, in: area, owningUser: owningUser, as: version)
        } catch StoreError.alreadyExists {
            throw CommitRefusal.outdated(change.fileUUID)
        }
    }

    private mutating func addFile(
        _ change: StagedChange, in area: StagingArea, owningUser: OwningUser?, as version: MasterVersion
    ) throws {
        guard let content = change.content, let owningUser, owningUser == content.owningUser else {
            let isThere = try file(change.fileUUID, in: area.groupID) != nil
            throw isThere ? CommitRefusal.outdated(change.fileUUID) : .ownerGone
        }
        guard let mimeType = change.mimeType, let createdAt = change.createdAt, let updatedAt = change.updatedAt
        else { throw StoreError.corrupt(table: "staged_changes", column: "kind") }
        let file: ColumnValues = [
            "sharing_group_id": .int(area.groupID.rawValue), "file_uuid": .text(change.fileUUID.rawValue),
            "file_group_uuid": .text(orNull: change.fileGroupUUID?.rawValue),
            "device_uuid": .text(area.deviceUUID.rawValue), "created_at": .date(createdAt),
            "updated_at": .date(updatedAt), "mime_type": .text(mimeType.rawValue),
            "app_metadata": .text(orNull: change.appMetaData),
            "app_metadata_version": .int(orNull: change.appMetaDataVersion.map { Int64($0.rawValue) }),
            "file_version": .int(0), "changed_at_master_version": .int(version.rawValue),
        ]
        let row = file + content.columnValues
        try execute("INSERT INTO files (\(row.columns)) VALUES (\(valuesOf: row.columns))", row.values)
    }

    /// Rejects files that are now live in two groups.
    ///
    /// Checked after the rows were written, with locks: if two commits do this at once, each waits for the other's row,
    /// and the one that is forced to restart detects it.
    private mutating func checkAreNowhereElse(
        _ files: [FileUUID], in area: StagingArea, as version: MasterVersion
    ) throws {
        guard let only = files.first else { return }
        if files.count == 1 {
            guard try !isLiveElsewhere(only, otherThan: area.groupID, locked: true) else {
                throw CommitRefusal.belongsElsewhere(only)
            }
            return
        }
        // May include files that an older server allowed in two groups, if only their metadata change.
        let elsewhere: [FileUUID] = try all(
            """
            SELECT STRAIGHT_JOIN mine.file_uuid
              FROM files mine FORCE INDEX (changes)
              JOIN files other ON other.file_uuid = mine.file_uuid
             WHERE mine.sharing_group_id = ?
               AND mine.changed_at_master_version = ?
               AND other.sharing_group_id <> ?
               AND NOT other.is_deleted
               FOR UPDATE
            """,
            [.int(area.groupID.rawValue), .int(version.rawValue), .int(area.groupID.rawValue)]
        ) { row throws(StoreError) in try row.identifier(0) }
        if let other = elsewhere.first(where: files.contains) { throw CommitRefusal.belongsElsewhere(other) }
    }

    /// - Returns: whether the file has another object now.
    private mutating func commitNext(
        _ change: StagedChange, over current: FileRecord, in area: StagingArea, as version: MasterVersion
    ) throws -> Bool {
        guard change.fileVersion == current.fileVersion.next, change.kind == .undelete || !current.isDeleted,
            Self.isNextMetaData(change, after: current)
        else { throw CommitRefusal.outdated(change.fileUUID) }
        guard let updatedAt = change.updatedAt else {
            throw StoreError.corrupt(table: "staged_changes", column: "kind")
        }
        // The contents were lost when the owner switched accounts: the device has to upload them again.
        guard let content = change.content else { throw CommitRefusal.outdated(change.fileUUID) }
        // The row of a deleted file may still name a storage that its owner has left.
        guard content.owningUser.userID == current.owningUser.userID,
            current.isDeleted || content.owningUser == current.owningUser,
            try isMember(current.owningUser.userID, of: area.groupID)
        else { throw CommitRefusal.ownerGone }
        let file: ColumnValues = [
            "file_version": .int(orNull: change.fileVersion.map { Int64($0.rawValue) }),
            "device_uuid": .text(area.deviceUUID.rawValue), "updated_at": .date(updatedAt),
            "is_deleted": .bool(false), "content_state": .text(ContentState.stored.rawValue),
            "changed_at_master_version": .int(version.rawValue),
        ]
        let row = file + content.columnValues
        try execute(
            """
            UPDATE files
               SET \(assigning: row.columns),
                   app_metadata = IF(? IS NULL, app_metadata, ?),
                   app_metadata_version = IFNULL(?, app_metadata_version)
             WHERE sharing_group_id = ?
               AND file_uuid = ?
            """,
            row.values + [
                .int(orNull: change.appMetaDataVersion.map { Int64($0.rawValue) }), .text(orNull: change.appMetaData),
                .int(orNull: change.appMetaDataVersion.map { Int64($0.rawValue) }), .int(area.groupID.rawValue),
                .text(change.fileUUID.rawValue),
            ])
        return current.objectID == nil || current.objectID != content.objectID
    }

    private mutating func commitMetadata(
        _ change: StagedChange, over current: FileRecord, in area: StagingArea, as version: MasterVersion
    ) throws {
        guard !current.isDeleted, change.appMetaDataVersion != nil, Self.isNextMetaData(change, after: current) else {
            throw CommitRefusal.outdated(change.fileUUID)
        }
        try execute(
            """
            UPDATE files
               SET app_metadata = ?, app_metadata_version = ?, changed_at_master_version = ?
             WHERE sharing_group_id = ?
               AND file_uuid = ?
            """,
            [
                .text(orNull: change.appMetaData), .int(orNull: change.appMetaDataVersion.map { Int64($0.rawValue) }),
                .int(version.rawValue), .int(area.groupID.rawValue), .text(change.fileUUID.rawValue),
            ])
    }

    private mutating func commitDeletion(
        _ change: StagedChange, of current: FileRecord, in area: StagingArea, as version: MasterVersion
    ) throws {
        guard change.fileVersion == current.fileVersion else { throw CommitRefusal.outdated(change.fileUUID) }
        try execute(
            """
            UPDATE files
               SET \(assigning: FileRecord.deletion.columns), changed_at_master_version = ?
             WHERE sharing_group_id = ?
               AND file_uuid = ?
            """,
            FileRecord.deletion.values + [
                .int(version.rawValue), .int(area.groupID.rawValue), .text(change.fileUUID.rawValue),
            ])
    }

    /// Whether the change has no metadata, or the next version of them.
    private static func isNextMetaData(_ change: StagedChange, after current: FileRecord) -> Bool {
        change.appMetaDataVersion?.isNext(after: current) ?? true
    }
}
