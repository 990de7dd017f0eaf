import MariaDB
public import SyncProtocol

/// The state of a group that a manifest describes.
public struct ManifestStand: Equatable, Hashable, Sendable {
    /// The mark of the restoration from which the state has developed; `nil` if there was none.
    public var restoreMark: RestoreMark?
    public var masterVersion: MasterVersion
    public var writtenAt: WireDate

    public init(restoreMark: RestoreMark?, masterVersion: MasterVersion, writtenAt: WireDate) {
        self.restoreMark = restoreMark
        self.masterVersion = masterVersion
        self.writtenAt = writtenAt
    }
}

/// A group during a rebuild.
public struct RebuildGroup: Equatable, Sendable {
    public enum State: String, Sendable, CaseIterable {
        /// Read-only, because owners of live files are missing.
        case restoring
        /// Read-only, because a newer manifest was found after the group was changed here: the operator decides.
        case diverged
        /// All owners have returned.
        case complete
        /// The operator has decided not to wait.
        case finished
    }

    public var groupID: SharingGroupID
    public var masterVersion: MasterVersion
    public var restoreMark: RestoreMark?
    public var isDeleted: Bool
    /// `nil` if the group is not part of the rebuild.
    public var state: State?
    /// The manifest from which it was restored; `nil` if it is from a backup.
    public var applied: ManifestStand?
    /// Whether the group is unchanged since the restoration, or since a manifest was applied.
    public var isUnchangedHere: Bool

    public init(
        groupID: SharingGroupID, masterVersion: MasterVersion, restoreMark: RestoreMark?, isDeleted: Bool,
        state: State?, applied: ManifestStand?, isUnchangedHere: Bool
    ) {
        self.groupID = groupID
        self.masterVersion = masterVersion
        self.restoreMark = restoreMark
        self.isDeleted = isDeleted
        self.state = state
        self.applied = applied
        self.isUnchangedHere = isUnchangedHere
    }
}

/// A group as described in a trusted manifest, without members and files.
public struct RebuiltGroup: Equatable, Sendable {
    public var groupUUID: SharingGroupUUID
    public var name: String?
    public var createdAt: WireDate
    public var stand: ManifestStand
    /// The salt with which the members' identities are hashed.
    public var salt: [UInt8]
    /// Whether a known key has signed it.
    public var isSigned: Bool

    public init(
        groupUUID: SharingGroupUUID, name: String?, createdAt: WireDate, stand: ManifestStand, salt: [UInt8],
        isSigned: Bool
    ) {
        self.groupUUID = groupUUID
        self.name = name
        self.createdAt = createdAt
        self.stand = stand
        self.salt = salt
        self.isSigned = isSigned
    }
}

extension StoreSession {
    /// A group with its state in the rebuild; its row is locked until the end of the transaction. `nil` if there is no
    /// such group.
    public mutating func rebuildGroup(_ group: SharingGroupUUID) throws(StoreError) -> RebuildGroup? {
        try first(
            """
            SELECT g.sharing_group_id, g.master_version, g.restore_mark, g.restored_master_version, g.is_deleted,
                   r.state, r.left_at_version, r.manifest_master_version, r.manifest_restore_mark,
                   r.manifest_written_at
              FROM sharing_groups g
              LEFT JOIN rebuild_groups r ON r.sharing_group_id = g.sharing_group_id
             WHERE g.sharing_group_uuid = ?
               FOR UPDATE
            """, [.text(group.rawValue)]
        ) { row throws(StoreError) in
            let version: Int64 = try row.number("master_version")
            var applied: ManifestStand?
            if let stated = try row.optionalNumber("manifest_master_version"),
                let writtenAt = try row.optionalDate("manifest_written_at")
            {
                applied = ManifestStand(
                    restoreMark: try row.optionalString("manifest_restore_mark").flatMap { RestoreMark($0) },
                    masterVersion: MasterVersion(stated), writtenAt: writtenAt)
            }
            // If the restored backup was served before the rebuild, the group may have changed since.
            let left = try row.optionalNumber("left_at_version")
            let restored = try row.optionalNumber("restored_master_version")
            return RebuildGroup(
                groupID: SharingGroupID(try row.number("sharing_group_id")), masterVersion: MasterVersion(version),
                restoreMark: try row.optionalString("restore_mark").flatMap { RestoreMark($0) },
                isDeleted: try row.flag("is_deleted"), state: try row.optionalWord("state"), applied: applied,
                isUnchangedHere: (left ?? restored) == version)
        }
    }

