import MariaDB
public import SyncProtocol

/// A confirmed switch that can be undone, and the account that it left.
public struct UndoableSwitch: Equatable, Sendable {
    public var id: AccountSwitchID
    public var userID: UserID
    public var accountType: AccountType
    public var providerUserID: String
    public var cloudFolderName: String?
    public var cloudFolderID: String?
    public var confirmedAt: WireDate
    public var isUndone: Bool
}

extension UndoableSwitch {
    /// The columns of `account_switches` that ``init(_:)`` reads.
    static let columns: ColumnList = [
        "switch_uuid", "user_id", "from_account_type", "from_provider_user_id", "from_cloud_folder_name",
        "from_cloud_folder_id", "confirmed_at", "undone_at",
    ]

    init(_ row: borrowing Row) throws(StoreError) {
        id = try row.identifier("switch_uuid")
        userID = UserID(try row.number("user_id"))
        accountType = try row.word("from_account_type")
        providerUserID = try row.string("from_provider_user_id")
        cloudFolderName = try row.optionalString("from_cloud_folder_name")
        cloudFolderID = try row.optionalString("from_cloud_folder_id")
        confirmedAt = try row.date("confirmed_at")
        isUndone = try row.optionalDate("undone_at") != nil
    }
}

/// The data for an undo that the database does not hold.
public struct SwitchUndo: Equatable, Sendable {
    /// The number of the switch that the undo becomes.
    public var id: AccountSwitchID
    /// Sealed tokens of the account that is active again; `nil` if the person has to sign in first.
    public var credentials: [UInt8]?
    public var hasOfflineAccess: Bool
    /// SHA-256 of the device grant that requests it, which stays valid; `nil` if the operator does.
    public var grant: [UInt8]?
    /// What the server moves of the contents in the account that is left now; `nil` for nothing.
    public var move: RequestedMove?

    public init(
        id: AccountSwitchID, credentials: [UInt8]?, hasOfflineAccess: Bool, grant: [UInt8]?, move: RequestedMove?
    ) {
        self.id = id
        self.credentials = credentials
        self.hasOfflineAccess = hasOfflineAccess
        self.grant = grant
        self.move = move
    }
}

/// The undo of switches: a switch back, after which everything is as before, as far as the database recorded it.
extension StoreSession {
    /// How long the row of an undo counts as proposed, in seconds: its transaction confirms it.
    private static let proposalSeconds: Int64 = 60

    /// The newest switch of a user away from an account that was confirmed after `time`; undos do not count.
    public mutating func undoableSwitch(
        of userID: UserID, awayFrom accountType: AccountType, _ providerUserID: String, since time: WireDate
    ) throws(StoreError) -> UndoableSwitch? {
        try first(
            """
            SELECT \(UndoableSwitch.columns)
              FROM account_switches
             WHERE user_id = ?
               AND from_account_type = ?
               AND from_provider_user_id = ?
               AND confirmed_at > ?
               AND undoes IS NULL
             ORDER BY account_epoch DESC
             LIMIT 1
            """,
            [.int(userID.rawValue), .text(accountType.rawValue), .text(providerUserID), .date(time)],
            UndoableSwitch.init(_:))
    }

    /// A confirmed switch that can be undone; `nil` if none has that number, or if it is an undo itself or was made by
    /// an earlier release.
    public mutating func undoableSwitch(_ id: AccountSwitchID) throws(StoreError) -> UndoableSwitch? {
        try first(
            """
            SELECT \(UndoableSwitch.columns)
              FROM account_switches
             WHERE switch_uuid = ?
               AND confirmed_at IS NOT NULL
               AND from_provider_user_id IS NOT NULL
               AND undoes IS NULL
            """, [.text(id.rawValue)], UndoableSwitch.init(_:))
    }

    /// Whether a grant, revoked or not, may undo a switch: it must belong to the device, and be at least as old as the
    /// grant with which the switch was begun. This gives the holder of the older device the last word.
    public mutating func mayUndo(
        _ id: AccountSwitchID, withGrant hash: [UInt8], of device: DeviceUUID, at now: WireDate
    ) throws(StoreError) -> Bool {
        try first(
            """
            SELECT 1
              FROM device_grants g
              JOIN account_switches s ON s.user_id = g.user_id
             WHERE g.grant_hash = ?
               AND g.device_uuid = ?
               AND g.last_used_at > ?
               AND s.switch_uuid = ?
               AND COALESCE(g.created_at, g.last_used_at) <= COALESCE(s.grant_created_at, s.begun_at)
            """,
            [
                .bytes(hash), .text(device.rawValue),
                .date(WireDate(secondsSince1970: now.secondsSince1970 - Self.grantLifetimeSeconds)),
                .text(id.rawValue),
            ]
        ) { _ in true } ?? false
    }

