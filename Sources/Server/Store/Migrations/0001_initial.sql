-- The whole schema of the first release. Runs on an empty database; takes no noticeable lock.
--
-- Conventions
--  * All times are UTC. Identifiers that clients make are text: their letter case is part of file names in users'
--    storage, so it is kept; comparison ignores case. Collations are NOPAD: a trailing blank is a difference.
--  * A writing transaction locks the row in sharing_groups first, then rows of files and staged_changes.
--  * Foreign keys exist where rows are few and rarely written. files, staged_changes and outbox have none: an insert
--    would take a shared lock on the group's row that a commit holds exclusively.

CREATE TABLE IF NOT EXISTS users (
    user_id             BIGINT NOT NULL AUTO_INCREMENT,
    account_type        ENUM('Google', 'Dropbox', 'Microsoft', 'Facebook', 'AppleSignIn') NOT NULL,
    -- The provider's own identifier of the person; compared exactly.
    provider_user_id    VARCHAR(255) COLLATE utf8mb4_nopad_bin NOT NULL,
    display_name        VARCHAR(255) NOT NULL,
    -- Google only: the folder in the person's drive, and its object id once it is known.
    cloud_folder_name   VARCHAR(256) NULL,
    cloud_folder_id     VARCHAR(255) COLLATE utf8mb4_nopad_bin NULL,
    -- Sealed tokens (AES-256-GCM); credentials_version rises with each change and makes a compare-and-swap possible.
    credentials         VARBINARY(16384) NULL,
    credentials_version BIGINT NOT NULL DEFAULT 0,
    created_at          DATETIME NOT NULL,
    PRIMARY KEY (user_id),
    UNIQUE KEY account (account_type, provider_user_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_general_nopad_ci;

CREATE TABLE IF NOT EXISTS devices (
    user_id       BIGINT NOT NULL,
    device_uuid   VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    registered_at DATETIME NOT NULL,
    PRIMARY KEY (user_id, device_uuid),
    CONSTRAINT devices_user FOREIGN KEY (user_id) REFERENCES users (user_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS sharing_groups (
    sharing_group_id   BIGINT NOT NULL AUTO_INCREMENT,
    sharing_group_uuid VARCHAR(36) NOT NULL,
    name               VARCHAR(255) NULL,
    master_version     BIGINT NOT NULL DEFAULT 0,
    is_deleted         BOOLEAN NOT NULL DEFAULT FALSE,
    created_at         DATETIME NOT NULL,
    -- The newest commit and its reply, so that a repeated request can be answered as the first one was. Void as soon
    -- as master_version has moved past last_commit_version.
    last_commit_version       BIGINT NULL,
    last_commit_user_id       BIGINT NULL,
    last_commit_device_uuid   VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NULL,
    last_commit_request_hash  BINARY(32) NULL,
    last_commit_transferred   INT NULL,
    PRIMARY KEY (sharing_group_id),
    UNIQUE KEY sharing_group_uuid (sharing_group_uuid)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_general_nopad_ci;

CREATE TABLE IF NOT EXISTS memberships (
    sharing_group_id BIGINT NOT NULL,
    user_id          BIGINT NOT NULL,
    -- Whose storage takes this member's new files: NULL for members with storage of their own, and for the others
    -- once their owning user has left.
    owning_user_id   BIGINT NULL,
    permission       ENUM('read', 'write', 'admin') NOT NULL,
    -- How the member came in; NULL for the creator of the group.
    invitation_uuid  VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NULL,
    joined_at        DATETIME NOT NULL,
    PRIMARY KEY (sharing_group_id, user_id),
    KEY user (user_id),
    KEY owning_user (owning_user_id),
    CONSTRAINT memberships_group FOREIGN KEY (sharing_group_id) REFERENCES sharing_groups (sharing_group_id),
    CONSTRAINT memberships_user FOREIGN KEY (user_id) REFERENCES users (user_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS invitations (
    invitation_uuid          VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    sharing_group_id         BIGINT NOT NULL,
    inviting_user_id         BIGINT NOT NULL,
    -- The inviter, or the inviter's owning user: will own the new files of a redeemer without storage.
    owning_user_id           BIGINT NOT NULL,
    permission               ENUM('read', 'write', 'admin') NOT NULL,
    allows_social_acceptance BOOLEAN NOT NULL,
    remaining_acceptors      INT NOT NULL,
    expires_at               DATETIME NOT NULL,
    PRIMARY KEY (invitation_uuid),
    KEY sharing_group (sharing_group_id),
    KEY owning_user (owning_user_id),
    KEY expiry (expires_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- What the group's members see: one row per file, kept for ever, since other devices learn of a deletion from it.
CREATE TABLE IF NOT EXISTS files (
    sharing_group_id          BIGINT NOT NULL,
    file_uuid                 VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    file_group_uuid           VARCHAR(36) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci NULL,
    -- Fixed by version 0. The storage type stays with the file, since the owner may leave.
    owning_user_id            BIGINT NOT NULL,
    storage_type              ENUM('Google', 'Dropbox', 'Microsoft') NOT NULL,
    -- The device that uploaded the current version; part of the name in storage.
    device_uuid               VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    created_at                DATETIME NOT NULL,
    updated_at                DATETIME NOT NULL,
    mime_type                 VARCHAR(100) CHARACTER SET ascii NOT NULL,
    app_metadata              TEXT CHARACTER SET utf8mb4 NULL,
    app_metadata_version      INT NULL,
    is_deleted                BOOLEAN NOT NULL DEFAULT FALSE,
    file_version              INT NOT NULL,
    -- In the flavour of storage_type; what clients compare.
    check_sum                 VARCHAR(64) CHARACTER SET ascii NULL,
    sha256                    BINARY(32) NULL,
    size_bytes                BIGINT NULL,
    -- The provider's identifier, revision and own hash of the object that holds the current version.
    object_id                 VARCHAR(255) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL,
    object_revision           VARCHAR(255) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL,
    provider_hash             VARCHAR(64) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL,
    -- The master version that this row last changed with.
    changed_at_master_version BIGINT NOT NULL,
    PRIMARY KEY (sharing_group_id, file_uuid),
    KEY file (file_uuid),
    KEY object (owning_user_id, object_id),
    KEY changes (sharing_group_id, changed_at_master_version)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- What a device has prepared for its next commit; nobody else sees it.
CREATE TABLE IF NOT EXISTS staged_changes (
    user_id              BIGINT NOT NULL,
    device_uuid          VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    sharing_group_id     BIGINT NOT NULL,
    file_uuid            VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    kind                 ENUM('upload', 'undelete', 'metadata', 'deletion') NOT NULL,
    file_group_uuid      VARCHAR(36) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci NULL,
    -- Only new files have a creation time here; uploads have an update time.
    created_at           DATETIME NULL,
    updated_at           DATETIME NULL,
    mime_type            VARCHAR(100) CHARACTER SET ascii NULL,
    app_metadata         TEXT CHARACTER SET utf8mb4 NULL,
    app_metadata_version INT NULL,
    file_version         INT NULL,
    check_sum            VARCHAR(64) CHARACTER SET ascii NULL,
    sha256               BINARY(32) NULL,
    size_bytes           BIGINT NULL,
    -- In whose storage the uploaded object lies, and which one it is.
    owning_user_id       BIGINT NULL,
    storage_type         ENUM('Google', 'Dropbox', 'Microsoft') NULL,
    object_id            VARCHAR(255) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL,
    object_revision      VARCHAR(255) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL,
    provider_hash        VARCHAR(64) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL,
    staged_at            DATETIME NOT NULL,
    PRIMARY KEY (user_id, device_uuid, sharing_group_id, file_uuid),
    KEY sharing_group (sharing_group_id),
    KEY object (owning_user_id, object_id),
    KEY age (staged_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- What must still happen in the clouds, and what an upload in progress would leave behind if it died: such a row is
-- an intent, leased by the upload, which removes it on success; once the lease runs out it is work for the jobs role.
CREATE TABLE IF NOT EXISTS outbox (
    outbox_id    BIGINT NOT NULL AUTO_INCREMENT,
    kind         ENUM('deleteObject', 'writeWarningFile') NOT NULL,
    user_id      BIGINT NOT NULL,
    storage_type ENUM('Google', 'Dropbox', 'Microsoft') NOT NULL,
    object_id    VARCHAR(255) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL,
    object_name  VARCHAR(255) NULL,
    -- Nobody but lease_owner touches the row before this time.
    available_at DATETIME NOT NULL,
    lease_owner  VARCHAR(64) CHARACTER SET ascii NULL,
    attempts     INT NOT NULL DEFAULT 0,
    last_error   VARCHAR(255) NULL,
    created_at   DATETIME NOT NULL,
    PRIMARY KEY (outbox_id),
    KEY due (available_at),
    KEY object (user_id, object_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4;

-- Results of exchanged authorization codes: a code works once, but a request may arrive twice.
CREATE TABLE IF NOT EXISTS exchanged_codes (
    code_hash    BINARY(32) NOT NULL,
    credentials  VARBINARY(16384) NOT NULL,
    exchanged_at DATETIME NOT NULL,
    PRIMARY KEY (code_hash),
    KEY age (exchanged_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