    /// Creates the group described in a manifest, or resets it to the manifest's state, read-only, with a new mark. The
    /// caller writes members and files in the same transaction.
    /// - Parameter present: the same group, locked; `nil` to create it.
    public mutating func put(
        back group: RebuiltGroup, over present: SharingGroupID?, mark: RestoreMark, at now: WireDate
    ) throws(StoreError) -> SharingGroupID {
        let version = Value.int(group.stand.masterVersion.rawValue)
        let groupID: SharingGroupID
        if let present {
            groupID = present
            // The lowest version of all restorations: devices may know changes that an earlier restoration lost.
            try execute(
                """
                UPDATE sharing_groups
                   SET name = ?, master_version = ?, is_restoring = TRUE, restore_mark = ?,
                       restored_master_version = LEAST(COALESCE(restored_master_version, ?), ?)
                 WHERE sharing_group_id = ?
                """,
                [
                    .text(orNull: group.name), version, .text(mark.rawValue), version, version,
                    .int(groupID.rawValue),
                ])
        } else {
            groupID = SharingGroupID(
                try insert(
                    """
                    INSERT INTO sharing_groups
                           (sharing_group_uuid, name, master_version, created_at, restore_mark,
                            restored_master_version, is_restoring)
                    VALUES (?, ?, ?, ?, ?, ?, TRUE)
                    """,
                    [
                        .text(group.groupUUID.rawValue), .text(orNull: group.name), version, .date(group.createdAt),
                        .text(mark.rawValue), version,
                    ]))
        }
        let row: ColumnValues = [
            "state": .text(RebuildGroup.State.restoring.rawValue), "left_at_version": version,
            "manifest_master_version": version,
            "manifest_restore_mark": .text(orNull: group.stand.restoreMark?.rawValue),
            "manifest_written_at": .date(group.stand.writtenAt), "is_signed": .bool(group.isSigned),
            "salt": .bytes(group.salt), "changed_at": .date(now), "sharing_group_id": .int(groupID.rawValue),
        ]
        try execute("REPLACE INTO rebuild_groups (\(row.columns)) VALUES (\(valuesOf: row.columns))", row.values)
        changes.groups.insert(groupID)
        return groupID
    }

    /// Makes a group read-only, because a newer manifest was found after people had changed the group here.
    public mutating func noteDivergence(of groupID: SharingGroupID, at now: WireDate) throws(StoreError) {
        let group: [Value] = [.int(groupID.rawValue)]
        let changed = try execute(
            """
            UPDATE rebuild_groups
               SET state = 'diverged', changed_at = ?
             WHERE sharing_group_id = ?
               AND state NOT IN ('diverged', 'finished')
            """, [.date(now)] + group)
        guard changed == 1 else { return }
        try execute("UPDATE sharing_groups SET is_restoring = TRUE WHERE sharing_group_id = ?", group)
        changes.groups.insert(groupID)
    }

    // MARK: Files

