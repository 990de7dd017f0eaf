import MariaDB
public import Store
public import SyncProtocol

/// Begins and ends a rebuild from the manifests in owners' folders, and decides about groups, for the operator
/// (docs/adr/0121-a-server-rebuilt-from-manifests.md).
public struct RebuildControl {
    /// The amount by which the next user number rises, so that newcomers do not get numbers of former users.
    private static let unusedNumbers: Int64 = 1_000_000

    private let store: MetadataStore

    public init(store: MetadataStore) { self.store = store }

    /// The reason why the operator's command cannot be executed.
    public enum Failure: Error, Equatable, CustomStringConvertible {
        case alreadyBegun(since: WireDate)
        case notBegun
        /// The database has groups, and no restoration has been recorded.
        case notMarked
        /// No manifest without a known signature has been found for the group.
        case noClaim(SharingGroupUUID)
        case noSuchGroup(SharingGroupUUID)
        /// The group is not read-only.
        case notRestoring(SharingGroupUUID)
        /// The group has no newer manifest.
        case notDiverged(SharingGroupUUID)
        /// The folders of this many people have not been read.
        case stillReading(Int)
        /// This many groups are missing to which people belong according to manifests.
        case stillAwaited(Int)

        public var description: String {
            switch self {
            case .alreadyBegun(let since): "a rebuild is in progress since \(since.iso8601)"
            case .notBegun: "no rebuild is in progress"
            case .notMarked:
                "the database has groups, and nothing shows that it was restored: to bring a restored database up to "
                    + "date, first run syncctl backup mark-restored TIME"
            case .noClaim(let group): "nobody has brought a manifest of the group \(group) without a known signature"
            case .noSuchGroup(let group): "there is no group \(group) here"
            case .notRestoring(let group): "the group \(group) is not waiting for anything"
            case .notDiverged(let group): "no newer manifest of the group \(group) was found"
            case .stillReading(let count):
                "the folders of \(Quantity.of(count, "person", "people")) have not been read: see syncctl rebuild "
                    + "status, or add --force"
            case .stillAwaited(let count):
                "\(Quantity.of(count, "group")) of which manifests state members did not come back, and the devices of "
                    + "these members would take them for removed: see syncctl rebuild status, or add --force"
            }
        }
    }

    /// Begins a rebuild: of an empty database, or of one that was restored and not changed since.
    /// - Parameters:
    ///   - keys: the public keys whose signatures are trusted, in addition to those in the database.
    ///   - cloudFolderName: the folder of people whose request does not name one.
    ///   - holdsEveryone: whether nobody is served before the end.
    /// - Throws: ``Failure``, ``StoreError``.
    public func begin(
        keys: [[UInt8]], cloudFolderName: String?, holdsEveryone: Bool, at now: WireDate
    ) throws {
        if let mode = try store.withSession({ try $0.rebuildMode() }), mode.isOn {
            throw Failure.alreadyBegun(since: mode.begunAt)
        }
        guard try store.withSession({ try $0.mayBeRebuilt() }) else { throw Failure.notMarked }
        // This precedes the rest, because it ends a transaction; repeating it only skips more numbers. The time ensures
        // that each rebuild begins above the numbers of all earlier ones.
        let next = max(
            now.secondsSince1970,
            (try store.withSession { try $0.nextNumber(of: .users) } ?? 1) + Self.unusedNumbers)
        try store.withSession { try $0.setNextNumber(next, of: .users) }
        try store.transaction { session in
            try session.beginRebuild(
                RebuildMode(
                    begunAt: now, cloudFolderName: cloudFolderName, holdsEveryone: holdsEveryone,
                    firstNewUser: UserID(next)), keys: keys)
        }
    }

    /// Trusts, without a signature, exactly the manifests of a group that ``status()`` has shown.
    /// - Throws: ``Failure``, ``StoreError``.
    public func trust(_ group: SharingGroupUUID, at now: WireDate) throws {
        try store.transaction { session in
            guard try session.rebuildMode()?.isOn == true else { throw Failure.notBegun }
            guard try session.trustClaims(about: group, at: now) > 0 else { throw Failure.noClaim(group) }
        }
    }

