public import MariaDB

/// Rules about groups, members, invitations and users.
public enum GroupInvariant: String, Invariant {
    case membershipOfNothing
    case memberOfEndedGroup
    case groupWithoutMembers
    case groupWithoutAdmin
    case memberWithForeignOwner
    case memberWithOwnerWithoutStorage
    case commitFromTheFuture
    case invitationToNothing
    case invitationByNobody
    case invitationUsedUp
    case deviceOfNobody
    case pushRegistrationOfNobody
    case storageWithoutFolder
    case ownerWithoutTokens

    public var query: SQL {
        switch self {
        case .membershipOfNothing:
            """
            SELECT CONCAT('membership ', m.sharing_group_id, '/', m.user_id),
                   IF(u.user_id IS NULL, 'there is no such user', 'there is no such group')
              FROM memberships m
              LEFT JOIN users u ON u.user_id = m.user_id
              LEFT JOIN sharing_groups g ON g.sharing_group_id = m.sharing_group_id
             WHERE u.user_id IS NULL
                OR g.sharing_group_id IS NULL
             LIMIT ?
            """
        case .memberOfEndedGroup:
            """
            SELECT CONCAT('group ', g.sharing_group_uuid), CONCAT('user ', m.user_id)
              FROM memberships m
              JOIN sharing_groups g ON g.sharing_group_id = m.sharing_group_id
             WHERE g.is_deleted
             LIMIT ?
            """
        case .groupWithoutMembers:
            """
            SELECT CONCAT('group ', g.sharing_group_uuid), CONCAT('master version ', g.master_version)
              FROM sharing_groups g
             WHERE NOT g.is_deleted
               AND NOT EXISTS (SELECT 1 FROM memberships m WHERE m.sharing_group_id = g.sharing_group_id)
             LIMIT ?
            """
        case .groupWithoutAdmin:
            """
            SELECT CONCAT('group ', g.sharing_group_uuid), CONCAT(COUNT(*), ' members')
              FROM sharing_groups g
              JOIN memberships m ON m.sharing_group_id = g.sharing_group_id
             WHERE NOT g.is_deleted
             GROUP BY g.sharing_group_id, g.sharing_group_uuid
            HAVING SUM(m.permission = 'admin') = 0
             LIMIT ?
            """
        case .memberWithForeignOwner:
            """
            SELECT CONCAT('group ', g.sharing_group_uuid), CONCAT('user ', m.user_id, ', owner ', m.owning_user_id)
              FROM memberships m
              JOIN sharing_groups g ON g.sharing_group_id = m.sharing_group_id
             WHERE m.owning_user_id IS NOT NULL
               AND NOT EXISTS (SELECT 1 FROM memberships o
                                WHERE o.sharing_group_id = m.sharing_group_id AND o.user_id = m.owning_user_id)
             LIMIT ?
            """
        case .memberWithOwnerWithoutStorage:
            """
            SELECT CONCAT('group ', g.sharing_group_uuid),
                   CONCAT('user ', m.user_id, ', owner ', m.owning_user_id, ' with ', o.account_type)
              FROM memberships m
              JOIN sharing_groups g ON g.sharing_group_id = m.sharing_group_id
              JOIN users o ON o.user_id = m.owning_user_id
             WHERE o.account_type NOT IN ('Google', 'Dropbox', 'Microsoft')
             LIMIT ?
            """
        case .commitFromTheFuture:
            """
            SELECT CONCAT('group ', sharing_group_uuid),
                   CONCAT('last commit ', last_commit_version, ', master version ', master_version)
              FROM sharing_groups
             WHERE last_commit_version > master_version
             LIMIT ?
            """
        case .invitationToNothing:
            """
            SELECT CONCAT('an invitation by user ', i.inviting_user_id),
                   IF(g.sharing_group_id IS NULL, 'there is no such group', CONCAT('group ', g.sharing_group_uuid))
              FROM invitations i
              LEFT JOIN sharing_groups g ON g.sharing_group_id = i.sharing_group_id
             WHERE g.sharing_group_id IS NULL
                OR g.is_deleted
             LIMIT ?
            """
        case .invitationByNobody:
            """
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
            """
        case .invitationUsedUp:
            """
            SELECT CONCAT('an invitation to group ', g.sharing_group_uuid),
                   CONCAT(i.remaining_acceptors, ' acceptors left')
              FROM invitations i
              JOIN sharing_groups g ON g.sharing_group_id = i.sharing_group_id
             WHERE i.remaining_acceptors < 1
             LIMIT ?
            """
        case .deviceOfNobody:
            """
            SELECT CONCAT('device ', d.device_uuid), CONCAT('user ', d.user_id)
              FROM devices d
              LEFT JOIN users u ON u.user_id = d.user_id
             WHERE u.user_id IS NULL
             LIMIT ?
            """
        case .pushRegistrationOfNobody:
            """
            SELECT CONCAT('device ', r.device_uuid), CONCAT('user ', r.user_id)
              FROM push_registrations r
              LEFT JOIN users u ON u.user_id = r.user_id
             WHERE u.user_id IS NULL
             LIMIT ?
            """
        case .storageWithoutFolder:
            """
            SELECT CONCAT('user ', user_id), 'Google'
              FROM users
             WHERE account_type = 'Google'
               AND (cloud_folder_name IS NULL OR cloud_folder_name = '')
             LIMIT ?
            """
        case .ownerWithoutTokens:
            """
            SELECT CONCAT('user ', user_id), account_type
              FROM users
             WHERE account_type IN ('Google', 'Dropbox', 'Microsoft')
               AND credentials IS NULL
             LIMIT ?
            """
        }
    }
}
