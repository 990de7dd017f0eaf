internal import MariaDB
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
    /// The rows stay: a commit that silently omitted them would make the phone believe that the group has the files.
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

    /// Withdraws a staged new file that has lost its owner and contents; any other change of the file stays.
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
