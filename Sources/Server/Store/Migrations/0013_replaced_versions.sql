-- Which version of which file an object held that waits for its deletion, so that a download of that version can be
-- finished. Repeatable; the columns come without a copy of the table. NULL in rows of older releases, and for objects that
-- no committed version held.

ALTER TABLE outbox
    -- Of the file that sharing_group_id contains.
    ADD COLUMN IF NOT EXISTS file_uuid       VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NULL,
    ADD COLUMN IF NOT EXISTS file_version    INT NULL,
    -- As in files.
    ADD COLUMN IF NOT EXISTS check_sum       VARCHAR(64) CHARACTER SET ascii NULL,
    ADD COLUMN IF NOT EXISTS size_bytes      BIGINT NULL,
    ADD COLUMN IF NOT EXISTS object_revision VARCHAR(255) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL,
    ADD COLUMN IF NOT EXISTS provider_hash   VARCHAR(64) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL;

ALTER TABLE outbox
    ADD KEY IF NOT EXISTS replaced (file_uuid, file_version);
