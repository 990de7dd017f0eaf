-- Push notifications: where people's devices are reached, and pushes as work in the outbox.
--
-- users and outbox are changed in place. The new columns of both come without a copy of the table; the changed kinds are
-- appended to their list, and a column that may now be NULL takes a rebuild of outbox, which is small.

-- One row per device that wants to be notified; a token belongs to one device only, the last that registered it.
CREATE TABLE IF NOT EXISTS push_registrations (
    registration_id  BIGINT NOT NULL AUTO_INCREMENT,
    user_id          BIGINT NOT NULL,
    device_uuid      VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    kind             ENUM('apns', 'fcm', 'sns') NOT NULL,
    -- APNs only: which of its two worlds the token is from; NULL as long as nobody knows.
    environment      ENUM('production', 'sandbox') NULL,
    token            TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL,
    token_hash       BINARY(32) NOT NULL,
    -- SNS only.
    endpoint_arn     VARCHAR(512) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL,
    subscription_arn VARCHAR(512) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL,
    registered_at    DATETIME NOT NULL,
    PRIMARY KEY (registration_id),
    UNIQUE KEY device (user_id, device_uuid),
    UNIQUE KEY token (token_hash),
    CONSTRAINT push_registrations_user FOREIGN KEY (user_id) REFERENCES users (user_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- SNS: the topic that all devices of the user listen to; NULL if there is none.
ALTER TABLE users
    ADD COLUMN IF NOT EXISTS push_topic_arn VARCHAR(512) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL;

ALTER TABLE outbox
    MODIFY COLUMN kind ENUM('deleteObject', 'writeWarningFile', 'sendPush', 'removePushTopic', 'hashObject') NOT NULL,
    -- NULL for work that no cloud storage is asked for.
    MODIFY COLUMN storage_type ENUM('Google', 'Dropbox', 'Microsoft') NULL,
    -- A push is for a group at first; the jobs role makes of it one row per device or topic, each done by itself.
    ADD COLUMN IF NOT EXISTS push_target ENUM('group', 'device', 'topic') NULL,
    ADD COLUMN IF NOT EXISTS sharing_group_id BIGINT NULL,
    ADD COLUMN IF NOT EXISTS registration_id BIGINT NULL,
    -- What people read on their screens.
    ADD COLUMN IF NOT EXISTS message TEXT NULL;