    /// Opens a group to changes even if owners are missing. If the group is not back, people are no longer held for it.
    /// - Parameter takesNewest: for a diverged group: whether the newer manifest replaces the changes made here.
    /// - Throws: ``Failure``, ``StoreError``.
    public func finish(_ group: SharingGroupUUID, takesNewest: Bool, at now: WireDate) throws {
        try store.transaction { session in
            guard let present = try session.rebuildGroup(group) else {
                guard try session.giveUp(group) else { throw Failure.noSuchGroup(group) }
                return
            }
            if takesNewest {
                guard present.state == .diverged else { throw Failure.notDiverged(group) }
                return try session.prepareForNewest(present.groupID, at: now)
            }
            guard try session.open(present.groupID, as: .finished, from: [.restoring, .diverged], at: now) else {
                throw Failure.notRestoring(group)
            }
        }
    }

    /// Ends the rebuild: all groups are opened, and unknown people may sign up. Members who return later still get
    /// their places in groups that are back.
    /// - Parameter isForced: whether to end it even if groups are missing, or folders have not been read, whose owners
    ///   then become strangers.
    /// - Throws: ``Failure``, ``StoreError``.
    public func end(isForced: Bool, at now: WireDate) throws {
        try store.transaction { session in
            guard try session.rebuildMode()?.isOn == true else { throw Failure.notBegun }
            let waiting = try session.count("SELECT COUNT(*) FROM rebuild_visits WHERE state = 'waiting'", [])
            guard waiting == 0 || isForced else { throw Failure.stillReading(waiting) }
            let missing = try session.awaitedGroups().count { $0.sharingGroupUUID != nil }
            guard missing == 0 || isForced else { throw Failure.stillAwaited(missing) }
            try session.endRebuild(at: now)
        }
    }

    /// The restored groups, the missing members, and the manifests without a known signature.
    public func status() throws -> RebuildReport {
        try store.snapshot { session in
            RebuildReport(
                mode: try session.rebuildMode(), groups: try session.rebuildStatusOfGroups(),
                awaited: try session.awaitedGroups(), visitors: try session.rebuildVisitors(),
                claims: try session.rebuildClaims(),
                keys: try session.manifestKeys().map { GroupManifest.text(ofPublicKey: $0.key) })
        }
    }
}

extension StoreSession {
    /// Whether the database has no groups, or was restored.
    fileprivate mutating func mayBeRebuilt() throws(StoreError) -> Bool {
        let groups = try count("SELECT COUNT(*) FROM sharing_groups WHERE NOT is_deleted", [])
        if groups == 0 { return true }
        return try count("SELECT COUNT(*) FROM sharing_groups WHERE restore_mark IS NOT NULL", []) > 0
    }

    fileprivate mutating func beginRebuild(_ mode: RebuildMode, keys: [[UInt8]]) throws(StoreError) {
        try execute("DELETE FROM rebuild_visits", [])
        try execute("DELETE FROM rebuild_claims", [])
        try execute("DELETE FROM rebuild_awaited", [])
        try execute(
            """
            REPLACE INTO rebuilds
                    (rebuild_id, begun_at, ended_at, cloud_folder_name, holds_everyone, first_new_user_id)
            VALUES (1, ?, NULL, ?, ?, ?)
            """,
            [
                .date(mode.begunAt), .text(orNull: mode.cloudFolderName), .bool(mode.holdsEveryone),
                .int(mode.firstNewUser.rawValue),
            ])
        for key in keys {
            try execute(
                "INSERT IGNORE INTO manifest_keys (public_key, first_used_at) VALUES (?, ?)",
                [.bytes(key), .date(mode.begunAt)])
        }
        // Groups from a backup may be older than their manifests, as long as nobody has changed them since.
        try execute(
            """
            INSERT INTO rebuild_groups (sharing_group_id, state, left_at_version, changed_at)
            SELECT g.sharing_group_id, 'restoring', g.master_version, ?
              FROM sharing_groups g
             WHERE g.restore_mark IS NOT NULL
               AND g.master_version = g.restored_master_version
               AND NOT g.is_deleted
               AND EXISTS (SELECT 1 FROM files f WHERE f.sharing_group_id = g.sharing_group_id AND NOT f.is_deleted)
                ON DUPLICATE KEY UPDATE
                   state = 'restoring', left_at_version = VALUES(left_at_version), changed_at = VALUES(changed_at),
                   manifest_master_version = NULL, manifest_restore_mark = NULL, manifest_written_at = NULL
            """, [.date(mode.begunAt)])
        try execute(
            """
            UPDATE sharing_groups g
              JOIN rebuild_groups r ON r.sharing_group_id = g.sharing_group_id
               SET g.is_restoring = TRUE
             WHERE r.state = 'restoring'
            """, [])
    }

