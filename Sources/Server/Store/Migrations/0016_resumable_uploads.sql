-- Uploads that go on in another request, on whatever host it arrives.
--
-- Not in backups. Repeatable; touches no existing table. Processes of the release before do not know the table.

CREATE TABLE IF NOT EXISTS resumable_uploads (
    upload_uuid     VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    -- Who may go on with it.
    user_id         BIGINT NOT NULL,
    device_uuid     VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    -- The parameters of UploadFile as the client sent them, and SHA-256 of them without the master version and of the
    -- length: the same upload is not begun twice.
    request         MEDIUMTEXT CHARACTER SET utf8mb4 NOT NULL,
    request_hash    BINARY(32) NOT NULL,
    length_bytes    BIGINT NOT NULL,
    -- How many bytes the client need not send again: the provider has them, and they are hashed.
    stored_bytes    BIGINT NOT NULL,
    -- Whether the provider has just so many, and no more.
    is_certain      BOOLEAN NOT NULL,
    -- Where the hashes of those bytes stand.
    hash_state      VARBINARY(1024) NOT NULL,
    -- Sealed: what the provider's adapter needs to go on. NULL: nothing is there yet.
    session         MEDIUMBLOB NULL,
    -- The storage, the object that the upload becomes, and its intent in the outbox. NULL: no bytes have come yet.
    owning_user_id  BIGINT NULL,
    storage_type    VARCHAR(32) CHARACTER SET ascii NULL,
    object_name     VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NULL,
    spare_name      VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NULL,
    object_id       VARCHAR(255) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL,
    folder_id       VARCHAR(255) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL,
    outbox_id       BIGINT NULL,
    -- JSON: the object that holds all of the bytes, as long as it is not staged.
    content         TEXT CHARACTER SET utf8mb4 NULL,
    -- The reply to UploadFile, once the upload is staged.
    reply           TEXT CHARACTER SET utf8mb4 NULL,
    -- The request that is sending bytes; whoever puts another name here takes the upload over.
    writer          VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NULL,
    created_at      DATETIME NOT NULL,
    expires_at      DATETIME NOT NULL,
    PRIMARY KEY (upload_uuid),
    UNIQUE KEY request (user_id, device_uuid, request_hash),
    KEY owner (owning_user_id),
    KEY age (expires_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