    /// Undoes a switch, and its user's later ones, by a switch back that is confirmed at once.
    ///
    /// The former account becomes active again; the current one becomes free unless somebody has signed up with it.
    /// Files whose version has not changed since have their bytes again at once; the others wait. Grants younger than
    /// the one with which the switch was begun are revoked; devices that were added since are deleted, with their
    /// registrations for push notifications; open invitations of the user are revoked. Call first in a transaction,
    /// which must be rolled back if this throws; it locks as ``confirmSwitch(_:expecting:moving:at:)`` does.
    /// - Parameter epoch: the user's current epoch.
    /// - Throws: ``SwitchRefusal``, ``StoreError``.
    public mutating func undoSwitch(
        _ undone: UndoableSwitch, expecting epoch: AccountEpoch, by undo: SwitchUndo, at now: WireDate
    ) throws -> AccountSwitch {
        let userID = undone.userID
        let groups = try advanceGroups(withContentsOf: userID)
        guard try lockUser(userID), let user = try user(userID), let current = try undoableSwitch(undone.id) else {
            throw SwitchRefusal.unknown
        }
        guard user.accountEpoch == epoch, !current.isUndone else { throw SwitchRefusal.staleEpoch }
        if current.accountType.cloudStorageType == nil { try giveUpStorage(of: userID, in: groups) }
        try propose(
            undo.id, of: user,
            to: ProposedAccount(
                accountType: current.accountType, providerUserID: current.providerUserID,
                cloudFolderName: current.cloudFolderName, cloudFolderID: current.cloudFolderID,
                credentials: undo.credentials, hasOfflineAccess: undo.hasOfflineAccess),
            with: undo.grant, undoing: undone.id,
            until: WireDate(secondsSince1970: now.secondsSince1970 + Self.proposalSeconds), at: now)
        guard var next = try accountSwitch(undo.id, locked: true, at: now) else { throw SwitchRefusal.unknown }
        try perform(&next, of: user, in: groups, moving: undo.move, undoing: undone.id, at: now)
        if current.accountType.cloudStorageType == nil { try restoreOwners(of: userID, asBefore: undone.id) }
        try removeNewcomers(of: current, keeping: undo.grant, at: now)
        try execute(
            """
            UPDATE account_switches b
              JOIN account_switches s ON s.switch_uuid = ?
               SET b.undone_at = ?
             WHERE b.user_id = s.user_id
               AND b.account_epoch >= s.account_epoch
               AND b.switch_uuid <> ?
               AND b.undone_at IS NULL
            """, [.text(undone.id.rawValue), .date(now), .text(undo.id.rawValue)])
        try execute("DELETE FROM former_contents WHERE switch_uuid = ?", [.text(undone.id.rawValue)])
        return next
    }

    // MARK: Data kept for an undo

    /// Records, for as long as a switch can be undone, where the bytes of a user's files are, and whose storage
    /// receives the user's new files if they have none. Call in the confirmation's transaction, before anything of the
    /// user is changed.
    mutating func keepForUndo(of accountSwitch: AccountSwitch, by user: UserRecord) throws(StoreError) {
        let values: [Value] = [.text(accountSwitch.id.rawValue), .int(user.userID.rawValue)]
        guard user.accountType.cloudStorageType != nil else {
            try execute(
                """
                INSERT INTO former_owners (switch_uuid, sharing_group_id, owning_user_id)
                SELECT ?, sharing_group_id, owning_user_id
                  FROM memberships
                 WHERE user_id = ?
                   AND owning_user_id IS NOT NULL
                """, values)
            return
        }
        try execute(
            """
            INSERT INTO former_contents
                   (switch_uuid, sharing_group_id, file_uuid, file_version, check_sum, size_bytes, object_id,
                    object_revision, provider_hash)
            SELECT ?, sharing_group_id, file_uuid, file_version, check_sum, size_bytes, object_id, object_revision,
                   provider_hash
              FROM files
             WHERE owning_user_id = ?
               AND content_state = 'stored'
               AND NOT is_deleted
            """, values)
    }

    /// Deletes the records kept for an undo of switches that were confirmed before `time`.
    /// - Returns: how many files and groups were deleted, at most `limit` of either.
    public mutating func forgetForUndo(before time: WireDate, limit: Int) throws(StoreError) -> Int {
        let values: [Value] = [.date(time), .int(Int64(limit))]
        let contents = try execute(
            """
            DELETE FROM former_contents
             WHERE switch_uuid IN (SELECT switch_uuid FROM account_switches WHERE confirmed_at < ?)
             LIMIT ?
            """, values)
        let owners = try execute(
            """
            DELETE FROM former_owners
             WHERE switch_uuid IN (SELECT switch_uuid FROM account_switches WHERE confirmed_at < ?)
             LIMIT ?
            """, values)
        return contents + owners
    }

    /// Frees accounts that identities left before `time` and that nobody has signed up with, by deleting their rows.
    /// - Returns: how many were deleted, at most `limit`.
    public mutating func forgetRetiredAccounts(before time: WireDate, limit: Int) throws(StoreError) -> Int {
        try execute(
            "DELETE FROM retired_accounts WHERE NOT has_signed_up AND retired_at < ? ORDER BY retired_at LIMIT ?",
            [.date(time), .int(Int64(limit))])
    }

