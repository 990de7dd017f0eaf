import MariaDB
public import SyncProtocol

/// Why a proposed switch cannot be confirmed.
public enum SwitchRefusal: Error, Equatable, Sendable {
    /// The proposal does not exist.
    case unknown
    /// Another switch was confirmed first.
    case staleEpoch
    /// The account now belongs to another identity.
    case accountInUse
    /// The new account has no storage, but the identity now owns files or hosts others.
    case owningAccountRequired
    /// The grant of the new account is being revoked, because its user was removed; a retry may succeed.
    case revocationUnderWay
}

extension StoreSession {
    /// Makes the account of a proposal the active one of its identity; returns a confirmed switch unchanged.
    ///
    /// The files of the user keep their versions and wait for their bytes; changes staged by the user are withdrawn,
    /// and those that others staged into the user's storage lose their contents. Nothing is deleted in the former
    /// account's storage from now on: pending work there is dropped. If the user returns to an account that still holds
    /// bytes of files not yet moved, those files have them at once. Call first in a transaction, which must be rolled
    /// back if this throws: it locks the groups with files of the user in the order of their UUIDs, then the user, then
    /// the switch.
    /// - Parameter moving: `nil` if the server must not move contents: moves in progress end as well.
    /// - Throws: ``SwitchRefusal``, ``StoreError``.
    public mutating func confirmSwitch(
        _ id: AccountSwitchID, expecting epoch: AccountEpoch, moving: RequestedMove? = nil, at now: WireDate
    ) throws -> AccountSwitch {
        guard let proposed = try accountSwitch(id, at: now) else { throw SwitchRefusal.unknown }
        guard proposed.state == .proposed else { return proposed }
        let userID = proposed.userID
        let groups = try advanceGroups(withContentsOf: userID)
        guard try lockUser(userID), let user = try user(userID),
            var confirmed = try accountSwitch(id, locked: true, at: now)
        else { throw SwitchRefusal.unknown }
        // A repeated request was faster: do not advance the groups again.
        guard confirmed.state == .proposed else {
            throw StoreError.contention(.contention(code: 0, message: "the switch was confirmed meanwhile"))
        }
        guard user.accountEpoch == epoch else { throw SwitchRefusal.staleEpoch }
        guard try confirmed.toAccountType.cloudStorageType != nil || !needsStorage(userID) else {
            throw SwitchRefusal.owningAccountRequired
        }
        try perform(&confirmed, of: user, in: groups, moving: moving, at: now)
        return confirmed
    }

    /// Performs a proposal in a transaction that has locked the groups, the user and the proposal.
    /// - Parameter undone: the switch that it undoes.
    mutating func perform(
        _ next: inout AccountSwitch, of user: UserRecord, in groups: [SharingGroupID: MasterVersion],
        moving: RequestedMove?, undoing undone: AccountSwitchID? = nil, at now: WireDate
    ) throws {
        let userID = user.userID
        try withdrawStaged(by: userID, at: now)
        try removeResumableUploads(of: userID, at: now)
        try execute("DELETE FROM batches WHERE user_id = ?", [.int(userID.rawValue)])
        try forgetStagedContents(ownedBy: userID)
        try forgetStorage(of: userID)
        if let former = moving?.former { try beginMove(by: next, of: user, with: former, at: now) }
        if undone == nil { try keepForUndo(of: next, by: user) }
        let flushed = try awaitContents(of: userID, in: groups, storedAt: next.toAccountType.cloudStorageType)
        var waiting = flushed - (try giveBack(to: userID, by: next))
        if let undone { waiting -= try giveBack(to: userID, asBefore: undone) }
        if moving == nil || waiting == 0 {
            try endMoves(of: userID, at: now)
        } else {
            try endMoves(outOf: next, at: now)
        }
        try replaceAccount(of: user, by: next, at: now)
        next.state = waiting == 0 ? .finished : .reuploading
        next.accountEpoch = AccountEpoch(user.accountEpoch.rawValue + 1)
        next.filesTotal = waiting
        next.confirmedAt = now
        try record(next, leaving: user, at: now)
    }

    /// Whether a user owns living files or has others' files in their storage.
    public mutating func needsStorage(_ userID: UserID) throws(StoreError) -> Bool {
        if try ownedContents(of: userID).files > 0 { return true }
        return try !hostedUsers(of: userID, limit: 1).isEmpty
    }

