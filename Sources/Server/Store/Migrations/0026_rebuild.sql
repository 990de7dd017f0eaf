-- A server rebuilt from the manifests in owners' folders (docs/adr/0121-a-server-rebuilt-from-manifests.md).
--
-- Repeatable. New columns and new values at the end of an ENUM are instant. Processes of the previous release do not
-- know the mode and the new kind of job; begin a rebuild only when all hosts have this release.

ALTER TABLE sharing_groups
    -- Whether members may only read, regardless of their permission, because not all owners of its files have returned.
    ADD COLUMN IF NOT EXISTS is_restoring BOOLEAN NOT NULL DEFAULT FALSE;

ALTER TABLE outbox
    MODIFY COLUMN kind ENUM('deleteObject', 'writeWarningFile', 'sendPush', 'removePushTopic', 'hashObject', 'revokeGrant',
                            'writeIndexPage', 'writeManifest', 'readManifests')
        CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL;

-- The current or last rebuild of this database: at most one row, which remains after the end.
CREATE TABLE IF NOT EXISTS rebuilds (
    rebuild_id        TINYINT NOT NULL PRIMARY KEY,
    begun_at          DATETIME NOT NULL,
    ended_at          DATETIME NULL,
    -- The folder of people whose request does not name one.
    cloud_folder_name VARCHAR(256) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci NULL,
    -- Whether nobody is served before the end.
    holds_everyone    BOOLEAN NOT NULL,
    -- Users with this number or a higher one were added since the rebuild began.
    first_new_user_id BIGINT NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- The visit of an account with storage since the rebuild began.
CREATE TABLE IF NOT EXISTS rebuild_visits (
    account_type     ENUM('Google', 'Dropbox', 'Microsoft', 'Facebook', 'AppleSignIn', 'WebDAV', 'S3')
        CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL,
    provider_user_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL,
    -- NULL for a stranger.
    user_id          BIGINT NULL,
    -- waiting: the folder has not been read; stranger: it was read, and no manifest names the account.
    state            ENUM('waiting', 'read', 'stranger') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL,
    -- Whether the user exists only for the visit, and has not been recognised.
    is_provisional   BOOLEAN NOT NULL,
    come_at          DATETIME NOT NULL,
    read_at          DATETIME NULL,
    PRIMARY KEY (account_type, provider_user_id),
    KEY user (user_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- A group in the rebuild.
CREATE TABLE IF NOT EXISTS rebuild_groups (
    sharing_group_id        BIGINT NOT NULL PRIMARY KEY,
    -- restoring: owners are missing; diverged: a newer manifest was found after the group was changed here;
    -- complete: all have returned; finished: the operator has decided.
    state                   ENUM('restoring', 'diverged', 'complete', 'finished')
        CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL,
    -- The group's version when the rebuild last changed it: if it differs now, people have changed the group since.
    left_at_version         BIGINT NOT NULL,
    -- The manifest that was applied; NULL if there was none yet.
    manifest_master_version BIGINT NULL,
    manifest_restore_mark   VARCHAR(36) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL,
    manifest_written_at     DATETIME NULL,
    is_signed               BOOLEAN NOT NULL DEFAULT TRUE,
    salt                    VARBINARY(64) NULL,
    changed_at              DATETIME NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- A member in the applied manifest of a group.
CREATE TABLE IF NOT EXISTS rebuild_members (
    sharing_group_id BIGINT NOT NULL,
    -- The number on the server that wrote the manifest.
    former_user_id   BIGINT NOT NULL,
    -- The hash of the account, with the group's salt.
    identity         BINARY(16) NOT NULL,
    -- The user here: the absent member's, or the person's if is_recognised.
    user_id          BIGINT NOT NULL,
    is_recognised    BOOLEAN NOT NULL,
    -- What devices know the person by.
    user_app_id      VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NULL,
    account_epoch    BIGINT NOT NULL,
    PRIMARY KEY (sharing_group_id, former_user_id),
    KEY identity (identity),
    KEY user (user_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- A live file whose object has not been found yet, with the manifest's description of the object.
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

-- A manifest without a known signature, about which the operator decides.
CREATE TABLE IF NOT EXISTS rebuild_claims (
    sharing_group_uuid VARCHAR(36) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci NOT NULL,
    -- The owner of the folder that contains it.
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

-- A group to which a user belongs according to the manifest of another group: the user is served once all of these
-- groups are here. An empty UUID: the manifest does not reveal the user's groups.
CREATE TABLE IF NOT EXISTS rebuild_awaited (
    -- The group whose manifest lists it.
    stated_by          BIGINT NOT NULL,
    user_id            BIGINT NOT NULL,
    sharing_group_uuid VARCHAR(36) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci NOT NULL,
    PRIMARY KEY (stated_by, user_id, sharing_group_uuid),
    KEY user (user_id),
    KEY sharing_group (sharing_group_uuid)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- The members of each group with files, as found by the last scan for manifests: the manifests of their other groups
-- list this group.
CREATE TABLE IF NOT EXISTS manifest_members (
    sharing_group_id BIGINT NOT NULL,
    user_id          BIGINT NOT NULL,
    PRIMARY KEY (sharing_group_id, user_id),
    KEY user (user_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
