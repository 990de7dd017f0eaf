import MariaDB
import Store
import SyncProtocol

extension Invariant {
    /// Rules about pending data: staged changes, batches, stored commits, the outbox.
    static let ofWork: [Invariant] = [
        Invariant(
            "stagedInNoGroup", .warning, "A change waits for a commit to a group that has ended or does not exist.",
            brokenBy: """
                SELECT CONCAT('staged file ', s.file_uuid),
                       CONCAT('user ', s.user_id, ', ',
                              IF(g.sharing_group_id IS NULL, 'there is no such group',
                                 CONCAT('ended group ', g.sharing_group_uuid)))
                  FROM staged_changes s
                  LEFT JOIN sharing_groups g ON g.sharing_group_id = s.sharing_group_id
                 WHERE g.sharing_group_id IS NULL
                    OR g.is_deleted
                 LIMIT ?
                """,
            repair: Repair(
                "withdraws the change, as when a group ends; its object is deleted unless a file needs it"
            ) { session, now throws(StoreError) in
                let groups = try session.all(
                    """
                    SELECT DISTINCT s.sharing_group_id
                      FROM staged_changes s
                      LEFT JOIN sharing_groups g ON g.sharing_group_id = s.sharing_group_id
                     WHERE g.sharing_group_id IS NULL
                        OR g.is_deleted
                    """, []
                ) { row throws(StoreError) in SharingGroupID(try row.number(0)) }
                for group in groups { try session.withdrawStaged(in: group, at: now) }
                return groups.count
            }),
        Invariant(
            "stagedByNonMember", .warning, "A change waits for a commit by somebody who is not in the group.",
            brokenBy: """
                SELECT CONCAT('staged file ', s.file_uuid), CONCAT('user ', s.user_id, ', group ', g.sharing_group_uuid)
                  FROM staged_changes s
                  JOIN sharing_groups g ON g.sharing_group_id = s.sharing_group_id
                 WHERE NOT g.is_deleted
                   AND NOT EXISTS (SELECT 1 FROM memberships m
                                    WHERE m.sharing_group_id = s.sharing_group_id AND m.user_id = s.user_id)
                 LIMIT ?
                """,
            repair: Repair(
                "withdraws the change, as when a member leaves; its object is deleted unless a file needs it"
            ) { session, now throws(StoreError) in
                let found = try session.all(
                    """
                    SELECT DISTINCT s.sharing_group_id, s.user_id
                      FROM staged_changes s
                      JOIN sharing_groups g ON g.sharing_group_id = s.sharing_group_id
                     WHERE NOT g.is_deleted
                       AND NOT EXISTS (SELECT 1 FROM memberships m
                                        WHERE m.sharing_group_id = s.sharing_group_id AND m.user_id = s.user_id)
                    """, []
                ) { row throws(StoreError) in
                    (group: SharingGroupID(try row.number(0)), user: UserID(try row.number(1)))
                }
                for (group, user) in found {
                    do throws(StoreError) { _ = try session.lockMasterVersionExclusive(of: group) } catch .notFound {
                        continue
                    }
                    if try !session.isMember(user, of: group) {
                        try session.withdrawStaged(by: user, in: group, at: now)
                    }
                }
                return found.count
            }),
        Invariant(
            "stagedUploadIncomplete", .error, "A staged change lacks values that its commit needs.",
            brokenBy: """
                SELECT CONCAT('staged file ', file_uuid), CONCAT('user ', user_id, ', ', kind)
                  FROM staged_changes
                 WHERE (kind IN ('upload', 'undelete')
                        AND (file_version IS NULL OR updated_at IS NULL OR mime_type IS NULL
                             OR (owning_user_id IS NULL) <> (check_sum IS NULL)
                             OR (owning_user_id IS NULL) <> (storage_type IS NULL)))
                    -- A new file loses its contents when the owner of the storage leaves, any file when its owner
                    -- switches accounts.
                    OR (owning_user_id IS NULL AND (kind = 'undelete' OR (kind = 'upload' AND file_version <> 0))
                        AND NOT EXISTS (SELECT 1
                                          FROM files f
                                          JOIN users u ON u.user_id = f.owning_user_id
                                         WHERE f.sharing_group_id = staged_changes.sharing_group_id
                                           AND f.file_uuid = staged_changes.file_uuid
                                           AND u.account_epoch > 0))
                    OR (kind = 'metadata' AND app_metadata_version IS NULL)
                    OR (kind = 'deletion' AND file_version IS NULL)
                 LIMIT ?
                """),
        Invariant(
            "batchMemberWithoutBatch", .note,
            "A change belongs to a batch that no longer exists; it is withdrawn when it is old enough.",
            brokenBy: """
                SELECT CONCAT('staged file ', s.file_uuid), CONCAT('user ', s.user_id, ', batch ', s.batch_uuid)
                  FROM staged_changes s
                 WHERE s.batch_uuid IS NOT NULL
                   AND NOT EXISTS (SELECT 1 FROM batches b
                                    WHERE b.user_id = s.user_id AND b.device_uuid = s.device_uuid
                                      AND b.sharing_group_id = s.sharing_group_id AND b.batch_uuid = s.batch_uuid)
                 LIMIT ?
                """),
        Invariant(
            "batchOfNobody", .warning, "A batch belongs to a user or group that does not exist.",
            brokenBy: """
                SELECT CONCAT('batch ', b.batch_uuid), CONCAT('user ', b.user_id)
                  FROM batches b
                 WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.user_id = b.user_id)
                    OR NOT EXISTS (SELECT 1 FROM sharing_groups g WHERE g.sharing_group_id = b.sharing_group_id)
                 LIMIT ?
                """,
            repair: Repair("deletes the batch") { session, _ throws(StoreError) in
                try session.execute(
                    """
                    DELETE FROM batches
                     WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.user_id = batches.user_id)
                        OR NOT EXISTS (SELECT 1 FROM sharing_groups g
                                        WHERE g.sharing_group_id = batches.sharing_group_id)
                    """, [])
            }),
        Invariant(
            "commitOfNobody", .warning, "A recorded commit belongs to a user or group that does not exist.",
            brokenBy: """
                SELECT CONCAT('commit ', c.commit_id), CONCAT('user ', c.user_id)
                  FROM (SELECT commit_id, user_id, sharing_group_id FROM commits
                         UNION ALL
                        SELECT commit_id, user_id, sharing_group_id FROM commit_members) c
                 WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.user_id = c.user_id)
                    OR NOT EXISTS (SELECT 1 FROM sharing_groups g WHERE g.sharing_group_id = c.sharing_group_id)
                 LIMIT ?
                """,
            repair: Repair(
                "deletes the record of the commit, which nobody can request"
            ) { session, _ throws(StoreError) in
                let commits = try session.execute(
                    """
                    DELETE FROM commits
                     WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.user_id = commits.user_id)
                        OR NOT EXISTS (SELECT 1 FROM sharing_groups g
                                        WHERE g.sharing_group_id = commits.sharing_group_id)
                    """, [])
                return try commits
                    + session.execute(
                        """
                        DELETE FROM commit_members
                         WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.user_id = commit_members.user_id)
                            OR NOT EXISTS (SELECT 1 FROM sharing_groups g
                                            WHERE g.sharing_group_id = commit_members.sharing_group_id)
                        """, [])
            }),
        Invariant(
            "contentHashOfNobody", .warning, "An object's hash is stored for a user who does not exist.",
            brokenBy: """
                SELECT CONCAT('object ', h.object_id), CONCAT('user ', h.user_id)
                  FROM content_hashes h
                 WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.user_id = h.user_id)
                 LIMIT ?
                """,
            repair: Repair("deletes the hash, which can be computed again") { session, _ throws(StoreError) in
                try session.execute(
                    """
                    DELETE FROM content_hashes
                     WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.user_id = content_hashes.user_id)
                    """, [])
            }),
        Invariant(
            "indexPageOfNobody", .warning, "An index page is recorded for a user who does not exist.",
            brokenBy: """
                SELECT CONCAT('page ', IFNULL(p.object_id, 'not written')), CONCAT('user ', p.user_id)
                  FROM index_pages p
                 WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.user_id = p.user_id)
                 LIMIT ?
                """,
            repair: Repair("deletes the record") { session, _ throws(StoreError) in
                try session.execute(
                    """
                    DELETE FROM index_pages
                     WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.user_id = index_pages.user_id)
                    """, [])
            }),
        Invariant(
            "manifestOfNobody", .warning, "A manifest is recorded for a user or a group that does not exist.",
            brokenBy: """
                SELECT CONCAT('manifest ', m.object_id), CONCAT('user ', m.owning_user_id)
                  FROM manifests m
                 WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.user_id = m.owning_user_id)
                    OR NOT EXISTS (SELECT 1 FROM sharing_groups g WHERE g.sharing_group_id = m.sharing_group_id)
                 LIMIT ?
                """,
            repair: Repair("deletes the record") { session, _ throws(StoreError) in
                try session.execute(
                    """
                    DELETE FROM manifests
                     WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.user_id = manifests.owning_user_id)
                        OR NOT EXISTS (SELECT 1 FROM sharing_groups g
                                        WHERE g.sharing_group_id = manifests.sharing_group_id)
                    """, [])
            }),
        Invariant(
            "workOfNobody", .note, "Work concerns a user who does not exist: it cannot be done.",
            brokenBy: """
                SELECT CONCAT('job ', o.outbox_id), CONCAT(o.kind, ', user ', o.user_id)
                  FROM outbox o
                 WHERE o.kind NOT IN ('removePushTopic', 'revokeGrant')
                   AND NOT EXISTS (SELECT 1 FROM users u WHERE u.user_id = o.user_id)
                   AND NOT EXISTS (SELECT 1 FROM departed_users d WHERE d.user_id = o.user_id)
                 LIMIT ?
                """,
            repair: Repair("drops the work, as the jobs role would") { session, _ throws(StoreError) in
                try session.execute(
                    """
                    DELETE FROM outbox
                     WHERE kind NOT IN ('removePushTopic', 'revokeGrant')
                       AND NOT EXISTS (SELECT 1 FROM users u WHERE u.user_id = outbox.user_id)
                       AND NOT EXISTS (SELECT 1 FROM departed_users d WHERE d.user_id = outbox.user_id)
                    """, [])
            }),
        Invariant(
            "workIncomplete", .error, "Work lacks required values: see syncctl jobs.",
            brokenBy: """
                SELECT CONCAT('job ', outbox_id), kind
                  FROM outbox
                 WHERE CASE kind
                       WHEN 'deleteObject' THEN storage_type IS NULL OR (object_id IS NULL AND object_name IS NULL)
                       WHEN 'hashObject' THEN storage_type IS NULL OR object_id IS NULL
                       WHEN 'writeWarningFile' THEN storage_type IS NULL
                       WHEN 'writeIndexPage' THEN storage_type IS NULL
                       WHEN 'readManifests' THEN storage_type IS NULL
                       WHEN 'writeManifest' THEN storage_type IS NULL OR sharing_group_id IS NULL
                       WHEN 'removePushTopic' THEN object_name IS NULL
                       WHEN 'revokeGrant' THEN account_type IS NULL OR account_hash IS NULL OR credentials IS NULL
                       ELSE push_target IS NULL OR sharing_group_id IS NULL OR message IS NULL
                            OR (push_target = 'device' AND registration_id IS NULL)
                       END
                 LIMIT ?
                """),
        Invariant(
            "workInOtherStorage", .error, "Work is for a storage that is not the user's: see syncctl jobs.",
            brokenBy: """
                SELECT CONCAT('job ', o.outbox_id),
                       CONCAT(o.kind, ' in ', o.storage_type, ', user ', u.user_id, ' with ', u.account_type)
                  FROM outbox o
                  JOIN users u ON u.user_id = o.user_id
                 WHERE o.storage_type IS NOT NULL
                   AND CAST(u.account_type AS BINARY) <> CAST(o.storage_type AS BINARY)
                 LIMIT ?
                """),
        Invariant(
            "workStuck", .warning, "Work has failed at least ten times over more than a day: see syncctl jobs.",
            brokenBy: """
                SELECT CONCAT('job ', outbox_id),
                       CONCAT(kind, ', ', attempts, ' attempts since ', created_at, ': ',
                              IFNULL(last_error, 'no error noted'))
                  FROM outbox
                 WHERE attempts >= 10
                   AND created_at < UTC_TIMESTAMP() - INTERVAL 1 DAY
                 LIMIT ?
                """),
        Invariant(
            "workFarOff", .warning,
            "Work is postponed for more than a week: the clock may have been wrong. See syncctl jobs.",
            brokenBy: """
                SELECT CONCAT('job ', outbox_id), CONCAT(kind, ', not before ', available_at)
                  FROM outbox
                 WHERE available_at > UTC_TIMESTAMP() + INTERVAL 7 DAY
                 LIMIT ?
                """),
    ]
}