    /// Locks the groups that have contents in a user's storage, and raises their master versions.
    mutating func advanceGroups(
        withContentsOf userID: UserID
    ) throws(StoreError) -> [SharingGroupID: MasterVersion] {
        let found = try all(
            """
            SELECT g.sharing_group_id
              FROM sharing_groups g
              JOIN (SELECT sharing_group_id FROM files WHERE owning_user_id = ? AND NOT is_deleted
                     UNION
                    SELECT sharing_group_id FROM staged_changes WHERE owning_user_id = ?) theirs
                ON theirs.sharing_group_id = g.sharing_group_id
             WHERE NOT g.is_deleted
             ORDER BY g.sharing_group_uuid
            """, [.int(userID.rawValue), .int(userID.rawValue)]
        ) { row throws(StoreError) in SharingGroupID(try row.number(0)) }
        var versions: [SharingGroupID: MasterVersion] = [:]
        for group in found {
            let version: MasterVersion
            do { version = try lockMasterVersionExclusive(of: group) } catch .notFound { continue }
            guard case .advanced(let next) = try advanceMasterVersion(of: group, from: version) else {
                throw .corrupt(table: "sharing_groups", column: "master_version")
            }
            versions[group] = next
        }
        return versions
    }

    /// Removes the contents from changes that others have staged into a user's storage.
    ///
    /// The rows are kept: a commit that silently omitted them would make the phone believe that the group has the
    /// files. Their commit is rejected until the phone has uploaded them again, into the new storage.
    private mutating func forgetStagedContents(ownedBy userID: UserID) throws(StoreError) {
        let nothing = ColumnValues.nulls(StoredContent.columns)
        try execute(
            "UPDATE staged_changes SET \(assigning: nothing.columns) WHERE owning_user_id = ?",
            nothing.values + [.int(userID.rawValue)])
    }

    /// Drops pending work in a user's storage and the records of objects there; uploads in progress lose their intents,
    /// so that none of them is staged.
    private mutating func forgetStorage(of userID: UserID) throws(StoreError) {
        let user: [Value] = [.int(userID.rawValue)]
        try execute("DELETE FROM outbox WHERE user_id = ? AND storage_type IS NOT NULL", user)
        try execute("DELETE FROM index_pages WHERE user_id = ?", user)
        try execute("DELETE FROM manifests WHERE owning_user_id = ?", user)
        try execute("DELETE FROM content_hashes WHERE user_id = ?", user)
    }

    /// Marks the living files of a user as waiting for their bytes.
    /// - Returns: how many there are.
    private mutating func awaitContents(
        of userID: UserID, in groups: [SharingGroupID: MasterVersion], storedAt storage: CloudStorageType?
    ) throws(StoreError) -> Int64 {
        var waiting = 0
        if let storage {
            let waits: ColumnValues = [
                "content_state": .text(ContentState.awaiting.rawValue), "storage_type": .text(storage.rawValue),
                "object_id": .null, "object_revision": .null, "provider_hash": .null,
            ]
            for (group, version) in groups {
                waiting += try execute(
                    """
                    UPDATE files
                       SET \(assigning: waits.columns), changed_at_master_version = ?
                     WHERE sharing_group_id = ?
                       AND owning_user_id = ?
                       AND NOT is_deleted
                    """, waits.values + [.int(version.rawValue), .int(group.rawValue), .int(userID.rawValue)])
            }
        }
        // A group that had no file of the user when the groups were read has a new commit: start over.
        let isAnyLeft = try first(
            """
            SELECT 1
              FROM files
             WHERE owning_user_id = ?
               AND content_state = 'stored'
               AND NOT is_deleted
             LIMIT 1
            """, [.int(userID.rawValue)]
        ) { _ in true }
        guard isAnyLeft == nil else {
            throw .contention(.contention(code: 0, message: "a file was committed meanwhile"))
        }
        return Int64(waiting)
    }

