-- One collation for each text column, whatever the release of MariaDB and the database's own default.
--
-- Columns that named none, or only a character set, got what MariaDB took for the default: utf8mb4_general_ci up to 11.4, and
-- utf8mb4_uca1400_ai_ci since, so two servers had different schemas, and a comparison of such a column with another one could
-- fail. Some ignored trailing blanks, against the first migration's convention. From here on
--  * identifiers and digests are ascii_general_nopad_ci, and what is compared exactly ascii_nopad_bin or utf8mb4_nopad_bin;
--  * other texts are utf8mb4_general_nopad_ci, which is also the default of every table;
--  * enumerations, whose values have no blanks, stay or become utf8mb4_general_ci, unless they name another one.
-- A later migration names the collation of each text column; MigrationTests checks it.
--
-- Repeatable. In a database that was made by MariaDB 10.11 or 11.4 every statement is instant, but for quota_windows, which has
-- a few rows for each user and is rebuilt. In one that was made by 11.8 the tables with enumerations are rebuilt, once: of
-- these, files is the large one (about 10 s for a million rows); nobody can write to it meanwhile. Processes of the
-- release before work with either.

ALTER TABLE account_moves DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;

ALTER TABLE account_switches DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;
ALTER TABLE account_switches
    MODIFY COLUMN state ENUM('proposed', 'reuploading', 'finished') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL,
    MODIFY COLUMN from_account_type ENUM('Google', 'Dropbox', 'Microsoft', 'Facebook', 'AppleSignIn', 'WebDAV', 'S3')
        CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL,
    MODIFY COLUMN to_account_type ENUM('Google', 'Dropbox', 'Microsoft', 'Facebook', 'AppleSignIn', 'WebDAV', 'S3')
        CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL,
    MODIFY COLUMN cloud_folder_name VARCHAR(256) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci NULL,
    MODIFY COLUMN from_cloud_folder_name VARCHAR(256) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci NULL;

ALTER TABLE apple_notices DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;

ALTER TABLE batches DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;
ALTER TABLE batches
    MODIFY COLUMN push_message TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci NULL;

ALTER TABLE cloud_checks DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;
ALTER TABLE cloud_checks
    MODIFY COLUMN state MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci NOT NULL;

ALTER TABLE commit_members DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;

ALTER TABLE commits DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;

ALTER TABLE content_hashes DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;
ALTER TABLE content_hashes
    MODIFY COLUMN check_sum VARCHAR(64) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL;

ALTER TABLE departed_users DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;

ALTER TABLE device_grants DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;

ALTER TABLE devices DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;

ALTER TABLE exchanged_codes DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;

ALTER TABLE files DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;
ALTER TABLE files
    MODIFY COLUMN storage_type ENUM('Google', 'Dropbox', 'Microsoft', 'WebDAV', 'S3')
        CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL,
    MODIFY COLUMN mime_type VARCHAR(100) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    MODIFY COLUMN app_metadata TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci NULL,
    MODIFY COLUMN check_sum VARCHAR(64) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NULL,
    MODIFY COLUMN content_state ENUM('stored', 'awaiting', 'missing')
        CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL DEFAULT 'stored';

ALTER TABLE former_contents DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;
ALTER TABLE former_contents
    MODIFY COLUMN check_sum VARCHAR(64) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NULL;

ALTER TABLE former_owners DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;

ALTER TABLE gone_contents DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;
ALTER TABLE gone_contents
    MODIFY COLUMN reason ENUM('fileRemovedOrRenamed', 'authTokenExpiredOrRevoked')
        CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL;

ALTER TABLE imported_groups DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;

ALTER TABLE imported_users DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;

ALTER TABLE index_pages DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;
ALTER TABLE index_pages
    MODIFY COLUMN lease_owner VARCHAR(64) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NULL;

ALTER TABLE invitations DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;
ALTER TABLE invitations
    MODIFY COLUMN permission ENUM('read', 'write', 'admin') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL;

ALTER TABLE key_holders DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;
ALTER TABLE key_holders
    MODIFY COLUMN role VARCHAR(16) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    MODIFY COLUMN sealing_key CHAR(8) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    MODIFY COLUMN opening_keys VARCHAR(1024) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL;

ALTER TABLE memberships DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;
ALTER TABLE memberships
    MODIFY COLUMN permission ENUM('read', 'write', 'admin') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL;

ALTER TABLE moving_contents DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;

ALTER TABLE outbox DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;
ALTER TABLE outbox
    MODIFY COLUMN kind ENUM('deleteObject', 'writeWarningFile', 'sendPush', 'removePushTopic', 'hashObject', 'revokeGrant',
                            'writeIndexPage')
        CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL,
    MODIFY COLUMN storage_type ENUM('Google', 'Dropbox', 'Microsoft', 'WebDAV', 'S3')
        CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
    MODIFY COLUMN object_name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci NULL,
    MODIFY COLUMN lease_owner VARCHAR(64) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NULL,
    MODIFY COLUMN last_error VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci NULL,
    MODIFY COLUMN push_target ENUM('group', 'device', 'topic') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
    MODIFY COLUMN message TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci NULL,
    MODIFY COLUMN account_type ENUM('Google', 'Dropbox', 'Microsoft', 'Facebook', 'AppleSignIn', 'WebDAV', 'S3')
        CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
    MODIFY COLUMN check_sum VARCHAR(64) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NULL;

ALTER TABLE push_registrations DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;
ALTER TABLE push_registrations
    MODIFY COLUMN kind ENUM('apns', 'fcm', 'sns') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL,
    MODIFY COLUMN environment ENUM('production', 'sandbox') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL;

ALTER TABLE quota_windows DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;
ALTER TABLE quota_windows
    MODIFY COLUMN quota VARCHAR(32) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL;

ALTER TABLE restorations DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;

ALTER TABLE resumable_uploads DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;
ALTER TABLE resumable_uploads
    MODIFY COLUMN request MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci NOT NULL,
    MODIFY COLUMN storage_type VARCHAR(32) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NULL,
    MODIFY COLUMN content TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci NULL,
    MODIFY COLUMN reply TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci NULL;

ALTER TABLE retired_accounts DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;

ALTER TABLE sharing_groups DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;

ALTER TABLE staged_changes DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;
ALTER TABLE staged_changes
    MODIFY COLUMN kind ENUM('upload', 'undelete', 'metadata', 'deletion')
        CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL,
    MODIFY COLUMN mime_type VARCHAR(100) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NULL,
    MODIFY COLUMN app_metadata TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci NULL,
    MODIFY COLUMN check_sum VARCHAR(64) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NULL,
    MODIFY COLUMN storage_type ENUM('Google', 'Dropbox', 'Microsoft', 'WebDAV', 'S3')
        CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL;

ALTER TABLE users DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;

ALTER TABLE schema_lease DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;
ALTER TABLE schema_lease
    MODIFY COLUMN owner VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci NULL;

ALTER TABLE schema_migrations DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;
ALTER TABLE schema_migrations
    MODIFY COLUMN name VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci NOT NULL;
