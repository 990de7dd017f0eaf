public import MariaDB

/// Rules about pending data: staged changes, batches, stored commits, the outbox.
public enum WorkInvariant: String, Invariant {
    case stagedInNoGroup
    case stagedByNonMember
    case stagedUploadIncomplete
    case batchMemberWithoutBatch
    case batchOfNobody
    case commitOfNobody
    case contentHashOfNobody
    case workOfNobody
    case workIncomplete
    case workInOtherStorage
    case workStuck
    case workFarOff

    public var query: SQL {
        switch self {
        case .stagedInNoGroup:
            """
            SELECT CONCAT('staged file ', s.file_uuid),
                   CONCAT('user ', s.user_id, ', ',
                          IF(g.sharing_group_id IS NULL, 'there is no such group', CONCAT('ended group ', g.sharing_group_uuid)))
              FROM staged_changes s
              LEFT JOIN sharing_groups g ON g.sharing_group_id = s.sharing_group_id
             WHERE g.sharing_group_id IS NULL
                OR g.is_deleted
             LIMIT ?
            """
        case .stagedByNonMember:
            """
            SELECT CONCAT('staged file ', s.file_uuid), CONCAT('user ', s.user_id, ', group ', g.sharing_group_uuid)
              FROM staged_changes s
              JOIN sharing_groups g ON g.sharing_group_id = s.sharing_group_id
             WHERE NOT g.is_deleted
               AND NOT EXISTS (SELECT 1 FROM memberships m
                                WHERE m.sharing_group_id = s.sharing_group_id AND m.user_id = s.user_id)
             LIMIT ?
            """
        case .stagedUploadIncomplete:
            """
            SELECT CONCAT('staged file ', file_uuid), CONCAT('user ', user_id, ', ', kind)
              FROM staged_changes
             WHERE (kind IN ('upload', 'undelete')
                    AND (file_version IS NULL OR updated_at IS NULL OR mime_type IS NULL
                         OR (owning_user_id IS NULL) <> (check_sum IS NULL)
                         OR (owning_user_id IS NULL) <> (storage_type IS NULL)))
                -- A new file loses its contents when the owner of the storage leaves; nothing else does.
                OR (owning_user_id IS NULL AND (kind = 'undelete' OR (kind = 'upload' AND file_version <> 0)))
                OR (kind = 'metadata' AND app_metadata_version IS NULL)
                OR (kind = 'deletion' AND file_version IS NULL)
             LIMIT ?
            """
        case .batchMemberWithoutBatch:
            """
            SELECT CONCAT('staged file ', s.file_uuid), CONCAT('user ', s.user_id, ', batch ', s.batch_uuid)
              FROM staged_changes s
             WHERE s.batch_uuid IS NOT NULL
               AND NOT EXISTS (SELECT 1 FROM batches b
                                WHERE b.user_id = s.user_id AND b.device_uuid = s.device_uuid
                                  AND b.sharing_group_id = s.sharing_group_id AND b.batch_uuid = s.batch_uuid)
             LIMIT ?
            """
        case .batchOfNobody:
            """
            SELECT CONCAT('batch ', b.batch_uuid), CONCAT('user ', b.user_id)
              FROM batches b
             WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.user_id = b.user_id)
                OR NOT EXISTS (SELECT 1 FROM sharing_groups g WHERE g.sharing_group_id = b.sharing_group_id)
             LIMIT ?
            """
        case .commitOfNobody:
            """
            SELECT CONCAT('commit ', c.commit_id), CONCAT('user ', c.user_id)
              FROM (SELECT commit_id, user_id, sharing_group_id FROM commits
                     UNION ALL
                    SELECT commit_id, user_id, sharing_group_id FROM commit_members) c
             WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.user_id = c.user_id)
                OR NOT EXISTS (SELECT 1 FROM sharing_groups g WHERE g.sharing_group_id = c.sharing_group_id)
             LIMIT ?
            """
        case .contentHashOfNobody:
            """
            SELECT CONCAT('object ', h.object_id), CONCAT('user ', h.user_id)
              FROM content_hashes h
             WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.user_id = h.user_id)
             LIMIT ?
            """
        case .workOfNobody:
            """
            SELECT CONCAT('job ', o.outbox_id), CONCAT(o.kind, ', user ', o.user_id)
              FROM outbox o
             WHERE o.kind NOT IN ('removePushTopic', 'revokeGrant')
               AND NOT EXISTS (SELECT 1 FROM users u WHERE u.user_id = o.user_id)
               AND NOT EXISTS (SELECT 1 FROM departed_users d WHERE d.user_id = o.user_id)
             LIMIT ?
            """
        case .workIncomplete:
            """
            SELECT CONCAT('job ', outbox_id), kind
              FROM outbox
             WHERE CASE kind
                   WHEN 'deleteObject' THEN storage_type IS NULL OR (object_id IS NULL AND object_name IS NULL)
                   WHEN 'hashObject' THEN storage_type IS NULL OR object_id IS NULL
                   WHEN 'writeWarningFile' THEN storage_type IS NULL
                   WHEN 'removePushTopic' THEN object_name IS NULL
                   WHEN 'revokeGrant' THEN account_type IS NULL OR account_hash IS NULL OR credentials IS NULL
                   ELSE push_target IS NULL OR sharing_group_id IS NULL OR message IS NULL
                        OR (push_target = 'device' AND registration_id IS NULL)
                   END
             LIMIT ?
            """
        case .workInOtherStorage:
            """
            SELECT CONCAT('job ', o.outbox_id),
                   CONCAT(o.kind, ' in ', o.storage_type, ', user ', u.user_id, ' with ', u.account_type)
              FROM outbox o
              JOIN users u ON u.user_id = o.user_id
             WHERE o.storage_type IS NOT NULL
               AND CAST(u.account_type AS BINARY) <> CAST(o.storage_type AS BINARY)
             LIMIT ?
            """
        case .workStuck:
            """
            SELECT CONCAT('job ', outbox_id),
                   CONCAT(kind, ', ', attempts, ' attempts since ', created_at, ': ', IFNULL(last_error, 'no error noted'))
              FROM outbox
             WHERE attempts >= 10
               AND created_at < UTC_TIMESTAMP() - INTERVAL 1 DAY
             LIMIT ?
            """
        case .workFarOff:
            """
            SELECT CONCAT('job ', outbox_id), CONCAT(kind, ', not before ', available_at)
              FROM outbox
             WHERE available_at > UTC_TIMESTAMP() + INTERVAL 7 DAY
             LIMIT ?
            """
        }
    }
}
