-- A server rebuilt from the manifests in owners' folders (docs/adr/0121-a-server-rebuilt-from-manifests.md).
--
-- Repeatable. New columns and new values at the end of an ENUM are instant. Processes of the release before do not know
-- the mode and the new kind of job; begin a rebuild only when all hosts have this release.

ALTER TABLE sharing_groups
    -- Whether members may only read, whatever their permission, because not all owners of its files have come yet.
    ADD COLUMN IF NOT EXISTS is_restoring BOOLEAN NOT NULL DEFAULT FALSE;

ALTER TABLE outbox
    MODIFY COLUMN kind ENUM('deleteObject', 'writeWarningFile', 'sendPush', 'removePushTopic', 'hashObject', 'revokeGrant',
                            'writeIndexPage', 'writeManifest', 'readManifests')
        CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL;

-- The rebuild of this database: at most one row, which stays after the end.
CREATE TABLE IF NOT EXISTS rebuilds (
    rebuild_id        TINYINT NOT NULL PRIMARY KEY,
    begun_at          DATETIME NOT NULL,
    ended_at          DATETIME NULL,
    -- The folder of visitors whose request does not name one.
    cloud_folder_name VARCHAR(256) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci NULL,
    -- Whether nobody is served before the end.
    holds_everyone    BOOLEAN NOT NULL,
    -- Users with this number and higher ones were added since the beginning.
    first_new_user_id BIGINT NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- An account with storage that has come since the beginning.
CREATE TABLE IF NOT EXISTS rebuild_visits (
    account_type     ENUM('Google', 'Dropbox', 'Microsoft', 'Facebook', 'AppleSignIn', 'WebDAV', 'S3')
        CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL,
    provider_user_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL,
    -- NULL for a stranger.
    user_id          BIGINT NULL,
    -- waiting: the folder has not been read; stranger: it was read, and the account was nobody's.
    state            ENUM('waiting', 'read', 'stranger') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL,
    -- Whether the user exists for the visit only, and has not been recognised.
    is_provisional   BOOLEAN NOT NULL,
    come_at          DATETIME NOT NULL,
    read_at          DATETIME NULL,
    PRIMARY KEY (account_type, provider_user_id),
    KEY user (user_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- A group that the rebuild concerns.
CREATE TABLE IF NOT EXISTS rebuild_groups (
    sharing_group_id        BIGINT NOT NULL PRIMARY KEY,
    -- restoring: owners are missing; diverged: a newer manifest came after the group was changed here;
    -- complete: all have come; finished: the operator has decided.
    state                   ENUM('restoring', 'diverged', 'complete', 'finished')
        CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL,
    -- The group's version when the rebuild last changed it: with another one, people have changed it since.
    left_at_version         BIGINT NOT NULL,
    -- The manifest that was applied; NULL if there was none yet.
    manifest_master_version BIGINT NULL,
    manifest_restore_mark   VARCHAR(36) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL,
    manifest_written_at     DATETIME NULL,
    is_signed               BOOLEAN NOT NULL DEFAULT TRUE,
    salt                    VARBINARY(64) NULL,
    changed_at              DATETIME NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- A member whom the applied manifest of a group states.
CREATE TABLE IF NOT EXISTS rebuild_members (
    sharing_group_id BIGINT NOT NULL,
    -- The number on the server that wrote the manifest.
    former_user_id   BIGINT NOT NULL,
    -- The hash of the account, with the group's salt.
    identity         BINARY(16) NOT NULL,
    -- The user here: an absent member's, or after is_recognised the person's.
    user_id          BIGINT NOT NULL,
    is_recognised    BOOLEAN NOT NULL,
    -- What devices know the person by.
    user_app_id      VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NULL,
    account_epoch    BIGINT NOT NULL,
    PRIMARY KEY (sharing_group_id, former_user_id),
    KEY identity (identity),
    KEY user (user_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- A live file whose object has not been found yet, with what the manifest states about the object.
CREATE TABLE IF NOT EXISTS rebuild_files (
    sharing_group_id BIGINT NOT NULL,
    file_uuid        VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    object_name      VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL,
    -- The checksum, or its first bytes.
    check_sum        VARBINARY(64) NOT NULL,
    -- The beginning of the storage's own hash.
    storage_hash     VARCHAR(64) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL,
    PRIMARY KEY (sharing_group_id, file_uuid)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- A manifest without a known signature, for the operator to decide about.
CREATE TABLE IF NOT EXISTS rebuild_claims (
    sharing_group_uuid VARCHAR(36) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci NOT NULL,
    -- Who has it in their folder.
    user_id            BIGINT NOT NULL,
    -- SHA-256 of the signed text.
    digest             BINARY(32) NOT NULL,
    group_name         VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci NULL,
    master_version     BIGINT NOT NULL,
    written_at         DATETIME NOT NULL,
    members            BIGINT NOT NULL,
    -- The names of its admins.
    admin_names        VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci NOT NULL,
    live_files         BIGINT NOT NULL,
    is_trusted         BOOLEAN NOT NULL,
    found_at           DATETIME NOT NULL,
    PRIMARY KEY (sharing_group_uuid, user_id, digest)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- A group of which the manifest of another group states that the user is in it: the user is served once all of these are
-- here. An empty UUID: the manifest does not reveal the user's groups.
CREATE TABLE IF NOT EXISTS rebuild_awaited (
    -- The group whose manifest states it.
    stated_by          BIGINT NOT NULL,
    user_id            BIGINT NOT NULL,
    sharing_group_uuid VARCHAR(36) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci NOT NULL,
    PRIMARY KEY (stated_by, user_id, sharing_group_uuid),
    KEY user (user_id),
    KEY sharing_group (sharing_group_uuid)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- The members of each group with files, as the last scan for manifests found them: the manifests of their other groups
-- state this group.
CREATE TABLE IF NOT EXISTS manifest_members (
    sharing_group_id BIGINT NOT NULL,
    user_id          BIGINT NOT NULL,
    PRIMARY KEY (sharing_group_id, user_id),
    KEY user (user_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