    /// Writes a file as described in a trusted manifest. A live file whose bytes are in storage waits until its object
    /// is found, unless the same version is already here. Call in a transaction.
    /// - Parameters:
    ///   - owner: the owner's number here; if they are not a member, their number on the lost server.
    ///   - version: the master version of the manifest.
    public mutating func put(
        back file: ManifestFile, of owner: UserID, in groupID: SharingGroupID, as version: MasterVersion
    ) throws(StoreError) {
        // MariaDB evaluates assignments from left to right, so comparisons precede the assignments to the columns they
        // read.
        try execute(
            """
            INSERT INTO files
                   (sharing_group_id, file_uuid, file_group_uuid, owning_user_id, storage_type, device_uuid, created_at,
                    updated_at, mime_type, app_metadata, app_metadata_version, is_deleted, file_version, check_sum,
                    size_bytes, content_state, changed_at_master_version)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON DUPLICATE KEY UPDATE
                   object_id = IF(\(Self.isSameContent), object_id, NULL),
                   object_revision = IF(\(Self.isSameContent), object_revision, NULL),
                   provider_hash = IF(\(Self.isSameContent), provider_hash, NULL),
                   sha256 = IF(\(Self.isSameContent), sha256, NULL),
                   check_sum = IF(\(Self.isSameContent), check_sum, VALUES(check_sum)),
                   size_bytes = IF(\(Self.isSameContent), size_bytes, VALUES(size_bytes)),
                   changed_at_master_version = IF(\(Self.isSameContent)
                                                  AND is_deleted = VALUES(is_deleted)
                                                  AND app_metadata_version <=> VALUES(app_metadata_version),
                                                  changed_at_master_version, VALUES(changed_at_master_version)),
                   content_state = VALUES(content_state), file_group_uuid = VALUES(file_group_uuid),
                   owning_user_id = VALUES(owning_user_id), storage_type = VALUES(storage_type),
                   created_at = VALUES(created_at), updated_at = VALUES(updated_at), mime_type = VALUES(mime_type),
                   app_metadata = VALUES(app_metadata), app_metadata_version = VALUES(app_metadata_version),
                   is_deleted = VALUES(is_deleted), device_uuid = VALUES(device_uuid),
                   file_version = VALUES(file_version)
            """,
            [
                .int(groupID.rawValue), .text(file.fileUUID.rawValue), .text(orNull: file.fileGroupUUID?.rawValue),
                .int(owner.rawValue), .text(file.owner.storageType.rawValue), .text(file.deviceUUID.rawValue),
                .date(file.createdAt), .date(file.updatedAt), .text(file.mimeType.rawValue),
                .text(orNull: file.appMetaData?.contents),
                .int(orNull: file.appMetaData.map { Int64($0.version.rawValue) }), .bool(file.state == .deleted),
                .int(Int64(file.fileVersion.rawValue)), .text(orNull: file.checkSum?.rawValue),
                .int(orNull: file.sizeBytes), .text(ContentState(file.state).rawValue), .int(version.rawValue),
            ])
        guard file.state == .stored else {
            try execute(
                "DELETE FROM rebuild_files WHERE sharing_group_id = ? AND file_uuid = ?",
                [.int(groupID.rawValue), .text(file.fileUUID.rawValue)])
            return
        }
        try execute(
            """
            REPLACE INTO rebuild_files (sharing_group_id, file_uuid, object_name, check_sum, storage_hash)
            SELECT sharing_group_id, file_uuid, ?, ?, ?
              FROM files
             WHERE sharing_group_id = ?
               AND file_uuid = ?
               AND object_id IS NULL
            """,
            [
                .text(file.cloudName), .bytes(file.checkSumBytes), .text(orNull: file.storageHash),
                .int(groupID.rawValue), .text(file.fileUUID.rawValue),
            ])
    }

    /// Whether a row of `files` and the values that would replace it have the same bytes in storage.
    private static let isSameContent: SQL = """
        file_version = VALUES(file_version) AND device_uuid = VALUES(device_uuid)
        AND owning_user_id = VALUES(owning_user_id) AND content_state = 'stored'
        AND VALUES(content_state) = 'stored' AND NOT VALUES(is_deleted)
        """

