import MariaDB
import Store
import SyncProtocol

extension Invariant {
    /// Rules about groups, members, invitations and users.
    static let ofGroups: [Invariant] = [
        Invariant(
            "membershipOfNothing", .error, "A membership names a user or a group that does not exist.",
            brokenBy: """
                SELECT CONCAT('membership ', m.sharing_group_id, '/', m.user_id),
                       IF(u.user_id IS NULL, 'there is no such user', 'there is no such group')
                  FROM memberships m
                  LEFT JOIN users u ON u.user_id = m.user_id
                  LEFT JOIN sharing_groups g ON g.sharing_group_id = m.sharing_group_id
                 WHERE u.user_id IS NULL
                    OR g.sharing_group_id IS NULL
                 LIMIT ?
                """),
        Invariant(
            "memberOfEndedGroup", .error, "A group that has ended still has members.",
            brokenBy: """
                SELECT CONCAT('group ', g.sharing_group_uuid), CONCAT('user ', m.user_id)
                  FROM memberships m
                  JOIN sharing_groups g ON g.sharing_group_id = m.sharing_group_id
                 WHERE g.is_deleted
                 LIMIT ?
                """),
        Invariant(
            "groupWithoutMembers", .error, "A group without members has not ended.",
            brokenBy: """
                SELECT CONCAT('group ', g.sharing_group_uuid), CONCAT('master version ', g.master_version)
                  FROM sharing_groups g
                 WHERE NOT g.is_deleted
                   AND NOT EXISTS (SELECT 1 FROM memberships m WHERE m.sharing_group_id = g.sharing_group_id)
                 LIMIT ?
                """),
        Invariant(
            "groupWithoutAdmin", .error, "A group has no admin.",
            brokenBy: """
                SELECT CONCAT('group ', g.sharing_group_uuid), CONCAT(COUNT(*), ' members')
                  FROM sharing_groups g
                  JOIN memberships m ON m.sharing_group_id = g.sharing_group_id
                 WHERE NOT g.is_deleted
                 GROUP BY g.sharing_group_id, g.sharing_group_uuid
                HAVING SUM(m.permission = 'admin') = 0
                 LIMIT ?
                """,
            repair: Repair(
                "promotes a member to admin, chosen as when an admin leaves"
            ) { session, _ throws(StoreError) in
                try session.promoteAdmins()
            }),
        Invariant(
            "groupReadOnly", .error, "A group can only be read, although no rebuild waits for its owners.",
            brokenBy: """
                SELECT CONCAT('group ', g.sharing_group_uuid), COALESCE(r.state, 'no rebuild')
                  FROM sharing_groups g
                  LEFT JOIN rebuild_groups r ON r.sharing_group_id = g.sharing_group_id
                 WHERE g.is_restoring
                   AND (r.state IS NULL OR r.state NOT IN ('restoring', 'diverged'))
                 LIMIT ?
                """),
        Invariant(
            "memberWithForeignOwner", .warning, "A member's new files would go to a user who is not in the group.",
            brokenBy: """
                SELECT CONCAT('group ', g.sharing_group_uuid), CONCAT('user ', m.user_id, ', owner ', m.owning_user_id)
                  FROM memberships m
                  JOIN sharing_groups g ON g.sharing_group_id = m.sharing_group_id
                 WHERE m.owning_user_id IS NOT NULL
                   AND NOT EXISTS (SELECT 1 FROM memberships o
                                    WHERE o.sharing_group_id = m.sharing_group_id AND o.user_id = m.owning_user_id)
                 LIMIT ?
                """,
            repair: Repair(
                "leaves the member without storage in that group, as when their owner leaves"
            ) { session, _ throws(StoreError) in
                try session.execute(
                    """
                    UPDATE memberships m
                      LEFT JOIN memberships o ON o.sharing_group_id = m.sharing_group_id
                                             AND o.user_id = m.owning_user_id
                       SET m.owning_user_id = NULL
                     WHERE m.owning_user_id IS NOT NULL
                       AND o.user_id IS NULL
                    """, [])
            }),
        Invariant(
            "memberWithOwnerWithoutStorage", .error, "A member's new files would go to a user who has no storage.",
            brokenBy: """
                SELECT CONCAT('group ', g.sharing_group_uuid),
                       CONCAT('user ', m.user_id, ', owner ', m.owning_user_id, ' with ', o.account_type)
                  FROM memberships m
                  JOIN sharing_groups g ON g.sharing_group_id = m.sharing_group_id
                  JOIN users o ON o.user_id = m.owning_user_id
                 WHERE o.account_type NOT IN (\(SQL.owningAccountTypes))
                 LIMIT ?
                """,
            repair: Repair(
                "leaves the member without storage in that group, as when their owner leaves"
            ) { session, _ throws(StoreError) in
                try session.execute(
                    """
                    UPDATE memberships m
                      JOIN users o ON o.user_id = m.owning_user_id
                       SET m.owning_user_id = NULL
                     WHERE o.account_type NOT IN (\(SQL.owningAccountTypes))
                    """, [])
            }),
        Invariant(
            "commitFromTheFuture", .error, "A group records a commit that is newer than its master version.",
            brokenBy: """
                SELECT CONCAT('group ', sharing_group_uuid),
                       CONCAT('last commit ', last_commit_version, ', master version ', master_version)
                  FROM sharing_groups
                 WHERE last_commit_version > master_version
                 LIMIT ?
                """),
        Invariant(
            "invitationToNothing", .warning, "An invitation refers to a group that has ended or does not exist.",
            brokenBy: """
                SELECT CONCAT('an invitation by user ', i.inviting_user_id),
                       IF(g.sharing_group_id IS NULL, 'there is no such group', CONCAT('group ', g.sharing_group_uuid))
                  FROM invitations i
                  LEFT JOIN sharing_groups g ON g.sharing_group_id = i.sharing_group_id
                 WHERE g.sharing_group_id IS NULL
                    OR g.is_deleted
                 LIMIT ?
                """,
            repair: Repair("removes the invitation, with which nobody could join") { session, _ throws(StoreError) in
                try session.execute(
                    """
                    DELETE i
                      FROM invitations i
                      LEFT JOIN sharing_groups g ON g.sharing_group_id = i.sharing_group_id
                     WHERE g.sharing_group_id IS NULL
                        OR g.is_deleted
                    """, [])
            }),
        Invariant(
            "invitationByNobody", .warning,
            "The inviting user, or the owner of the storage for the guest, is not in the group.",
            brokenBy: """
                SELECT CONCAT('an invitation to group ', g.sharing_group_uuid),
                       CONCAT('inviting user ', i.inviting_user_id, ', owner ', i.owning_user_id)
                  FROM invitations i
                  JOIN sharing_groups g ON g.sharing_group_id = i.sharing_group_id
                 WHERE NOT g.is_deleted
                   AND (NOT EXISTS (SELECT 1 FROM memberships m
                                     WHERE m.sharing_group_id = i.sharing_group_id AND m.user_id = i.inviting_user_id)
                        OR NOT EXISTS (SELECT 1 FROM memberships m
                                        WHERE m.sharing_group_id = i.sharing_group_id AND m.user_id = i.owning_user_id))
                 LIMIT ?
                """,
            repair: Repair("removes the invitation, as when an inviter leaves") { session, _ throws(StoreError) in
                try session.execute(
                    """
                    DELETE i
                      FROM invitations i
                      LEFT JOIN memberships a ON a.sharing_group_id = i.sharing_group_id
                                             AND a.user_id = i.inviting_user_id
                      LEFT JOIN memberships o ON o.sharing_group_id = i.sharing_group_id
                                             AND o.user_id = i.owning_user_id
                     WHERE a.user_id IS NULL
                        OR o.user_id IS NULL
                    """, [])
            }),
        Invariant(
            "invitationUsedUp", .warning, "An invitation has no acceptances left but still exists.",
            brokenBy: """
                SELECT CONCAT('an invitation to group ', g.sharing_group_uuid),
                       CONCAT(i.remaining_acceptors, ' acceptors left')
                  FROM invitations i
                  JOIN sharing_groups g ON g.sharing_group_id = i.sharing_group_id
                 WHERE i.remaining_acceptors < 1
                 LIMIT ?
                """,
            repair: Repair("removes the invitation, with which nobody could join") { session, _ throws(StoreError) in
                try session.execute("DELETE FROM invitations WHERE remaining_acceptors < 1", [])
            }),
        Invariant(
            "deviceOfNobody", .error, "A device belongs to a user who does not exist.",
            brokenBy: """
                SELECT CONCAT('device ', d.device_uuid), CONCAT('user ', d.user_id)
                  FROM devices d
                  LEFT JOIN users u ON u.user_id = d.user_id
                 WHERE u.user_id IS NULL
                 LIMIT ?
                """),
        Invariant(
            "pushRegistrationOfNobody", .error, "A device registered for pushes belongs to a user who does not exist.",
            brokenBy: """
                SELECT CONCAT('device ', r.device_uuid), CONCAT('user ', r.user_id)
                  FROM push_registrations r
                  LEFT JOIN users u ON u.user_id = r.user_id
                 WHERE u.user_id IS NULL
                 LIMIT ?
                """),
        Invariant(
            "storageWithoutFolder", .error, "A Google user has no folder name, so no file of theirs can be stored.",
            brokenBy: """
                SELECT CONCAT('user ', user_id), 'Google'
                  FROM users
                 WHERE account_type = 'Google'
                   -- The server learns an absent member's folder when the member returns after a rebuild.
                   AND provider_user_id NOT LIKE 'absent %'
                   AND (cloud_folder_name IS NULL OR cloud_folder_name = '')
                 LIMIT ?
                """),
        Invariant(
            "ownerWithoutTokens", .note, "No tokens are stored for a user with storage: they have to sign in again.",
            brokenBy: """
                SELECT CONCAT('user ', user_id), account_type
                  FROM users
                 WHERE account_type IN (\(SQL.owningAccountTypes))
                   AND credentials IS NULL
                 LIMIT ?
                """),
    ]
}

extension StoreSession {
    /// Promotes a member to admin in each group without one, as when an admin leaves (``Succession``).
    fileprivate mutating func promoteAdmins() throws(StoreError) -> Int {
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
}
