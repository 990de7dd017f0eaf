import MariaDB
public import SyncProtocol

/// The manifest of a group that is in the folder of an owner.
public struct ManifestRecord: Equatable, Sendable {
    public var groupID: SharingGroupID
    public var owner: OwningUser
    /// The group's master version in the manifest; −1 if it has to be rewritten although that version is current.
    public var masterVersion: MasterVersion
    /// The sequence in the manifest's name.
    public var sequence: Int64
    public var objectID: String
    /// The manifest before it, which is kept.
    public var previousObjectID: String?
    public var sizeBytes: Int64
    public var writtenAt: WireDate

    public init(
        groupID: SharingGroupID, owner: OwningUser, masterVersion: MasterVersion, sequence: Int64, objectID: String,
        previousObjectID: String?, sizeBytes: Int64, writtenAt: WireDate
    ) {
        self.groupID = groupID
        self.owner = owner
        self.masterVersion = masterVersion
        self.sequence = sequence
        self.objectID = objectID
        self.previousObjectID = previousObjectID
        self.sizeBytes = sizeBytes
        self.writtenAt = writtenAt
    }

    /// Whether it has to be rewritten: members have joined or left other groups, or a repair has requested it.
    public var isOutdated: Bool { masterVersion.rawValue < 0 }

    static let columns: ColumnList = [
        "sharing_group_id", "owning_user_id", "storage_type", "master_version", "sequence", "object_id",
        "previous_object_id", "size_bytes", "written_at",
    ]

    init(_ row: borrowing Row) throws(StoreError) {
        groupID = SharingGroupID(try row.number("sharing_group_id"))
        owner = try OwningUser(row)
        masterVersion = MasterVersion(try row.number("master_version"))
        sequence = try row.number("sequence")
        objectID = try row.string("object_id")
        previousObjectID = try row.optionalString("previous_object_id")
        sizeBytes = try row.number("size_bytes")
        writtenAt = try row.date("written_at")
    }

    var columnValues: ColumnValues {
        [
            "sharing_group_id": .int(groupID.rawValue), "owning_user_id": .int(owner.userID.rawValue),
            "storage_type": .text(owner.storageType.rawValue), "master_version": .int(masterVersion.rawValue),
            "sequence": .int(sequence), "object_id": .text(objectID),
            "previous_object_id": .text(orNull: previousObjectID), "size_bytes": .int(sizeBytes),
            "written_at": .date(writtenAt),
        ]
    }
}

// MARK: Scheduling

extension StoreSession {
    /// Groups whose master version is not the one for which manifests were last scheduled, at most `limit`: they have
    /// changed, with their files, members or permissions, or they have never been scanned. Does not return groups that
    /// are being restored: the manifests from which they are restored contain more.
    ///
    /// Reads all groups, by their primary keys.
    public mutating func groupsWithoutManifests(limit: Int) throws(StoreError) -> [SharingGroupID] {
        try all(
            """
            SELECT g.sharing_group_id
              FROM sharing_groups g
              LEFT JOIN manifest_scans s ON s.sharing_group_id = g.sharing_group_id
             WHERE NOT g.is_restoring
               AND (s.master_version IS NULL OR s.master_version <> g.master_version)
             ORDER BY g.sharing_group_id
             LIMIT ?
            """, [.int(Int64(limit))]
        ) { row throws(StoreError) in SharingGroupID(try row.number(0)) }
    }

