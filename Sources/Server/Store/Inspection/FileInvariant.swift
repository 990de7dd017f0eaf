public import MariaDB

/// Rules about committed files.
public enum FileInvariant: String, Invariant {
    case fileOfNoGroup
    case liveFileInEndedGroup
    case liveFileWithoutOwner
    case fileInOtherStorage
    case deletedFileWithObject
    case changeFromTheFuture
    case fileLiveTwice
    case objectOfTwoFiles
    case impossibleVersion
    case metaDataIncomplete
    case checkSumOfOtherStorage
    case contentUnknown
    case unusableIdentifier

    public var query: SQL {
        switch self {
        case .fileOfNoGroup:
            """
            SELECT CONCAT('file ', f.file_uuid), CONCAT('group number ', f.sharing_group_id)
              FROM files f
              LEFT JOIN sharing_groups g ON g.sharing_group_id = f.sharing_group_id
             WHERE g.sharing_group_id IS NULL
             LIMIT ?
            """
        case .liveFileInEndedGroup:
            """
            SELECT CONCAT('file ', f.file_uuid), CONCAT('group ', g.sharing_group_uuid)
              FROM sharing_groups g
              JOIN files f ON f.sharing_group_id = g.sharing_group_id
             WHERE g.is_deleted
               AND NOT f.is_deleted
             LIMIT ?
            """
        case .liveFileWithoutOwner:
            """
            SELECT CONCAT('file ', f.file_uuid),
                   CONCAT('group ', g.sharing_group_uuid, ', owner ', f.owning_user_id)
              FROM files f
              JOIN sharing_groups g ON g.sharing_group_id = f.sharing_group_id
              LEFT JOIN memberships m ON m.sharing_group_id = f.sharing_group_id AND m.user_id = f.owning_user_id
             WHERE NOT f.is_deleted
               AND NOT g.is_deleted
               AND m.user_id IS NULL
             LIMIT ?
            """
        case .fileInOtherStorage:
            """
            SELECT CONCAT('file ', f.file_uuid), CONCAT(f.storage_type, ', owner ', u.user_id, ' with ', u.account_type)
              FROM files f
              JOIN users u ON u.user_id = f.owning_user_id
             WHERE NOT f.is_deleted
               AND CAST(u.account_type AS BINARY) <> CAST(f.storage_type AS BINARY)
             LIMIT ?
            """
        case .deletedFileWithObject:
            """
            SELECT CONCAT('file ', file_uuid), CONCAT('object ', object_id, ' of user ', owning_user_id)
              FROM files
             WHERE is_deleted
               AND object_id IS NOT NULL
             LIMIT ?
            """
        case .changeFromTheFuture:
            """
            SELECT CONCAT('file ', f.file_uuid),
                   CONCAT('group ', g.sharing_group_uuid, ', changed at ', f.changed_at_master_version,
                          ', master version ', g.master_version)
              FROM files f
              JOIN sharing_groups g ON g.sharing_group_id = f.sharing_group_id
             WHERE f.changed_at_master_version > g.master_version
                OR f.changed_at_master_version < 0
             LIMIT ?
            """
        case .fileLiveTwice:
            """
            SELECT CONCAT('file ', f.file_uuid),
                   CONCAT('groups ', GROUP_CONCAT(g.sharing_group_uuid ORDER BY g.sharing_group_uuid SEPARATOR ', '))
              FROM files f
              JOIN sharing_groups g ON g.sharing_group_id = f.sharing_group_id
              LEFT JOIN imported_groups i ON i.sharing_group_id = f.sharing_group_id
             WHERE NOT f.is_deleted
             GROUP BY f.file_uuid
            HAVING COUNT(*) > 1
               AND SUM(i.sharing_group_id IS NULL) > 0
             LIMIT ?
            """
        case .objectOfTwoFiles:
            """
            SELECT CONCAT('object ', object_id, ' of user ', owning_user_id),
                   CONCAT('files ', GROUP_CONCAT(DISTINCT file_uuid ORDER BY file_uuid SEPARATOR ', '))
              FROM files
             WHERE object_id IS NOT NULL
             GROUP BY owning_user_id, object_id
            HAVING COUNT(DISTINCT file_uuid) > 1
             LIMIT ?
            """
        case .impossibleVersion:
            """
            SELECT CONCAT('file ', file_uuid),
                   CONCAT('version ', file_version, ', metadata version ', IFNULL(app_metadata_version, 'none'))
              FROM files
             WHERE file_version < 0
                OR app_metadata_version < 0
             LIMIT ?
            """
        case .metaDataIncomplete:
            """
            SELECT CONCAT('file ', file_uuid),
                   IF(app_metadata IS NULL, 'a version without metadata', 'metadata without a version')
              FROM files
             WHERE (app_metadata IS NULL) <> (app_metadata_version IS NULL)
             LIMIT ?
            """
        case .checkSumOfOtherStorage:
            """
            SELECT CONCAT('file ', file_uuid), CONCAT(storage_type, ', ', LENGTH(check_sum), ' digits')
              FROM files
             WHERE NOT is_deleted
               AND check_sum IS NOT NULL
               AND LENGTH(check_sum) <> CASE storage_type WHEN 'Google' THEN 32 WHEN 'Dropbox' THEN 64 ELSE 40 END
             LIMIT ?
            """
        case .contentUnknown:
            """
            SELECT CONCAT('file ', f.file_uuid),
                   CONCAT_WS(', ', IF(f.object_id IS NULL, 'no object', NULL), IF(f.check_sum IS NULL, 'no checksum', NULL),
                             IF(f.size_bytes IS NULL, 'no size', NULL), IF(f.sha256 IS NULL, 'no SHA-256', NULL))
              FROM files f
              LEFT JOIN imported_groups i ON i.sharing_group_id = f.sharing_group_id
             WHERE NOT f.is_deleted
               AND i.sharing_group_id IS NULL
               AND (f.object_id IS NULL OR f.check_sum IS NULL OR f.size_bytes IS NULL OR f.sha256 IS NULL)
             LIMIT ?
            """
        case .unusableIdentifier:
            """
            SELECT CONCAT('file ', file_uuid), CONCAT('device ', device_uuid, ', type ', mime_type)
              FROM files
             WHERE file_uuid NOT REGEXP '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$'
                OR device_uuid NOT REGEXP '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$'
                OR mime_type = ''
             LIMIT ?
            """
        }
    }
}
