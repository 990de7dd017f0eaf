import MariaDB
public import SyncProtocol

// Staged changes that will not be committed. Their objects go to the outbox, which deletes them unless a row refers to
// them by then. Callers have locked the group, so nothing is staged there between the two statements.
extension StoreSession {
    /// Withdraws what a user has staged in a group, on all devices.
    package mutating func withdrawStaged(
        by userID: UserID, in groupID: SharingGroupID, at now: WireDate
    ) throws(StoreError) {
        let area: [Value] = [.int(userID.rawValue), .int(groupID.rawValue)]
        try execute(
            """
            INSERT INTO outbox (kind, user_id, storage_type, object_id, available_at, created_at, request_id)
            SELECT 'deleteObject', owning_user_id, storage_type, object_id, ?, ?, ?
              FROM staged_changes
             WHERE user_id = ?
               AND sharing_group_id = ?
               AND object_id IS NOT NULL
            """, [.date(now), .date(now), requestValue] + area)
        try execute("DELETE FROM staged_changes WHERE user_id = ? AND sharing_group_id = ?", area)
    }

    /// Withdraws all staged changes in a group.
    package mutating func withdrawStaged(in groupID: SharingGroupID, at now: WireDate) throws(StoreError) {
        let group: [Value] = [.int(groupID.rawValue)]
        try execute(
            """
            INSERT INTO outbox (kind, user_id, storage_type, object_id, available_at, created_at, request_id)
            SELECT 'deleteObject', owning_user_id, storage_type, object_id, ?, ?, ?
              FROM staged_changes
             WHERE sharing_group_id = ?
               AND object_id IS NOT NULL
            """, [.date(now), .date(now), requestValue] + group)
        try execute("DELETE FROM staged_changes WHERE sharing_group_id = ?", group)
    }

    /// Withdraws next versions and metadata that members have staged for the files of one owner.
    package mutating func withdrawStagedChangesOfFiles(
        ownedBy userID: UserID, in groupID: SharingGroupID, at now: WireDate
    ) throws(StoreError) {
        let files: [Value] = [.int(groupID.rawValue), .int(userID.rawValue)]
        try execute(
            """
            INSERT INTO outbox (kind, user_id, storage_type, object_id, available_at, created_at, request_id)
            SELECT 'deleteObject', s.owning_user_id, s.storage_type, s.object_id, ?, ?, ?
              FROM staged_changes s
              JOIN files f ON f.sharing_group_id = s.sharing_group_id AND f.file_uuid = s.file_uuid
             WHERE s.sharing_group_id = ?
               AND f.owning_user_id = ?
               AND s.kind <> 'deletion'
               AND s.object_id IS NOT NULL
            """, [.date(now), .date(now), requestValue] + files)
        try execute(
            """
            DELETE s
              FROM staged_changes s
              JOIN files f ON f.sharing_group_id = s.sharing_group_id AND f.file_uuid = s.file_uuid
             WHERE s.sharing_group_id = ?
               AND f.owning_user_id = ?
               AND s.kind <> 'deletion'
            """, files)
    }

    /// Removes the contents from the new files that others have staged into the storage of one owner.
    ///
    /// The rows are kept: a commit that silently omitted them would make the phone believe that the group has the
    /// files.
    mutating func withdrawStagedContents(
        ownedBy userID: UserID, in groupID: SharingGroupID, at now: WireDate
    ) throws(StoreError) {
        let staged: [Value] = [.int(userID.rawValue), .int(groupID.rawValue)]
        try execute(
            """
            INSERT INTO outbox (kind, user_id, storage_type, object_id, available_at, created_at, request_id)
            SELECT 'deleteObject', owning_user_id, storage_type, object_id, ?, ?, ?
              FROM staged_changes
             WHERE owning_user_id = ?
               AND sharing_group_id = ?
               AND object_id IS NOT NULL
            """, [.date(now), .date(now), requestValue] + staged)
        let nothing = ColumnValues.nulls(StoredContent.columns)
        try execute(
            """
            UPDATE staged_changes
               SET \(assigning: nothing.columns)
             WHERE owning_user_id = ?
               AND sharing_group_id = ?
            """, nothing.values + staged)
    }

    /// Withdraws a staged new file that has lost its owner and contents; any other change to the file is kept.
    ///
    /// Call when the phone is informed that the owner has left, in a transaction that locks the group's master version.
    public mutating func withdrawWithoutContent(_ file: FileUUID, in area: StagingArea) throws(StoreError) {
        try execute(
            """
            DELETE FROM staged_changes
             WHERE user_id = ?
               AND device_uuid = ?
               AND sharing_group_id = ?
               AND file_uuid = ?
               AND kind = 'upload'
               AND owning_user_id IS NULL
            """, area.values + [.text(file.rawValue)])
    }

    /// Withdraws all changes that a user has staged anywhere.
    mutating func withdrawStaged(by userID: UserID, at now: WireDate) throws(StoreError) {
        try execute(
            """
            INSERT INTO outbox (kind, user_id, storage_type, object_id, available_at, created_at, request_id)
            SELECT 'deleteObject', owning_user_id, storage_type, object_id, ?, ?, ?
              FROM staged_changes
             WHERE user_id = ?
               AND object_id IS NOT NULL
            """, [.date(now), .date(now), requestValue, .int(userID.rawValue)])
        try execute("DELETE FROM staged_changes WHERE user_id = ?", [.int(userID.rawValue)])
    }
}

