internal import MariaDB
public import SyncProtocol

// Repairs that lose nothing that anyone could still use. Each does what the server itself does when a member leaves, an
// invitation ends or an account is removed; all conditions are checked again here, under locks.
extension GroupInvariant {
    /// Whether ``StoreSession/repair(_:at:)`` can repair it without losing anything.
    public var isRepairable: Bool {
        switch self {
        case .groupWithoutAdmin, .memberWithForeignOwner, .memberWithOwnerWithoutStorage, .invitationToNothing,
            .invitationByNobody, .invitationUsedUp:
            true
        case .membershipOfNothing, .memberOfEndedGroup, .groupWithoutMembers, .commitFromTheFuture, .deviceOfNobody,
            .pushRegistrationOfNobody, .storageWithoutFolder, .ownerWithoutTokens:
            false
        }
    }
}

extension FileInvariant {
    /// Whether ``StoreSession/repair(_:at:)`` can repair it without losing anything.
    public var isRepairable: Bool { self == .liveFileInEndedGroup || self == .liveFileWithoutOwner }
}

extension WorkInvariant {
    /// Whether ``StoreSession/repair(_:at:)`` can repair it without losing anything.
    public var isRepairable: Bool {
        switch self {
        case .stagedInNoGroup, .stagedByNonMember, .batchOfNobody, .commitOfNobody, .contentHashOfNobody,
            .workOfNobody:
            true
        case .stagedUploadIncomplete, .batchMemberWithoutBatch, .workIncomplete, .workInOtherStorage, .workStuck,
            .workFarOff:
            false
        }
    }
}

extension StoreSession {
    /// Repairs violations of a rule about groups; call in a transaction of its own.
    /// - Returns: how many rows were changed.
    public mutating func repair(_ invariant: GroupInvariant, at now: WireDate) throws(StoreError) -> Int {
        switch invariant {
        case .groupWithoutAdmin: return try promoteAdmins()
        case .memberWithForeignOwner:
            return try execute(
                """
                UPDATE memberships m
                  LEFT JOIN memberships o ON o.sharing_group_id = m.sharing_group_id AND o.user_id = m.owning_user_id
                   SET m.owning_user_id = NULL
                 WHERE m.owning_user_id IS NOT NULL
                   AND o.user_id IS NULL
                """, [])
        case .memberWithOwnerWithoutStorage:
            return try execute(
                """
                UPDATE memberships m
                  JOIN users o ON o.user_id = m.owning_user_id
                   SET m.owning_user_id = NULL
                 WHERE o.account_type NOT IN ('Google', 'Dropbox', 'Microsoft')
                """, [])
        case .invitationToNothing:
            return try execute(
                """
                DELETE i
                  FROM invitations i
                  LEFT JOIN sharing_groups g ON g.sharing_group_id = i.sharing_group_id
                 WHERE g.sharing_group_id IS NULL
                    OR g.is_deleted
                """, [])
        case .invitationByNobody:
            return try execute(
                """
                DELETE i
                  FROM invitations i
                  LEFT JOIN memberships a ON a.sharing_group_id = i.sharing_group_id AND a.user_id = i.inviting_user_id
                  LEFT JOIN memberships o ON o.sharing_group_id = i.sharing_group_id AND o.user_id = i.owning_user_id
                 WHERE a.user_id IS NULL
                    OR o.user_id IS NULL
                """, [])
        case .invitationUsedUp:
            return try execute("DELETE FROM invitations WHERE remaining_acceptors < 1", [])
        case .membershipOfNothing, .memberOfEndedGroup, .groupWithoutMembers, .commitFromTheFuture, .deviceOfNobody,
            .pushRegistrationOfNobody, .storageWithoutFolder, .ownerWithoutTokens:
            return 0
        }
    }

    /// Makes a member admin of each group that has none, as when an admin leaves (``Succession``).
    private mutating func promoteAdmins() throws(StoreError) -> Int {
        let groups = try all(
            """
            SELECT g.sharing_group_id
              FROM sharing_groups g
              JOIN memberships m ON m.sharing_group_id = g.sharing_group_id
             WHERE NOT g.is_deleted
             GROUP BY g.sharing_group_id, g.sharing_group_uuid
            HAVING SUM(m.permission = 'admin') = 0
             ORDER BY g.sharing_group_uuid
            """, []
        ) { row throws(StoreError) in SharingGroupID(try row.number(0)) }
        var promoted = 0
        for group in groups {
            do { _ = try lockMasterVersionExclusive(of: group) } catch .notFound { continue }
            guard case .promotion(let successor) = Succession.among(try members(of: group)) else { continue }
            try setPermission(.admin, of: successor, in: group)
            promoted += 1
        }
        return promoted
    }