    /// Schedules a manifest for every owner of live files in a group unless one is already scheduled, and the deletion
    /// of the manifests of everybody else. Call in a transaction.
    /// - Parameter interval: the time in seconds from a manifest to the next one in the same folder.
    public mutating func scheduleManifests(
        of groupID: SharingGroupID, interval: Int, at now: WireDate
    ) throws(StoreError) {
        let group = Value.int(groupID.rawValue)
        // Of several processes that found the group, one schedules.
        try execute(
            "INSERT IGNORE INTO manifest_scans (sharing_group_id, master_version, scanned_at) VALUES (?, -1, ?)",
            [group, .date(now)])
        let scanned = try first(
            "SELECT master_version FROM manifest_scans WHERE sharing_group_id = ? FOR UPDATE", [group]
        ) { row throws(StoreError) in try row.number(0) as Int64 }
        let version = try first(
            "SELECT master_version FROM sharing_groups WHERE sharing_group_id = ?", [group]
        ) { row throws(StoreError) in try row.number(0) as Int64 }
        guard let version, version != scanned else { return }
        try execute(
            """
            INSERT INTO outbox (kind, user_id, storage_type, sharing_group_id, available_at, created_at, request_id)
            SELECT 'writeManifest', u.user_id, CAST(u.account_type AS CHAR), ?,
                   GREATEST(?, IFNULL(m.written_at + INTERVAL ? SECOND, ?)), ?, ?
              FROM (SELECT DISTINCT owning_user_id
                      FROM files
                     WHERE sharing_group_id = ?
                       AND NOT is_deleted) owners
              JOIN users u ON u.user_id = owners.owning_user_id
              LEFT JOIN manifests m ON m.sharing_group_id = ?
                                   AND m.owning_user_id = u.user_id
             WHERE u.account_type IN (\(SQL.owningAccountTypes))
               AND NOT EXISTS (SELECT 1 FROM outbox o
                                WHERE o.user_id = u.user_id AND o.object_id IS NULL AND o.sharing_group_id = ?
                                  AND o.kind = 'writeManifest' AND o.lease_owner IS NULL)
            """,
            [group, .date(now), .int(Int64(interval)), .date(now), .date(now), requestValue, group, group, group])
        let ended = try all(
            """
            SELECT \(ManifestRecord.columns, of: "m")
              FROM manifests m
             WHERE m.sharing_group_id = ?
               AND NOT EXISTS (SELECT 1 FROM files f
                                WHERE f.sharing_group_id = m.sharing_group_id
                                  AND f.owning_user_id = m.owning_user_id AND NOT f.is_deleted)
               FOR UPDATE
            """, [group]
        ) { row throws(StoreError) in try ManifestRecord(row.columns(of: "m")) }
        for manifest in ended { try remove(manifest, at: now) }
        try refreshManifests(ofMembersSince: groupID)
        try execute(
            """
            UPDATE manifest_scans
               SET master_version = ?, scanned_at = ?
             WHERE sharing_group_id = ?
            """, [.int(version), .date(now), group])
    }

    /// Schedules a rewrite of the manifests that list the other groups of people who have joined or left this group
    /// since its last scan; a group without files counts as one without members.
    private mutating func refreshManifests(ofMembersSince groupID: SharingGroupID) throws(StoreError) {
        let group = Value.int(groupID.rawValue)
        let present = try all(
            """
            SELECT m.user_id
              FROM memberships m
              JOIN sharing_groups g ON g.sharing_group_id = m.sharing_group_id
             WHERE m.sharing_group_id = ?
               AND NOT g.is_deleted
               AND EXISTS (SELECT 1 FROM files f WHERE f.sharing_group_id = m.sharing_group_id AND NOT f.is_deleted)
            """, [group]
        ) { row throws(StoreError) in try row.number(0) as Int64 }
        let stated = try all(
            "SELECT user_id FROM manifest_members WHERE sharing_group_id = ?", [group]
        ) { row throws(StoreError) in try row.number(0) as Int64 }
        for userID in Set(stated).subtracting(present).sorted() {
            try execute(
                "DELETE FROM manifest_members WHERE sharing_group_id = ? AND user_id = ?", [group, .int(userID)])
        }
        for userID in Set(present).subtracting(stated).sorted() {
            try execute(
                "INSERT IGNORE INTO manifest_members (sharing_group_id, user_id) VALUES (?, ?)", [group, .int(userID)])
        }
        for userID in Set(present).symmetricDifference(stated).sorted() {
            // Not a version of any group, so the manifests are out of date.
            try execute(
                """
                UPDATE memberships m
                  JOIN manifest_scans s ON s.sharing_group_id = m.sharing_group_id
                  LEFT JOIN manifests a ON a.sharing_group_id = m.sharing_group_id
                   SET s.master_version = -1, a.master_version = -1
                 WHERE m.user_id = ?
                   AND m.sharing_group_id <> ?
                """, [.int(userID), group])
        }
    }