    /// Retires the account of a user, and assigns them the proposed one.
    private mutating func replaceAccount(
        of user: UserRecord, by next: AccountSwitch, at now: WireDate
    ) throws {
        let userID: [Value] = [.int(user.userID.rawValue)]
        let hasSignedUp = try retireAccount(of: user, for: next, at: now)
        do {
            try execute(
                """
                UPDATE users u
                  JOIN account_switches s ON s.user_id = u.user_id
                   SET u.account_type = s.to_account_type, u.provider_user_id = s.to_provider_user_id,
                       u.credentials = s.credentials, u.credentials_version = u.credentials_version + 1,
                       u.former_credentials = NULL, u.consent_withdrawn_at = NULL,
                       u.has_refresh_token = s.has_refresh_token, u.cloud_folder_name = s.cloud_folder_name,
                       u.cloud_folder_id = s.cloud_folder_id, u.account_epoch = u.account_epoch + 1,
                       u.has_signed_up = ?
                 WHERE s.switch_uuid = ?
                """, [.bool(hasSignedUp), .text(next.id.rawValue)])
        } catch StoreError.alreadyExists {
            throw SwitchRefusal.accountInUse
        }
        changes.endedStreams.insert(user.userID)
        // Checked afterwards: another identity that has just left this account has freed the row.
        if case .retired = try binding(ofRetired: next) { throw SwitchRefusal.accountInUse }
        if next.toAccountType.cloudStorageType == nil {
            try execute("DELETE FROM invitations WHERE owning_user_id = ?", userID)
        } else {
            try execute("UPDATE memberships SET owning_user_id = NULL WHERE user_id = ?", userID)
        }
        try takeOverClearing(of: next.toAccountType, next.toProviderUserID, by: user.userID)
        guard try cancelRevocations(of: next.toAccountType, next.toProviderUserID, isGrantKept: false) else {
            throw SwitchRefusal.revocationUnderWay
        }
    }

    /// Retires the account that a user leaves, if somebody has signed up with it, or if the switch leads on to a
    /// further account. On a switch back, the accounts in between that nobody has signed up with become free: their
    /// holder is a stranger to this identity, or can switch to them again.
    /// - Returns: whether somebody has signed up with the account that replaces it.
    private mutating func retireAccount(
        of user: UserRecord, for next: AccountSwitch, at now: WireDate
    ) throws(StoreError) -> Bool {
        let target: [Value] = [.text(next.toAccountType.rawValue), .text(next.toProviderUserID)]
        let userID: [Value] = [.int(user.userID.rawValue)]
        let former = try first(
            """
            SELECT has_signed_up, retired_at
              FROM retired_accounts
             WHERE account_type = ?
               AND provider_user_id = ?
               AND user_id = ?
            """, target + userID
        ) { row throws(StoreError) in (hasSignedUp: try row.flag("has_signed_up"), time: try row.date("retired_at")) }
        let undone = try first(
            """
            SELECT b.from_has_signed_up, b.confirmed_at
              FROM account_switches a
              JOIN account_switches b ON b.switch_uuid = a.undoes
             WHERE a.switch_uuid = ?
            """, [.text(next.id.rawValue)]
        ) { row throws(StoreError) in
            (hasSignedUp: try row.flag("from_has_signed_up"), time: try row.date("confirmed_at"))
        }
        let earlier = former ?? undone
        try execute(
            """
            INSERT INTO retired_accounts
                   (account_type, provider_user_id, user_id, cloud_folder_name, retired_at, has_signed_up)
            SELECT account_type, provider_user_id, user_id, cloud_folder_name, ?, has_signed_up
              FROM users
             WHERE user_id = ?
            """, [.date(now)] + userID)
        guard let earlier else { return false }
        try execute(
            "DELETE FROM retired_accounts WHERE account_type = ? AND provider_user_id = ? AND user_id = ?",
            target + userID)
        try execute(
            "DELETE FROM retired_accounts WHERE user_id = ? AND NOT has_signed_up AND retired_at >= ?",
            userID + [.date(earlier.time)])
        return earlier.hasSignedUp
    }

    private mutating func binding(ofRetired next: AccountSwitch) throws(StoreError) -> AccountBinding {
        let retired = try first(
            "SELECT user_id FROM retired_accounts WHERE account_type = ? AND provider_user_id = ?",
            [.text(next.toAccountType.rawValue), .text(next.toProviderUserID)]
        ) { row throws(StoreError) in UserID(try row.number(0)) }
        return retired.map { .retired($0) } ?? .free
    }