    /// Repairs violations of a rule about files; call in a transaction of its own.
    /// - Returns: how many groups or files were changed.
    public mutating func repair(_ invariant: FileInvariant, at now: WireDate) throws(StoreError) -> Int {
        switch invariant {
        case .liveFileInEndedGroup:
            return try execute(
                """
                UPDATE files f
                  JOIN sharing_groups g ON g.sharing_group_id = f.sharing_group_id
                   SET \(assigning: FileRecord.deletion.columns, of: "f"),
                       f.changed_at_master_version = g.master_version
                 WHERE g.is_deleted
                   AND NOT f.is_deleted
                """, FileRecord.deletion.values)
        case .liveFileWithoutOwner: return try markOwnerlessFilesDeleted(at: now)
        case .fileOfNoGroup, .fileInOtherStorage, .deletedFileWithObject, .changeFromTheFuture, .fileLiveTwice,
            .objectOfTwoFiles, .impossibleVersion, .metaDataIncomplete, .checkSumOfOtherStorage, .contentUnknown,
            .unusableIdentifier:
            return 0
        }
    }

    /// Marks files of absent owners deleted for phones, as when an owner leaves.
    private mutating func markOwnerlessFilesDeleted(at now: WireDate) throws(StoreError) -> Int {
        let found = try all(
            """
            SELECT DISTINCT f.sharing_group_id, f.owning_user_id, g.sharing_group_uuid
              FROM files f
              JOIN sharing_groups g ON g.sharing_group_id = f.sharing_group_id
              LEFT JOIN memberships m ON m.sharing_group_id = f.sharing_group_id AND m.user_id = f.owning_user_id
             WHERE NOT f.is_deleted
               AND NOT g.is_deleted
               AND m.user_id IS NULL
             ORDER BY g.sharing_group_uuid
            """, []
        ) { row throws(StoreError) in (group: SharingGroupID(try row.number(0)), owner: UserID(try row.number(1))) }
        for (group, owner) in found {
            let version: MasterVersion
            do { version = try lockMasterVersionExclusive(of: group) } catch .notFound { continue }
            guard try !isMember(owner, of: group),
                case .advanced(let next) = try advanceMasterVersion(of: group, from: version)
            else { continue }
            try withdrawStagedChangesOfFiles(ownedBy: owner, in: group, at: now)
            try markFilesDeleted(ownedBy: owner, in: group, as: next)
        }
        return found.count
    }

    /// Repairs violations of a rule about pending work; call in a transaction of its own.
    /// - Returns: how many rows were changed.
    public mutating func repair(_ invariant: WorkInvariant, at now: WireDate) throws(StoreError) -> Int {
        switch invariant {
        case .stagedInNoGroup:
            let groups = try all(
                """
                SELECT DISTINCT s.sharing_group_id
                  FROM staged_changes s
                  LEFT JOIN sharing_groups g ON g.sharing_group_id = s.sharing_group_id
                 WHERE g.sharing_group_id IS NULL
                    OR g.is_deleted
                """, []
            ) { row throws(StoreError) in SharingGroupID(try row.number(0)) }
            for group in groups { try withdrawStaged(in: group, at: now) }
            return groups.count
        case .stagedByNonMember:
            let found = try all(
                """
                SELECT DISTINCT s.sharing_group_id, s.user_id
                  FROM staged_changes s
                  JOIN sharing_groups g ON g.sharing_group_id = s.sharing_group_id
                 WHERE NOT g.is_deleted
                   AND NOT EXISTS (SELECT 1 FROM memberships m
                                    WHERE m.sharing_group_id = s.sharing_group_id AND m.user_id = s.user_id)
                """, []
            ) { row throws(StoreError) in (group: SharingGroupID(try row.number(0)), user: UserID(try row.number(1))) }
            for (group, user) in found {
                do { _ = try lockMasterVersionExclusive(of: group) } catch .notFound { continue }
                if try !isMember(user, of: group) { try withdrawStaged(by: user, in: group, at: now) }
            }
            return found.count
        case .batchOfNobody:
            return try execute(
                """
                DELETE FROM batches
                 WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.user_id = batches.user_id)
                    OR NOT EXISTS (SELECT 1 FROM sharing_groups g
                                    WHERE g.sharing_group_id = batches.sharing_group_id)
                """, [])
        case .commitOfNobody:
            let commits = try execute(
                """
                DELETE FROM commits
                 WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.user_id = commits.user_id)
                    OR NOT EXISTS (SELECT 1 FROM sharing_groups g
                                    WHERE g.sharing_group_id = commits.sharing_group_id)
                """, [])
            return try commits
                + execute(
                    """
                    DELETE FROM commit_members
                     WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.user_id = commit_members.user_id)
                        OR NOT EXISTS (SELECT 1 FROM sharing_groups g
                                        WHERE g.sharing_group_id = commit_members.sharing_group_id)
                    """, [])
        case .contentHashOfNobody:
            return try execute(
                """
                DELETE FROM content_hashes
                 WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.user_id = content_hashes.user_id)
                """, [])
        case .workOfNobody:
            return try execute(
                """
                DELETE FROM outbox
                 WHERE kind NOT IN ('removePushTopic', 'revokeGrant')
                   AND NOT EXISTS (SELECT 1 FROM users u WHERE u.user_id = outbox.user_id)
                   AND NOT EXISTS (SELECT 1 FROM departed_users d WHERE d.user_id = outbox.user_id)
                """, [])
        case .stagedUploadIncomplete, .batchMemberWithoutBatch, .workIncomplete, .workInOtherStorage, .workStuck,
            .workFarOff:
            return 0
        }
    }
}
