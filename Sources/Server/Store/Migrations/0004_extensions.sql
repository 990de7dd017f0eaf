-- Commits that are remembered by their id, batches that commit themselves, and what belongs to a batch.
-- Repeatable; adding the columns changes no row (instant in MariaDB 10.3 and later).

-- Commits that clients named: a repeated id gets the stored reply. Kept for some days.
CREATE TABLE IF NOT EXISTS commits (
    user_id          BIGINT NOT NULL,
    device_uuid      VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    sharing_group_id BIGINT NOT NULL,
    -- What DoneUploads calls commitId; for a batch, its batchUUID.
    commit_id        VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    -- SHA-256 of everything the request said, so that another request under the same id is noticed.
    request_hash     BINARY(32) NOT NULL,
    -- The master version that the commit led to.
    master_version   BIGINT NOT NULL,
    transferred      INT NOT NULL,
    committed_at     DATETIME NOT NULL,
    PRIMARY KEY (user_id, device_uuid, sharing_group_id, commit_id),
    KEY age (committed_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- The requests that a batch's commit was made of, for repetitions that come after it. Kept as long as the commit.
CREATE TABLE IF NOT EXISTS commit_members (
    user_id          BIGINT NOT NULL,
    device_uuid      VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    sharing_group_id BIGINT NOT NULL,
    commit_id        VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    file_uuid        VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    request_hash     BINARY(32) NOT NULL,
    -- The dates in the reply to an upload.
    created_at       DATETIME NULL,
    updated_at       DATETIME NULL,
    committed_at     DATETIME NOT NULL,
    PRIMARY KEY (user_id, device_uuid, sharing_group_id, commit_id, file_uuid),
    KEY age (committed_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- Batches whose last member has not arrived yet.
CREATE TABLE IF NOT EXISTS batches (
    user_id          BIGINT NOT NULL,
    device_uuid      VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    sharing_group_id BIGINT NOT NULL,
    batch_uuid       VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    -- How many files it changes, and from which master version on it is to be committed.
    member_count     INT NOT NULL,
    master_version   BIGINT NOT NULL,
    push_message     TEXT CHARACTER SET utf8mb4 NULL,
    -- When its newest member arrived: it expires as a whole.
    changed_at       DATETIME NOT NULL,
    PRIMARY KEY (user_id, device_uuid, sharing_group_id, batch_uuid),
    KEY age (changed_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- NULL: waits for DoneUploads. A member counts only if it was sent, or sent again, for the master version that the batch
-- is to be committed from.
ALTER TABLE staged_changes
    ADD COLUMN IF NOT EXISTS batch_uuid VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NULL,
    ADD COLUMN IF NOT EXISTS batch_master_version BIGINT NULL,
    ADD COLUMN IF NOT EXISTS batch_request_hash BINARY(32) NULL;
