import MariaDB
public import SyncProtocol

extension StoreSession {
    /// Removes a user and everything that belongs to them, from all their groups; each group's master version rises by
    /// one.
    ///
    /// Committed files in the user's own storage are left there: they belong to the user. The outbox deletes
    /// uncommitted objects there; if necessary, it keeps the tokens for a short while (``departedUser(_:)``), and then
    /// informs the provider that they are no longer needed. All its other work for the user is dropped. Objects that
    /// the user staged into the storage of others are deleted there. Call first in a transaction: it locks the groups
    /// in the order of their UUIDs, then the user.
    /// - Returns: `false` if no such user exists; then nothing was changed.
    public mutating func removeUser(_ userID: UserID, at now: WireDate) throws(StoreError) -> Bool {
        for groupID in try groupsConcerning(userID) {
            let version: MasterVersion
            do { version = try lockMasterVersionExclusive(of: groupID) } catch .notFound { continue }
            // Checked again now that nobody else can change it: a duplicate request may have been faster.
            let isMember = try isMember(userID, of: groupID)
            let isOwner = try hasLiveFiles(ownedBy: userID, in: groupID)
            guard isMember || isOwner else { continue }
            guard case .advanced(let next) = try advanceMasterVersion(of: groupID, from: version) else {
                throw .corrupt(table: "sharing_groups", column: "master_version")
            }
            if isMember {
                try removeMember(userID, from: groupID, as: next, at: now)
            } else {
                try withdrawStagedContents(ownedBy: userID, in: groupID, at: now)
                try markFilesDeleted(ownedBy: userID, in: groupID, as: next)
            }
        }
        guard try lockUser(userID) else { return false }
        // A group that the user has joined or created since the list was read is not locked: start over.
        guard try groupsConcerning(userID).isEmpty else {
            throw .contention(.contention(code: 0, message: "the user joined a group meanwhile"))
        }
        let user: [Value] = [.int(userID.rawValue)]
        try withdrawStaged(by: userID, at: now)
        try execute("UPDATE memberships SET owning_user_id = NULL WHERE owning_user_id = ?", user)
        try execute("DELETE FROM invitations WHERE owning_user_id = ?", user)
        try removeIndexPages(of: userID, at: now)
        try removeManifests(of: userID, at: now)
        try endUploads(ofRemoved: userID, at: now)
        try keepAccessForClearing(of: userID, at: now)
        try addRevocation(of: userID, at: now)
        try spendCodes(of: userID)
        try execute("DELETE FROM batches WHERE user_id = ?", user)
        try execute("DELETE FROM commit_members WHERE user_id = ?", user)
        try execute("DELETE FROM commits WHERE user_id = ?", user)
        try execute("DELETE FROM content_hashes WHERE user_id = ?", user)
        try removePushRegistrations(of: userID, at: now)
        try execute("DELETE FROM device_grants WHERE user_id = ?", user)
        try execute("DELETE FROM account_moves WHERE user_id = ?", user)
        try execute("DELETE FROM account_switches WHERE user_id = ?", user)
        try execute("DELETE FROM retired_accounts WHERE user_id = ?", user)
        try execute("DELETE FROM devices WHERE user_id = ?", user)
        try execute("DELETE FROM manifest_members WHERE user_id = ?", user)
        try execute("DELETE FROM rebuild_awaited WHERE user_id = ?", user)
        try execute("DELETE FROM rebuild_claims WHERE user_id = ?", user)
        try execute("DELETE FROM rebuild_members WHERE user_id = ?", user)
        try execute("DELETE FROM rebuild_visits WHERE user_id = ?", user)
        try execute("DELETE FROM users WHERE user_id = ?", user)
        changes.endedStreams.insert(userID)
        return true
    }