    /// Deletes the record of a manifest, and schedules the deletion of its objects.
    public mutating func remove(_ manifest: ManifestRecord, at now: WireDate) throws(StoreError) {
        for objectID in [manifest.objectID, manifest.previousObjectID].compactMap(\.self) {
            try addDeletion(of: objectID, in: manifest.owner, availableAt: now, at: now)
        }
        try execute(
            "DELETE FROM manifests WHERE sharing_group_id = ? AND owning_user_id = ?",
            [.int(manifest.groupID.rawValue), .int(manifest.owner.userID.rawValue)])
    }

    /// Does the same for all manifests of a user who is being removed. Call before the user's row is deleted.
    mutating func removeManifests(of userID: UserID, at now: WireDate) throws(StoreError) {
        for manifest in try manifests(of: userID) { try remove(manifest, at: now) }
    }

    /// All manifests in an owner's folder.
    public mutating func manifests(of userID: UserID) throws(StoreError) -> [ManifestRecord] {
        try all(
            "SELECT \(ManifestRecord.columns) FROM manifests WHERE owning_user_id = ? ORDER BY sharing_group_id",
            [.int(userID.rawValue)], ManifestRecord.init(_:))
    }

    /// The users whose folders contain manifests.
    public mutating func ownersWithManifests() throws(StoreError) -> [UserID] {
        try all("SELECT DISTINCT owning_user_id FROM manifests ORDER BY owning_user_id", []) { row throws(StoreError) in
            UserID(try row.number(0))
        }
    }

    /// A group for which an owner of live files has no manifest of the current state.
    public struct NeglectedManifest: Sendable {
        public var userID: UserID
        public var groupID: SharingGroupID
        public var groupUUID: SharingGroupUUID
    }

    /// The groups for which owners of live files have no manifest of the current state, although the last scan has
    /// handled that state, and no write is scheduled: manifests were off in the meantime, or the group is too large.
    ///
    /// Reads all files.
    public mutating func neglectedManifests() throws(StoreError) -> [NeglectedManifest] {
        try all(
            """
            SELECT owners.owning_user_id, g.sharing_group_id, g.sharing_group_uuid
              FROM sharing_groups g
              JOIN manifest_scans s ON s.sharing_group_id = g.sharing_group_id
                                   AND s.master_version = g.master_version
              JOIN (SELECT DISTINCT sharing_group_id, owning_user_id
                      FROM files
                     WHERE NOT is_deleted) owners ON owners.sharing_group_id = g.sharing_group_id
              JOIN users u ON u.user_id = owners.owning_user_id
              LEFT JOIN manifests m ON m.sharing_group_id = g.sharing_group_id
                                   AND m.owning_user_id = u.user_id
             WHERE NOT g.is_deleted
               AND NOT g.is_restoring
               AND u.account_type IN (\(SQL.owningAccountTypes))
               AND (m.master_version IS NULL OR m.master_version <> g.master_version)
               AND NOT EXISTS (SELECT 1 FROM outbox o
                                WHERE o.user_id = u.user_id AND o.sharing_group_id = g.sharing_group_id
                                  AND o.kind = 'writeManifest')
             ORDER BY owners.owning_user_id, g.sharing_group_id
            """, []
        ) { row throws(StoreError) in
            NeglectedManifest(
                userID: UserID(try row.number("owning_user_id")),
                groupID: SharingGroupID(try row.number("sharing_group_id")),
                groupUUID: try row.identifier("sharing_group_uuid"))
        }
    }

