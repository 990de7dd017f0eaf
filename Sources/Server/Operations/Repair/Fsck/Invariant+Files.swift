import MariaDB
import Store
import SyncProtocol

extension Invariant {
    /// Rules about committed files.
    static let ofFiles: [Invariant] = [
        Invariant(
            "fileOfNoGroup", .error, "A file belongs to a group that does not exist.",
            brokenBy: """
                SELECT CONCAT('file ', f.file_uuid), CONCAT('group number ', f.sharing_group_id)
                  FROM files f
                  LEFT JOIN sharing_groups g ON g.sharing_group_id = f.sharing_group_id
                 WHERE g.sharing_group_id IS NULL
                 LIMIT ?
                """),
        Invariant(
            "liveFileInEndedGroup", .error, "A file of a group that has ended is not deleted.",
            brokenBy: """
                SELECT CONCAT('file ', f.file_uuid), CONCAT('group ', g.sharing_group_uuid)
                  FROM sharing_groups g
                  JOIN files f ON f.sharing_group_id = g.sharing_group_id
                 WHERE g.is_deleted
                   AND NOT f.is_deleted
                 LIMIT ?
                """,
            repair: Repair(
                "marks the file as deleted; its contents stay in the owner's storage"
            ) { session, _ throws(StoreError) in
                try session.execute(
                    """
                    UPDATE files f
                      JOIN sharing_groups g ON g.sharing_group_id = f.sharing_group_id
                       SET \(assigning: FileRecord.deletion.columns, of: "f"),
                           f.changed_at_master_version = g.master_version
                     WHERE g.is_deleted
                       AND NOT f.is_deleted
                    """, FileRecord.deletion.values)
            }),
        Invariant(
            "liveFileWithoutOwner", .error, "A file's owner is not in the group, so its contents cannot be reached.",
            brokenBy: """
                SELECT CONCAT('file ', f.file_uuid),
                       CONCAT('group ', g.sharing_group_uuid, ', owner ', f.owning_user_id)
                  FROM files f
                  JOIN sharing_groups g ON g.sharing_group_id = f.sharing_group_id
                  LEFT JOIN memberships m ON m.sharing_group_id = f.sharing_group_id AND m.user_id = f.owning_user_id
                 WHERE NOT f.is_deleted
                   AND NOT g.is_deleted
                   AND m.user_id IS NULL
                 LIMIT ?
                """,
            repair: Repair(
                "marks the file as deleted with a new master version, as when an owner leaves; its contents stay"
            ) { session, now throws(StoreError) in
                try session.markOwnerlessFilesDeleted(at: now)
            }),
        Invariant(
            "fileInOtherStorage", .error, "A file's storage differs from its owner's.",
            brokenBy: """
                SELECT CONCAT('file ', f.file_uuid),
                       CONCAT(f.storage_type, ', owner ', u.user_id, ' with ', u.account_type)
                  FROM files f
                  JOIN users u ON u.user_id = f.owning_user_id
                 WHERE NOT f.is_deleted
                   AND CAST(u.account_type AS BINARY) <> CAST(f.storage_type AS BINARY)
                   -- An undo of a switch has led back to an account without storage.
                   AND NOT (f.content_state = 'missing' AND u.account_type IN ('Facebook', 'AppleSignIn'))
                 LIMIT ?
                """),
        Invariant(
            "deletedFileWithObject", .error, "A deleted file still refers to an object.",
            brokenBy: """
                SELECT CONCAT('file ', file_uuid), CONCAT('object ', object_id, ' of user ', owning_user_id)
                  FROM files
                 WHERE is_deleted
                   AND object_id IS NOT NULL
                 LIMIT ?
                """),
        Invariant(
            "changeFromTheFuture", .error,
            "A file changed at a master version that its group has not reached: phones may miss it.",
            brokenBy: """
                SELECT CONCAT('file ', f.file_uuid),
                       CONCAT('group ', g.sharing_group_uuid, ', changed at ', f.changed_at_master_version,
                              ', master version ', g.master_version)
                  FROM files f
                  JOIN sharing_groups g ON g.sharing_group_id = f.sharing_group_id
                 WHERE f.changed_at_master_version > g.master_version
                    OR f.changed_at_master_version < 0
                 LIMIT ?
                """),
        Invariant(
            "fileLiveTwice", .error, "A file is live in two groups, and not only in imported ones.",
            brokenBy: """
                SELECT CONCAT('file ', f.file_uuid),
                       CONCAT('groups ',
                              GROUP_CONCAT(g.sharing_group_uuid ORDER BY g.sharing_group_uuid SEPARATOR ', '))
                  FROM files f
                  JOIN sharing_groups g ON g.sharing_group_id = f.sharing_group_id
                  LEFT JOIN imported_groups i ON i.sharing_group_id = f.sharing_group_id
                 WHERE NOT f.is_deleted
                 GROUP BY f.file_uuid
                HAVING COUNT(*) > 1
                   AND SUM(i.sharing_group_id IS NULL) > 0
                 LIMIT ?
                """),
        Invariant(
            "objectOfTwoFiles", .error,
            "Two files refer to one object: deleting one would delete the other's contents.",
            brokenBy: """
                SELECT CONCAT('object ', object_id, ' of user ', owning_user_id),
                       CONCAT('files ', GROUP_CONCAT(DISTINCT file_uuid ORDER BY file_uuid SEPARATOR ', '))
                  FROM files
                 WHERE object_id IS NOT NULL
                 GROUP BY owning_user_id, object_id
                HAVING COUNT(DISTINCT file_uuid) > 1
                 LIMIT ?
                """),
        Invariant(
            "impossibleVersion", .error, "A version is negative.",
            brokenBy: """
                SELECT CONCAT('file ', file_uuid),
                       CONCAT('version ', file_version, ', metadata version ', IFNULL(app_metadata_version, 'none'))
                  FROM files
                 WHERE file_version < 0
                    OR app_metadata_version < 0
                 LIMIT ?
                """),
        Invariant(
            "metaDataIncomplete", .error, "A file has metadata without a version, or a version without metadata.",
            brokenBy: """
                SELECT CONCAT('file ', file_uuid),
                       IF(app_metadata IS NULL, 'a version without metadata', 'metadata without a version')
                  FROM files
                 WHERE (app_metadata IS NULL) <> (app_metadata_version IS NULL)
                 LIMIT ?
                """),
        Invariant(
            "checkSumOfOtherStorage", .error, "A checksum is not in the format of the storage.",
            brokenBy: """
                SELECT CONCAT('file ', file_uuid), CONCAT(storage_type, ', ', LENGTH(check_sum), ' digits')
                  FROM files
                 WHERE NOT is_deleted
                   AND content_state = 'stored'
                   AND check_sum IS NOT NULL
                   AND LENGTH(check_sum) <> \(SQL.checkSumDigits)
                 LIMIT ?
                """),
        Invariant(
            "contentUnknown", .error, "A live file that was uploaded here has no object, size or checksum.",
            brokenBy: """
                SELECT CONCAT('file ', f.file_uuid),
                       CONCAT_WS(', ', IF(f.object_id IS NULL, 'no object', NULL),
                                 IF(f.check_sum IS NULL, 'no checksum', NULL),
                                 IF(f.size_bytes IS NULL, 'no size', NULL))
                  FROM files f
                  LEFT JOIN imported_groups i ON i.sharing_group_id = f.sharing_group_id
                 WHERE NOT f.is_deleted
                   AND f.content_state = 'stored'
                   AND i.sharing_group_id IS NULL
                   -- Objects of owners who have not come are unknown, and so are checksums that only reading reveals.
                   AND NOT EXISTS (SELECT 1 FROM rebuild_groups r WHERE r.sharing_group_id = f.sharing_group_id)
                   AND (f.object_id IS NULL OR f.check_sum IS NULL OR f.size_bytes IS NULL)
                 LIMIT ?
                """),
        Invariant(
            "unusableIdentifier", .error, "A file or device UUID is not a UUID, or the type is empty.",
            brokenBy: """
                SELECT CONCAT('file ', file_uuid), CONCAT('device ', device_uuid, ', type ', mime_type)
                  FROM files
                 WHERE file_uuid NOT REGEXP '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$'
                    OR device_uuid NOT REGEXP '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$'
                    OR mime_type = ''
                 LIMIT ?
                """),
    ]
}

extension StoreSession {
    /// Marks files of absent owners as deleted, as when an owner leaves.
    fileprivate mutating func markOwnerlessFilesDeleted(at now: WireDate) throws(StoreError) -> Int {
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
}