    /// The groups that a user belongs to or owns live files in, in the order of their UUIDs.
    private mutating func groupsConcerning(_ userID: UserID) throws(StoreError) -> [SharingGroupID] {
        try all(
            """
            SELECT g.sharing_group_id
              FROM sharing_groups g
              JOIN (SELECT sharing_group_id FROM memberships WHERE user_id = ?
                     UNION
                    SELECT sharing_group_id FROM files WHERE owning_user_id = ? AND NOT is_deleted) theirs
                ON theirs.sharing_group_id = g.sharing_group_id
             WHERE NOT g.is_deleted
             ORDER BY g.sharing_group_uuid
            """,
            [.int(userID.rawValue), .int(userID.rawValue)]
        ) { row throws(StoreError) in SharingGroupID(try row.number(0)) }
    }

    private mutating func hasLiveFiles(
        ownedBy userID: UserID, in groupID: SharingGroupID
    ) throws(StoreError) -> Bool {
        try first(
            """
            SELECT 1
              FROM files
             WHERE owning_user_id = ?
               AND sharing_group_id = ?
               AND NOT is_deleted
             LIMIT 1
            """, [.int(userID.rawValue), .int(groupID.rawValue)]
        ) { _ in true } ?? false
    }

    /// Locks a user against changes and removal until the end of the transaction.
    ///
    /// A transaction that also locks a group must lock the group first.
    /// - Returns: whether the user exists.
    public mutating func lockUser(_ userID: UserID) throws(StoreError) -> Bool {
        try first("SELECT 1 FROM users WHERE user_id = ? FOR UPDATE", [.int(userID.rawValue)]) { _ in true } ?? false
    }

    /// Locks a user against removal until the end of the transaction; others may hold the same lock.
    ///
    /// A transaction that also locks a group must lock the group first.
    /// - Returns: whether the user exists.
    public mutating func holdUser(_ userID: UserID) throws(StoreError) -> Bool {
        try first("SELECT 1 FROM users WHERE user_id = ? LOCK IN SHARE MODE", [.int(userID.rawValue)]) { _ in true }
            ?? false
    }
}

// Users who were removed while their storage contained our objects, never committed or no longer needed. The outbox
// deletes these objects with the tokens that are kept here until it has finished, for at most ``accessSeconds``.
extension StoreSession {
    /// For how many seconds after a removal the outbox may use the tokens.
    static let accessSeconds: Int64 = 3_600

    /// Keeps access to a user's storage if it contains something to clear; drops all other outbox work for them. Call
    /// before the user's row is deleted.
    mutating func keepAccessForClearing(of userID: UserID, at now: WireDate) throws(StoreError) {
        let user: [Value] = [.int(userID.rawValue)]
        try execute("DELETE FROM outbox WHERE user_id = ? AND kind <> 'deleteObject'", user)
        let isKept = try execute(
            """
            INSERT INTO departed_users
                   (\(UserRecord.keptColumns), credentials, forgotten_at)
            SELECT \(UserRecord.keptColumns), credentials, ?
              FROM users u
             WHERE user_id = ?
               AND credentials IS NOT NULL
               AND EXISTS (SELECT 1 FROM outbox o WHERE o.user_id = u.user_id)
            """,
            [.date(WireDate(secondsSince1970: now.secondsSince1970 + Self.accessSeconds))] + user)
        guard isKept == 1 else {
            _ = try execute("DELETE FROM outbox WHERE user_id = ?", user)
            return
        }
        // Work that was postponed, perhaps for a day, is attempted one last time now.
        try execute("UPDATE outbox SET available_at = ? WHERE user_id = ? AND lease_owner IS NULL", [.date(now)] + user)
    }

    /// A removed user whose storage is still to be cleared, with the sealed tokens.
    public mutating func departedUser(
        _ userID: UserID
    ) throws(StoreError) -> (user: UserRecord, credentials: [UInt8])? {
        try first(
            """
            SELECT \(UserRecord.keptColumns), '' AS display_name, 0 AS account_epoch, credentials
              FROM departed_users
             WHERE user_id = ?
            """, [.int(userID.rawValue)]
        ) { row throws(StoreError) in
            (user: try UserRecord(row), credentials: try row.optionalData("credentials") ?? [])
        }
    }

