-- Which device grants may begin a switch of accounts, and what undoes a switch
-- (docs/adr/0094-a-stolen-token-switches-nothing.md).
--
-- Repeatable. New columns at the end of a table are instant. Processes of the release before know none of this: grants that
-- they add have no time, and count from their first use afterwards; a switch that they confirm cannot be undone; a grant that
-- is revoked here is valid for them until they have ended.

ALTER TABLE device_grants
    -- When it was issued; NULL if a process of the release before has added it.
    ADD COLUMN IF NOT EXISTS created_at   DATETIME(6) NULL,
    -- Whether the account was proved when it was issued: by signing up, by a code that was exchanged then, or by a secret.
    ADD COLUMN IF NOT EXISTS is_proved    BOOLEAN NOT NULL DEFAULT FALSE,
    -- When its device last signed in with the account, to the day; NULL if it has not since it has the grant.
    ADD COLUMN IF NOT EXISTS signed_in_at DATETIME NULL,
    -- When it was revoked: it is kept for as long as a switch can be undone.
    ADD COLUMN IF NOT EXISTS revoked_at   DATETIME NULL;

ALTER TABLE device_grants
    ADD KEY IF NOT EXISTS revocation (revoked_at);

-- Grants of earlier releases are as old as their devices are known to be.
UPDATE device_grants g
  LEFT JOIN devices d ON d.user_id = g.user_id AND d.device_uuid = g.device_uuid
   SET g.created_at = COALESCE(LEAST(d.registered_at, g.last_used_at), g.last_used_at), g.signed_in_at = g.last_used_at
 WHERE g.created_at IS NULL;

ALTER TABLE users
    -- Whether somebody has signed up with this account, rather than switched to it.
    ADD COLUMN IF NOT EXISTS has_signed_up BOOLEAN NOT NULL DEFAULT TRUE;

ALTER TABLE retired_accounts
    -- That of the user when they left the account: if nobody has signed up with it, it is not kept for ever.
    ADD COLUMN IF NOT EXISTS has_signed_up BOOLEAN NOT NULL DEFAULT TRUE,
    ADD KEY IF NOT EXISTS age (has_signed_up, retired_at);

ALTER TABLE account_switches
    -- The account that the confirmation left; NULL before, and for switches of earlier releases, which cannot be undone.
    ADD COLUMN IF NOT EXISTS from_provider_user_id  VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NULL,
    ADD COLUMN IF NOT EXISTS from_cloud_folder_name VARCHAR(256) CHARACTER SET utf8mb4 NULL,
    ADD COLUMN IF NOT EXISTS from_cloud_folder_id   VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NULL,
    ADD COLUMN IF NOT EXISTS from_has_signed_up     BOOLEAN NULL,
    -- When the grant was issued with which it was begun.
    ADD COLUMN IF NOT EXISTS grant_created_at       DATETIME(6) NULL,
    -- The switch that this one undoes, and when this one was undone.
    ADD COLUMN IF NOT EXISTS undoes                 VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NULL,
    ADD COLUMN IF NOT EXISTS undone_at              DATETIME NULL;

-- Where the bytes of a user's files were before a switch: an undo gives them back.
CREATE TABLE IF NOT EXISTS former_contents (
    switch_uuid      VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    sharing_group_id BIGINT NOT NULL,
    file_uuid        VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    file_version     INT NOT NULL,
    check_sum        VARCHAR(64) CHARACTER SET ascii NULL,
    size_bytes       BIGINT NULL,
    object_id        VARCHAR(255) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL,
    object_revision  VARCHAR(255) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL,
    provider_hash    VARCHAR(64) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL,
    PRIMARY KEY (switch_uuid, sharing_group_id, file_uuid),
    CONSTRAINT former_contents_switch FOREIGN KEY (switch_uuid) REFERENCES account_switches (switch_uuid)
        ON DELETE CASCADE
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- Whose storage took the new files of a user without one, before they switched to an account with storage.
CREATE TABLE IF NOT EXISTS former_owners (
    switch_uuid      VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    sharing_group_id BIGINT NOT NULL,
    owning_user_id   BIGINT NOT NULL,
    PRIMARY KEY (switch_uuid, sharing_group_id),
    CONSTRAINT former_owners_switch FOREIGN KEY (switch_uuid) REFERENCES account_switches (switch_uuid)
        ON DELETE CASCADE
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
