-- What the bytes of an object are, where its provider's own hash does not tell what clients compare (OneDrive).

ALTER TABLE outbox
    MODIFY kind ENUM('deleteObject', 'writeWarningFile', 'sendPush', 'removePushTopic', 'hashObject') NOT NULL;

CREATE TABLE IF NOT EXISTS content_hashes (
    user_id       BIGINT NOT NULL,
    object_id     VARCHAR(255) CHARACTER SET ascii COLLATE ascii_nopad_bin NOT NULL,
    -- The provider's hash of the bytes that were read; another one means that they have changed since.
    provider_hash VARCHAR(64) CHARACTER SET ascii COLLATE ascii_nopad_bin NOT NULL,
    -- In the flavour of the storage.
    check_sum     VARCHAR(64) CHARACTER SET ascii NOT NULL,
    computed_at   DATETIME NOT NULL,
    PRIMARY KEY (user_id, object_id),
    KEY age (computed_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