    /// - Returns: the number of manifests that are trusted from now on.
    fileprivate mutating func trustClaims(
        about group: SharingGroupUUID, at now: WireDate
    ) throws(StoreError) -> Int {
        let owners = try all(
            """
            SELECT DISTINCT c.user_id, u.account_type
              FROM rebuild_claims c
              JOIN users u ON u.user_id = c.user_id
             WHERE c.sharing_group_uuid = ?
            """, [.text(group.rawValue)]
        ) { row throws(StoreError) in
            (UserID(try row.number(0)), try row.word(1, as: AccountType.self))
        }
        try execute("UPDATE rebuild_claims SET is_trusted = TRUE WHERE sharing_group_uuid = ?", [.text(group.rawValue)])
        for (userID, type) in owners {
            guard let storage = type.cloudStorageType else { continue }
            try scheduleManifestReading(OwningUser(userID: userID, storageType: storage), at: now)
        }
        return owners.count
    }

    /// Lets the newest manifest of a group replace the changes made here, and schedules another reading of its members'
    /// folders.
    fileprivate mutating func prepareForNewest(_ groupID: SharingGroupID, at now: WireDate) throws(StoreError) {
        let group: [Value] = [.int(groupID.rawValue)]
        try execute(
            """
            UPDATE rebuild_groups r
              JOIN sharing_groups g ON g.sharing_group_id = r.sharing_group_id
               SET r.state = 'restoring', r.left_at_version = g.master_version, r.changed_at = ?
             WHERE r.sharing_group_id = ?
            """, [.date(now)] + group)
        let owners = try all(
            """
            SELECT u.user_id, u.account_type
              FROM memberships m
              JOIN rebuild_visits v ON v.user_id = m.user_id
              JOIN users u ON u.user_id = m.user_id
             WHERE m.sharing_group_id = ?
            """, group
        ) { row throws(StoreError) in
            (UserID(try row.number(0)), try row.word(1, as: AccountType.self))
        }
        for (userID, type) in owners {
            guard let storage = type.cloudStorageType else { continue }
            try scheduleManifestReading(OwningUser(userID: userID, storageType: storage), at: now)
        }
    }

    /// Ends the wait for a group that is not here.
    /// - Returns: whether anybody was held for it.
    fileprivate mutating func giveUp(_ group: SharingGroupUUID) throws(StoreError) -> Bool {
        try execute("DELETE FROM rebuild_awaited WHERE sharing_group_uuid = ?", [.text(group.rawValue)]) > 0
    }

    fileprivate mutating func endRebuild(at now: WireDate) throws(StoreError) {
        try execute("UPDATE rebuilds SET ended_at = ?", [.date(now)])
        try execute("DELETE FROM rebuild_awaited", [])
        let groups = try all(
            """
            SELECT g.sharing_group_id
              FROM rebuild_groups r
              JOIN sharing_groups g ON g.sharing_group_id = r.sharing_group_id
             WHERE r.state IN ('restoring', 'diverged')
             ORDER BY g.sharing_group_id
               FOR UPDATE
            """, []
        ) { row throws(StoreError) in SharingGroupID(try row.number(0)) }
        for groupID in groups { _ = try open(groupID, as: .finished, from: [.restoring, .diverged], at: now) }
        try execute(
            """
            DELETE FROM outbox
             WHERE kind = 'readManifests'
               AND user_id IN (SELECT v.user_id FROM rebuild_visits v WHERE v.is_provisional)
            """, [])
        try execute(
            "DELETE FROM users WHERE user_id IN (SELECT v.user_id FROM rebuild_visits v WHERE v.is_provisional)", [])
        try execute(
            """
            UPDATE rebuild_visits
               SET state = 'stranger', user_id = NULL, is_provisional = FALSE
             WHERE is_provisional
            """, [])
    }
}
