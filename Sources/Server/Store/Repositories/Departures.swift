internal import MariaDB
public import SyncProtocol

extension StoreSession {
    /// Removes a user and everything that belongs to them, from all their groups; each group's master version rises by
    /// one.
    ///
    /// Committed files in the user's own storage stay: they belong to the user. The outbox deletes uncommitted objects
    /// there; if necessary, it keeps the tokens for a short while (``departedUser(_:)``), and then informs the provider
    /// that they are no longer needed. All its other work for the user is dropped. Objects that the user staged into
    /// the storage of others are deleted there. Call first in a transaction: it locks the groups in the order of their
    /// UUIDs, then the user.
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
        try execute("DELETE FROM users WHERE user_id = ?", user)
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