    /// The sealed tokens of a removed user, locked until the transaction ends; `nil` if they are no longer needed.
    public mutating func lockCredentials(ofDeparted userID: UserID) throws(StoreError) -> [UInt8]? {
        try first(
            "SELECT credentials FROM departed_users WHERE user_id = ? FOR UPDATE", [.int(userID.rawValue)]
        ) { row throws(StoreError) in try row.optionalData("credentials") } ?? nil
    }

    /// Replaces the sealed tokens of a removed user with renewed ones, as long as they are needed.
    public mutating func storeCredentials(_ record: [UInt8], ofDeparted userID: UserID) throws(StoreError) {
        try execute(
            "UPDATE departed_users SET credentials = ? WHERE user_id = ?", [.bytes(record), .int(userID.rawValue)])
    }

    /// Deletes the record of a removed user for whom the outbox has nothing left to do.
    public mutating func forgetDepartedUser(_ userID: UserID) throws(StoreError) {
        try execute(
            """
            DELETE FROM departed_users
             WHERE user_id = ?
               AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.user_id = departed_users.user_id AND o.storage_type IS NOT NULL)
            """, [.int(userID.rawValue)])
    }

    /// Deletes the records of removed users whose time has expired, and the unfinished outbox work for them.
    /// - Returns: how many users were deleted, at most `limit`.
    public mutating func forgetDepartedUsers(at now: WireDate, limit: Int) throws(StoreError) -> Int {
        let users = try all(
            """
            SELECT user_id
              FROM departed_users
             WHERE forgotten_at <= ?
             ORDER BY forgotten_at
             LIMIT ?
               FOR UPDATE SKIP LOCKED
            """, [.date(now), .int(Int64(limit))]
        ) { row throws(StoreError) in try row.number(0) }
        for user in users {
            try execute("DELETE FROM outbox WHERE user_id = ? AND storage_type IS NOT NULL", [.int(user)])
            try execute("DELETE FROM departed_users WHERE user_id = ?", [.int(user)])
        }
        return users.count
    }

    /// Transfers the remaining clearing for a removed user to the user who signs up with the same account: from now on
    /// the objects are theirs, and are protected if new files refer to them.
    mutating func takeOverClearing(
        of accountType: AccountType, _ providerUserID: String, by userID: UserID
    ) throws(StoreError) {
        let account: [Value] = [.text(accountType.rawValue), .text(providerUserID)]
        try execute(
            """
            UPDATE outbox o
              JOIN departed_users d ON d.user_id = o.user_id
               SET o.user_id = ?
             WHERE d.account_type = ?
               AND d.provider_user_id = ?
               AND o.kind = 'deleteObject'
            """, [.int(userID.rawValue)] + account)
        try execute("DELETE FROM departed_users WHERE account_type = ? AND provider_user_id = ?", account)
    }
}

// MARK: Apple's notices

extension StoreSession {
    /// Records that one of Apple's notices has been handled; call in the transaction that handles it, after its locks.
    /// - Returns: `false` if it was handled before and must not be handled again.
    public mutating func noteAppleNotice(_ identifierHash: [UInt8], at now: WireDate) throws(StoreError) -> Bool {
        try execute(
            "INSERT IGNORE INTO apple_notices (identifier_hash, handled_at) VALUES (?, ?)",
            [.bytes(identifierHash), .date(now)]) == 1
    }

    /// Deletes notices that were handled before `time`, at most `limit` of them.
    /// - Returns: how many were deleted.
    public mutating func forgetAppleNotices(before time: WireDate, limit: Int) throws(StoreError) -> Int {
        try execute(
            "DELETE FROM apple_notices WHERE handled_at < ? ORDER BY handled_at LIMIT ?",
            [.date(time), .int(Int64(limit))])
    }
}
