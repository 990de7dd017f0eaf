-- The manifests in owners' folders (docs/adr/0120-manifests-in-owners-folders.md).
--
-- Repeatable. A new value at the end of an ENUM is instant. Jobs processes of the release before cannot read a job of the
-- new kind: during a rolling upgrade, they pause while one is due, until a process of this release has taken it.

-- The manifest of a group in the folder of an owner, and the one before.
CREATE TABLE IF NOT EXISTS manifests (
    sharing_group_id   BIGINT NOT NULL,
    owning_user_id     BIGINT NOT NULL,
    storage_type       ENUM('Google', 'Dropbox', 'Microsoft', 'WebDAV', 'S3')
        CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL,
    -- The group's version that it states.
    master_version     BIGINT NOT NULL,
    -- Part of the name; rises with each manifest.
    sequence           BIGINT NOT NULL,
    object_id          VARCHAR(255) CHARACTER SET ascii COLLATE ascii_nopad_bin NOT NULL,
    previous_object_id VARCHAR(255) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL,
    size_bytes         BIGINT NOT NULL,
    written_at         DATETIME NOT NULL,
    PRIMARY KEY (sharing_group_id, owning_user_id),
    KEY owner (owning_user_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- The version of each group for which manifests have been scheduled. A group without a row has not been looked at yet.
CREATE TABLE IF NOT EXISTS manifest_scans (
    sharing_group_id BIGINT NOT NULL PRIMARY KEY,
    master_version   BIGINT NOT NULL,
    scanned_at       DATETIME NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- The public keys with which manifests have been signed; published, also when a key is no longer used.
CREATE TABLE IF NOT EXISTS manifest_keys (
    public_key    BINARY(32) NOT NULL PRIMARY KEY,
    first_used_at DATETIME NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

ALTER TABLE outbox
    MODIFY COLUMN kind ENUM('deleteObject', 'writeWarningFile', 'sendPush', 'removePushTopic', 'hashObject', 'revokeGrant',
                            'writeIndexPage', 'writeManifest')
        CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL;