    /// Records that a switch is confirmed; earlier ones are over.
    /// - Parameter user: the user before the switch, with the former account.
    private mutating func record(
        _ confirmed: AccountSwitch, leaving user: UserRecord, at now: WireDate
    ) throws(StoreError) {
        try execute(
            """
            UPDATE account_switches
               SET state = 'finished', finished_at = ?
             WHERE user_id = ?
               AND state = 'reuploading'
            """, [.date(now), .int(confirmed.userID.rawValue)])
        try execute(
            """
            UPDATE account_switches
               SET state = ?, account_epoch = ?, files_total = ?, confirmed_at = ?,
                   finished_at = IF(? = 'finished', ?, NULL),
                   from_account_type = ?, from_provider_user_id = ?, from_cloud_folder_name = ?,
                   from_cloud_folder_id = ?,
                   from_has_signed_up = COALESCE((SELECT MAX(has_signed_up)
                                                    FROM retired_accounts
                                                   WHERE account_type = ? AND provider_user_id = ?), FALSE),
                   credentials = NULL, has_refresh_token = NULL, cloud_folder_name = NULL, cloud_folder_id = NULL
             WHERE switch_uuid = ?
            """,
            [
                .text(confirmed.state.rawValue), .int(orNull: confirmed.accountEpoch?.rawValue),
                .int(orNull: confirmed.filesTotal), .date(now), .text(confirmed.state.rawValue), .date(now),
                .text(user.accountType.rawValue), .text(user.providerUserID), .text(orNull: user.cloudFolderName),
                .text(orNull: user.cloudFolderID), .text(user.accountType.rawValue), .text(user.providerUserID),
                .text(confirmed.id.rawValue),
            ])
    }
}

/// The end of an account switch.
extension StoreSession {
    /// Ends a switch whose files were being uploaded again: gives up the contents that are still missing, and raises
    /// the master version of every group with files of the user once, so that all devices read the index again; the
    /// server stops moving files. Leaves a switch that has already ended unchanged.
    ///
    /// Call first in a transaction: it locks the groups in the order of their UUIDs, then the user.
    /// - Returns: `false` if the user has no such confirmed switch.
    public mutating func finishSwitch(
        _ id: AccountSwitchID, of userID: UserID, _ missing: MissingFiles,
        movesEndAs moveState: AccountMove.State = .ended, at now: WireDate
    ) throws(StoreError) -> Bool {
        guard let known = try accountSwitch(id, at: now), known.userID == userID, known.state != .proposed else {
            return false
        }
        guard known.state == .reuploading else { return true }
        for group in try groupsWithFiles(of: userID) {
            let version: MasterVersion
            do { version = try lockMasterVersionExclusive(of: group) } catch .notFound { continue }
            guard case .advanced(let next) = try advanceMasterVersion(of: group, from: version) else {
                throw .corrupt(table: "sharing_groups", column: "master_version")
            }
            try execute(
                """
                UPDATE files
                   SET changed_at_master_version = ?
                 WHERE sharing_group_id = ?
                   AND owning_user_id = ?
                   AND NOT is_deleted
                """, [.int(next.rawValue), .int(group.rawValue), .int(userID.rawValue)])
            try giveUp(missing, ofFilesOf: userID, in: group)
        }
        guard try lockUser(userID), let current = try accountSwitch(id, locked: true, at: now) else { return false }
        // A repeated request was faster: do not advance its groups again.
        guard current.state == .reuploading else {
            throw .contention(.contention(code: 0, message: "the switch was finished meanwhile"))
        }
        try endMoves(of: userID, as: moveState, at: now)
        try execute(
            "UPDATE account_switches SET state = 'finished', finished_at = ? WHERE switch_uuid = ?",
            [.date(now), .text(id.rawValue)])
        return true
    }

    private mutating func groupsWithFiles(of userID: UserID) throws(StoreError) -> [SharingGroupID] {
        try all(
            """
            SELECT g.sharing_group_id
              FROM sharing_groups g
              JOIN (SELECT DISTINCT sharing_group_id FROM files WHERE owning_user_id = ? AND NOT is_deleted) theirs
                ON theirs.sharing_group_id = g.sharing_group_id
             WHERE NOT g.is_deleted
             ORDER BY g.sharing_group_uuid
            """, [.int(userID.rawValue)]
        ) { row throws(StoreError) in SharingGroupID(try row.number(0)) }
    }

    private mutating func giveUp(
        _ missing: MissingFiles, ofFilesOf userID: UserID, in group: SharingGroupID
    ) throws(StoreError) {
        let given: ColumnValues =
            switch missing {
            case .keepGone: ["content_state": .text(ContentState.missing.rawValue)]
            case .markDeleted: FileRecord.deletion
            }
        try execute(
            """
            UPDATE files
               SET \(assigning: given.columns)
             WHERE sharing_group_id = ?
               AND owning_user_id = ?
               AND content_state = 'awaiting'
               AND NOT is_deleted
            """, given.values + [.int(group.rawValue), .int(userID.rawValue)])
    }
}