    /// Makes the next scan schedule manifests of a group again. Call in a transaction.
    public mutating func rescanManifests(of groupID: SharingGroupID) throws(StoreError) {
        try execute("DELETE FROM manifest_scans WHERE sharing_group_id = ?", [.int(groupID.rawValue)])
    }

    /// Schedules a rewrite of a manifest, although the group has not changed. Call in a transaction.
    /// - Parameter isUnusable: whether its object is missing or damaged. If so, the object is deleted, and the intact
    ///   previous manifest is kept until two others have been written.
    /// - Returns: `false`, with nothing changed, if the record is not `manifest` any more.
    public mutating func renew(
        _ manifest: ManifestRecord, isUnusable: Bool, at now: WireDate
    ) throws(StoreError) -> Bool {
        try rescanManifests(of: manifest.groupID)
        guard try self.manifest(of: manifest.groupID, in: manifest.owner.userID, locked: true) == manifest else {
            return false
        }
        var known = manifest
        // Not a version of the group, so the manifest is out of date.
        known.masterVersion = MasterVersion(-1)
        if isUnusable, let previous = manifest.previousObjectID {
            try addDeletion(of: manifest.objectID, in: manifest.owner, availableAt: now, at: now)
            (known.objectID, known.previousObjectID) = (previous, nil)
        }
        let values = known.columnValues
        try execute("REPLACE INTO manifests (\(values.columns)) VALUES (\(valuesOf: values.columns))", values.values)
        return true
    }

    // MARK: Writing

    /// The manifest of a group in an owner's folder.
    /// - Parameter locked: whether the row stays locked until the end of the transaction.
    public mutating func manifest(
        of groupID: SharingGroupID, in userID: UserID, locked: Bool = false
    ) throws(StoreError) -> ManifestRecord? {
        let values: [Value] = [.int(groupID.rawValue), .int(userID.rawValue)]
        if locked {
            return try first(
                """
                SELECT \(ManifestRecord.columns)
                  FROM manifests
                 WHERE sharing_group_id = ?
                   AND owning_user_id = ?
                   FOR UPDATE
                """, values, ManifestRecord.init(_:))
        }
        return try first(
            """
            SELECT \(ManifestRecord.columns)
              FROM manifests
             WHERE sharing_group_id = ?
               AND owning_user_id = ?
            """, values, ManifestRecord.init(_:))
    }

    /// Replaces the record of a manifest, and schedules the deletion of the object before the previous one. Call in a
    /// transaction.
    /// - Parameters:
    ///   - former: the record that was current when the new manifest was made.
    ///   - publicKey: the key of its signature, which is published from now on.
    /// - Returns: `false`, with nothing changed, if another process has written one meanwhile.
    public mutating func replace(
        _ former: ManifestRecord?, by manifest: ManifestRecord, signedWith publicKey: [UInt8], at now: WireDate
    ) throws(StoreError) -> Bool {
        guard try self.manifest(of: manifest.groupID, in: manifest.owner.userID, locked: true) == former else {
            return false
        }
        if let surplus = former?.previousObjectID {
            try addDeletion(of: surplus, in: manifest.owner, availableAt: now, at: now)
        }
        try execute(
            "INSERT IGNORE INTO manifest_keys (public_key, first_used_at) VALUES (?, ?)",
            [.bytes(publicKey), .date(now)])
        let values = manifest.columnValues
        try execute("REPLACE INTO manifests (\(values.columns)) VALUES (\(valuesOf: values.columns))", values.values)
        return true
    }

    /// The public keys with which manifests have been signed, the latest first.
    public mutating func manifestKeys() throws(StoreError) -> [(key: [UInt8], firstUsedAt: WireDate)] {
        try all(
            "SELECT public_key, first_used_at FROM manifest_keys ORDER BY first_used_at DESC, public_key", []
        ) { row throws(StoreError) in
            (key: try row.optionalData("public_key") ?? [], firstUsedAt: try row.date("first_used_at"))
        }
    }
}