    /// Removes the contents of a group's live files whose UUIDs are live in another group: a file belongs to one group,
    /// and the server cannot know which of the two is right.
    /// - Returns: the number of these files.
    public mutating func withholdContentsOfOtherGroups(from groupID: SharingGroupID) throws(StoreError) -> Int {
        let files = try all(
            """
            SELECT r.file_uuid
              FROM rebuild_files r
              JOIN files f ON f.file_uuid = r.file_uuid
                          AND f.sharing_group_id <> r.sharing_group_id
                          AND NOT f.is_deleted
             WHERE r.sharing_group_id = ?
            """, [.int(groupID.rawValue)]
        ) { row throws(StoreError) in try row.string(0) }
        for file in files {
            let values: [Value] = [.int(groupID.rawValue), .text(file)]
            try execute(
                "UPDATE files SET content_state = 'missing' WHERE sharing_group_id = ? AND file_uuid = ?", values)
            try execute("DELETE FROM rebuild_files WHERE sharing_group_id = ? AND file_uuid = ?", values)
        }
        return files.count
    }

    // MARK: The end

    /// Opens a restoring group to changes if every owner of a live file has returned, and every such file has its
    /// object. Call in a transaction that has locked the group.
    /// - Returns: whether it is complete now.
    @discardableResult
    public mutating func completeIfAllHaveCome(
        _ groupID: SharingGroupID, at now: WireDate
    ) throws(StoreError) -> Bool {
        let group: [Value] = [.int(groupID.rawValue)]
        let isWaiting = try first(
            """
            SELECT 1
              FROM files f
              LEFT JOIN rebuild_visits v ON v.user_id = f.owning_user_id
             WHERE f.sharing_group_id = ?
               AND NOT f.is_deleted
               AND f.content_state = 'stored'
               AND (f.object_id IS NULL OR v.state IS NULL OR v.state <> 'read')
             LIMIT 1
            """, group
        ) { _ in true }
        guard isWaiting == nil else { return false }
        return try open(groupID, as: .complete, from: [.restoring], at: now)
    }

    /// Opens a group to changes.
    /// - Parameter states: the states from which it may be opened.
    /// - Returns: whether it was in one of them.
    public mutating func open(
        _ groupID: SharingGroupID, as state: RebuildGroup.State, from states: Set<RebuildGroup.State>, at now: WireDate
    ) throws(StoreError) -> Bool {
        let group: [Value] = [.int(groupID.rawValue)]
        let present = try first(
            "SELECT state FROM rebuild_groups WHERE sharing_group_id = ? FOR UPDATE", group
        ) { row throws(StoreError) in try row.word(0, as: RebuildGroup.State.self) }
        guard let present, states.contains(present) else { return false }
        try execute(
            "UPDATE rebuild_groups SET state = ?, changed_at = ? WHERE sharing_group_id = ?",
            [.text(state.rawValue), .date(now)] + group)
        try execute("UPDATE sharing_groups SET is_restoring = FALSE WHERE sharing_group_id = ?", group)
        changes.groups.insert(groupID)
        return true
    }

    /// The restoring groups in which a user owns live files.
    public mutating func restoringGroups(ofOwner userID: UserID) throws(StoreError) -> [SharingGroupID] {
        try all(
            """
            SELECT r.sharing_group_id
              FROM rebuild_groups r
             WHERE r.state = 'restoring'
               AND EXISTS (SELECT 1 FROM files f
                            WHERE f.sharing_group_id = r.sharing_group_id AND f.owning_user_id = ?
                              AND NOT f.is_deleted)
             ORDER BY r.sharing_group_id
            """, [.int(userID.rawValue)]
        ) { row throws(StoreError) in SharingGroupID(try row.number(0)) }
    }
}

extension ContentState {
    /// Meaningless for a deleted file.
    init(_ state: ManifestFile.State) {
        switch state {
        case .stored, .deleted: self = .stored
        case .awaiting: self = .awaiting
        case .missing: self = .missing
        }
    }
}