    // MARK: Data that an undo restores

    /// Assigns to waiting files the objects that they had before a switch, if their version is still the same.
    /// - Returns: how many no longer wait.
    mutating func giveBack(to userID: UserID, asBefore undone: AccountSwitchID) throws(StoreError) -> Int64 {
        Int64(
            try execute(
                """
                UPDATE files f
                  JOIN former_contents c ON c.sharing_group_id = f.sharing_group_id AND c.file_uuid = f.file_uuid
                   SET f.object_id = c.object_id, f.object_revision = c.object_revision,
                       f.provider_hash = c.provider_hash, f.check_sum = c.check_sum, f.size_bytes = c.size_bytes,
                       f.content_state = 'stored'
                 WHERE c.switch_uuid = ?
                   AND c.file_version = f.file_version
                   AND f.owning_user_id = ?
                   AND f.content_state = 'awaiting'
                   AND NOT f.is_deleted
                """, [.text(undone.rawValue), .int(userID.rawValue)]))
    }

    /// Marks the contents of a user whose account is again one without storage: nobody can read or upload them any
    /// more. Their files are not deleted: phones keep their copies.
    private mutating func giveUpStorage(
        of userID: UserID, in groups: [SharingGroupID: MasterVersion]
    ) throws(StoreError) {
        let gone: ColumnValues = [
            "content_state": .text(ContentState.missing.rawValue), "object_id": .null, "object_revision": .null,
            "provider_hash": .null,
        ]
        for (group, version) in groups {
            try execute(
                """
                UPDATE files
                   SET \(assigning: gone.columns), changed_at_master_version = ?
                 WHERE sharing_group_id = ?
                   AND owning_user_id = ?
                   AND NOT is_deleted
                """, gone.values + [.int(version.rawValue), .int(group.rawValue), .int(userID.rawValue)])
        }
        try execute("UPDATE memberships SET owning_user_id = NULL WHERE owning_user_id = ?", [.int(userID.rawValue)])
    }

    /// Restores the owners whose storage received a user's new files before a switch, as far as they still exist.
    private mutating func restoreOwners(of userID: UserID, asBefore undone: AccountSwitchID) throws(StoreError) {
        try execute(
            """
            UPDATE memberships m
              JOIN former_owners f ON f.sharing_group_id = m.sharing_group_id
              JOIN memberships o ON o.sharing_group_id = m.sharing_group_id AND o.user_id = f.owning_user_id
               SET m.owning_user_id = f.owning_user_id
             WHERE f.switch_uuid = ?
               AND m.user_id = ?
            """, [.text(undone.rawValue), .int(userID.rawValue)])
    }

    /// Revokes the grants issued with or after the one that began a switch, and removes the devices added since.
    private mutating func removeNewcomers(
        of undone: UndoableSwitch, keeping grant: [UInt8]?, at now: WireDate
    ) throws(StoreError) {
        let values: [Value] = [.text(undone.id.rawValue), .bytes(orNull: grant)]
        // The grant that requests the undo may have been revoked by the person whose switch is undone.
        try execute("UPDATE device_grants SET revoked_at = NULL WHERE grant_hash = ?", [.bytes(orNull: grant)])
        try execute(
            """
            UPDATE device_grants g
              JOIN account_switches s ON s.user_id = g.user_id
               SET g.revoked_at = ?
             WHERE s.switch_uuid = ?
               AND NOT g.grant_hash <=> ?
               AND g.revoked_at IS NULL
               AND COALESCE(g.created_at, g.last_used_at) >= COALESCE(s.grant_created_at, s.begun_at)
            """, [.date(now)] + values)
        // Devices that belong to the user register again with their next launch.
        try execute(
            """
            DELETE p
              FROM push_registrations p
              JOIN account_switches s ON s.user_id = p.user_id
             WHERE s.switch_uuid = ?
               AND (p.registered_at >= CAST(COALESCE(s.grant_created_at, s.begun_at) AS DATETIME(0))
                    OR EXISTS (SELECT 1
                                 FROM device_grants g
                                WHERE g.user_id = p.user_id AND g.device_uuid = p.device_uuid AND g.revoked_at = ?))
            """, [values[0], .date(now)])
        try execute(
            """
            DELETE d
              FROM devices d
              JOIN account_switches s ON s.user_id = d.user_id
             WHERE s.switch_uuid = ?
               AND NOT EXISTS (SELECT 1 FROM device_grants k WHERE k.grant_hash = ? AND k.device_uuid = d.device_uuid)
               AND (d.registered_at >= CAST(COALESCE(s.grant_created_at, s.begun_at) AS DATETIME(0))
                    OR EXISTS (SELECT 1
                                 FROM device_grants g
                                WHERE g.user_id = d.user_id AND g.device_uuid = d.device_uuid AND g.revoked_at = ?))
            """, values + [.date(now)])
        try execute("DELETE FROM invitations WHERE inviting_user_id = ?", [.int(undone.userID.rawValue)])
    }
}
