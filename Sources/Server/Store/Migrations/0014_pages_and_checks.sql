-- The page in each person's folder, and what checks of the clouds have to remember.
--
-- Repeatable. A new value at the end of an ENUM is instant; processes of the release before know neither the tables nor
-- the new kind of work, and there is none until the configuration asks for it.

-- The page in an owner's folder that lists their files: which object it is, and which one is being written.
CREATE TABLE IF NOT EXISTS index_pages (
    user_id            BIGINT NOT NULL,
    -- NULL: there is no page that we know of.
    object_id          VARCHAR(255) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL,
    -- SHA-256 of the bytes of the page in object_id.
    content_hash       BINARY(32) NULL,
    -- What is about to be stored, before the first byte is sent: by its hashes, it is recognised after a crash.
    next_object_id     VARCHAR(255) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL,
    next_content_hash  BINARY(32) NULL,
    next_provider_hash VARCHAR(64) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL,
    -- Nobody but lease_owner writes the page before this time, by the database's clock.
    lease_owner        VARCHAR(64) CHARACTER SET ascii NULL,
    lease_until        DATETIME NULL,
    PRIMARY KEY (user_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

ALTER TABLE outbox
    MODIFY COLUMN kind ENUM(
        'deleteObject', 'writeWarningFile', 'sendPush', 'removePushTopic', 'hashObject', 'revokeGrant',
        'writeIndexPage') NOT NULL;

-- The check of the clouds in progress, or interrupted: one row at most.
CREATE TABLE IF NOT EXISTS cloud_checks (
    check_id   INT NOT NULL,
    -- A check that finds another one here has been superseded, and ends.
    run_uuid   VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    -- JSON: the last user that was examined, and what was found so far.
    state      MEDIUMTEXT CHARACTER SET utf8mb4 NOT NULL,
    changed_at DATETIME NOT NULL,
    PRIMARY KEY (check_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- Times for which this database knows nothing of what was uploaded: from a backup to its restoration. Objects of such a
-- time are never taken for left over.
CREATE TABLE IF NOT EXISTS restorations (
    backup_taken_at DATETIME NOT NULL,
    restored_at     DATETIME NOT NULL,
    PRIMARY KEY (backup_taken_at, restored_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