/// Staged changes that will not be committed: their rows are deleted, and their objects become work for the outbox.
extension StoreSession {
    /// A row to withdraw.
    private struct Abandoned {
        var area: StagingArea
        var file: FileUUID
        var batch: BatchUUID?
        var owner: OwningUser?
        var objectID: String?
        /// The name that an older server gave the object.
        var name: CloudFileName?

        /// The columns of `staged_changes` that ``init(_:)`` reads.
        static let columns: ColumnList = [
            "user_id", "device_uuid", "sharing_group_id", "file_uuid", "owning_user_id", "storage_type", "object_id",
            "batch_uuid", "file_version", "mime_type",
        ]

        init(_ row: borrowing Row) throws(StoreError) {
            area = StagingArea(
                userID: UserID(try row.number("user_id")), deviceUUID: try row.identifier("device_uuid"),
                groupID: SharingGroupID(try row.number("sharing_group_id")))
            file = try row.identifier("file_uuid")
            batch = try row.optionalIdentifier("batch_uuid")
            owner = try row.isNull("owning_user_id") ? nil : OwningUser(row)
            objectID = try row.optionalString("object_id")
            if let mimeType = try row.optionalString("mime_type").flatMap({ MIMEType($0) }),
                let version = try row.optionalNumber32("file_version")
            {
                name = CloudFileName(
                    fileUUID: file, deviceUUID: area.deviceUUID, fileVersion: FileVersion(version),
                    fileExtension: MIMETypeTable.extensionOfOlderServers(for: mimeType))
            }
        }
    }

    private mutating func withdraw(_ changes: [Abandoned], at now: WireDate) throws(StoreError) {
        for change in changes {
            if let owner = change.owner {
                try addDeletion(of: change.objectID, named: change.name, in: owner, at: now)
            }
            try unstage(change.file, in: change.area)
        }
    }

    /// Withdraws the staged changes in one area, and hands the objects to the outbox.
    ///
    /// Call in a transaction that locks the group's master version, so that no commit takes the rows in the meantime.
    /// - Parameters:
    ///   - files: only changes to these files; `nil`: to any file.
    ///   - batch: only changes in this batch; `nil`: in any batch or none.
    /// - Returns: how many changes were withdrawn.
    public mutating func discardStaged(
        in area: StagingArea, files: Set<FileUUID>?, batch: BatchUUID?, at now: WireDate
    ) throws(StoreError) -> Int {
        let staged = try all(
            """
            SELECT \(Abandoned.columns)
              FROM staged_changes
             WHERE user_id = ?
               AND device_uuid = ?
               AND sharing_group_id = ?
               FOR UPDATE
            """, area.values, Abandoned.init(_:))
        let discarded = staged.filter { change in
            (files?.contains(change.file) ?? true) && (batch.map { $0 == change.batch } ?? true)
        }
        try withdraw(discarded, at: now)
        return discarded.count
    }

    /// Withdraws changes that were staged before `time` and hands their objects to the outbox; members of a batch only
    /// once the whole batch is that old.
    ///
    /// - Parameter limit: maximum number of changes withdrawn.
    /// - Returns: how many were withdrawn.
    public mutating func withdrawAbandoned(
        stagedBefore time: WireDate, limit: Int, at now: WireDate
    ) throws(StoreError) -> Int {
        let abandoned = try all(
            """
            SELECT \(Abandoned.columns, of: "s")
              FROM staged_changes s
             WHERE s.staged_at < ?
               AND (s.batch_uuid IS NULL
                    OR NOT EXISTS (SELECT 1
                                     FROM batches b
                                    WHERE b.user_id = s.user_id
                                      AND b.device_uuid = s.device_uuid
                                      AND b.sharing_group_id = s.sharing_group_id
                                      AND b.batch_uuid = s.batch_uuid
                                      AND b.changed_at >= ?))
             ORDER BY s.staged_at
             LIMIT ?
               FOR UPDATE SKIP LOCKED
            """, [.date(time), .date(time), .int(Int64(limit))], Abandoned.init(_:))
        try withdraw(abandoned, at: now)
        return abandoned.count
    }

    /// Withdraws changes staged by people who are no longer members of the group, and hands the objects to the outbox.
    ///
    /// When a member leaves, their changes are withdrawn in the same transaction, and on a single server nothing can be
    /// staged in the meantime. The nodes of a cluster do not see each other's locks: an upload that is staged on one of
    /// them, while another removes the membership, leaves an orphaned row.
    /// - Parameters:
    ///   - time: only changes staged since then.
    ///   - limit: maximum number of changes withdrawn.
    /// - Returns: how many were withdrawn.
    public mutating func withdrawStagedByStrangers(
        since time: WireDate, limit: Int, at now: WireDate
    ) throws(StoreError) -> Int {
        let orphaned = try all(
            """
            SELECT \(Abandoned.columns, of: "s")
              FROM staged_changes s
             WHERE s.staged_at >= ?
               AND NOT EXISTS (SELECT 1
                                 FROM memberships m
                                WHERE m.sharing_group_id = s.sharing_group_id
                                  AND m.user_id = s.user_id)
             ORDER BY s.staged_at
             LIMIT ?
               FOR UPDATE SKIP LOCKED
            """, [.date(time), .int(Int64(limit))], Abandoned.init(_:))
        try withdraw(orphaned, at: now)
        return orphaned.count
    }
}
