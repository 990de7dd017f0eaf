import MariaDB
import Store
import SyncProtocol

extension Invariant {
    /// Rules about account switches.
    static let ofSwitches: [Invariant] = [
        Invariant(
            "accountActiveAndRetired", .error,
            "A retired account of one user belongs to a user again: its owner gets contradictory replies.",
            brokenBy: """
                SELECT CONCAT('user ', u.user_id),
                       CONCAT(u.account_type, ' account, retired by user ', r.user_id)
                  FROM retired_accounts r
                  JOIN users u ON u.account_type = r.account_type AND u.provider_user_id = r.provider_user_id
                 LIMIT ?
                """),
        Invariant(
            "switchedTwice", .error, "Several switches of one user are proposed, or in progress.",
            brokenBy: """
                SELECT CONCAT('user ', user_id), CONCAT(COUNT(*), ' switches ', state)
                  FROM account_switches
                 WHERE state <> 'finished'
                 GROUP BY user_id, state
                HAVING COUNT(*) > 1
                 LIMIT ?
                """),
        Invariant(
            "waitingWithObject", .error,
            "A file without contents, awaited or abandoned, still refers to an object.",
            brokenBy: """
                SELECT CONCAT('file ', file_uuid),
                       CONCAT(content_state, ', object ', object_id, ' of user ', owning_user_id)
                  FROM files
                 WHERE NOT is_deleted
                   AND content_state <> 'stored'
                   AND object_id IS NOT NULL
                 LIMIT ?
                """),
        Invariant(
            "waitingForNobody", .warning,
            "A file waits for its contents, but no switch of its owner is in progress: phones wait forever.",
            brokenBy: """
                SELECT CONCAT('file ', f.file_uuid), CONCAT('owner ', f.owning_user_id)
                  FROM files f
                 WHERE NOT f.is_deleted
                   AND f.content_state = 'awaiting'
                   AND NOT EXISTS (SELECT 1
                                     FROM account_switches s
                                    WHERE s.user_id = f.owning_user_id AND s.state = 'reuploading')
                   -- In a group that came back from a manifest, files wait whose objects were not found.
                   AND NOT EXISTS (SELECT 1 FROM rebuild_groups r WHERE r.sharing_group_id = f.sharing_group_id)
                 LIMIT ?
                """),
        Invariant(
            "moveWithoutTokens", .error,
            "An account with contents to move has no tokens, or one without contents to move still has some.",
            brokenBy: """
                SELECT CONCAT('user ', user_id),
                       CONCAT('switch ', switch_uuid, ', ', state, IF(credentials IS NULL, ', no tokens', ', with tokens'))
                  FROM account_moves
                 WHERE (state = 'moving') <> (credentials IS NOT NULL)
                 LIMIT ?
                """),
        Invariant(
            "moveOutOfPresentAccount", .error,
            "Contents have to be moved from the user's current account: its tokens are stored twice.",
            brokenBy: """
                SELECT CONCAT('user ', a.user_id), CONCAT('switch ', a.switch_uuid)
                  FROM account_moves a
                  JOIN users u ON u.user_id = a.user_id
                 WHERE a.state = 'moving'
                   AND (a.account_epoch >= u.account_epoch
                        OR a.account_type = u.account_type AND a.provider_user_id = u.provider_user_id)
                 LIMIT ?
                """),
        Invariant(
            "movingForNobody", .error, "A file still has to be moved, but the move has ended.",
            brokenBy: """
                SELECT CONCAT('file ', m.file_uuid), CONCAT('switch ', m.switch_uuid)
                  FROM moving_contents m
                  JOIN account_moves a ON a.switch_uuid = m.switch_uuid
                 WHERE a.state <> 'moving'
                   AND m.failure IS NULL
                 LIMIT ?
                """),
    ]
}
