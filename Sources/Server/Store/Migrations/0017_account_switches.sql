-- Accounts that people switch: an identity above the account, its devices' grants, the accounts that it left, and the
-- switches themselves (docs/adr/0079-account-switches.md).
--
-- Repeatable. New columns at the end of a table are instant. Processes of the release before know none of this: users
-- that they add get their identity when somebody asks for it.

ALTER TABLE users
    -- How clients know the identity; NULL until a client asks for it.
    ADD COLUMN IF NOT EXISTS user_app_id   VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NULL,
    -- How often the identity has switched accounts. Tokens and folder in this row are those of the account of this epoch.
    ADD COLUMN IF NOT EXISTS account_epoch BIGINT NOT NULL DEFAULT 0;

ALTER TABLE users
    ADD UNIQUE KEY IF NOT EXISTS user_app_id (user_app_id);

ALTER TABLE files
    -- Whether the owner's present account has the bytes: 'awaiting' from a switch until somebody uploads them again,
    -- 'missing' once the owner has given up on that. check_sum and size_bytes stay, by which the bytes are recognised;
    -- check_sum is in the flavour of the account that had them. Of deleted files without meaning.
    ADD COLUMN IF NOT EXISTS content_state ENUM('stored', 'awaiting', 'missing') NOT NULL DEFAULT 'stored';

ALTER TABLE sharing_groups
    -- Rises when bytes are uploaded again, which the master version does not tell: for the tag of Index.
    ADD COLUMN IF NOT EXISTS reuploads BIGINT NOT NULL DEFAULT 0;

-- Accounts that an identity has switched away from. None of them is in users; whoever signs in with one is told so.
CREATE TABLE IF NOT EXISTS retired_accounts (
    account_type     ENUM('Google', 'Dropbox', 'Microsoft', 'Facebook', 'AppleSignIn', 'WebDAV', 'S3') NOT NULL,
    provider_user_id VARCHAR(255) COLLATE utf8mb4_nopad_bin NOT NULL,
    user_id          BIGINT NOT NULL,
    -- Where the files are that the switch left there.
    cloud_folder_name VARCHAR(256) NULL,
    retired_at       DATETIME NOT NULL,
    PRIMARY KEY (account_type, provider_user_id),
    KEY user (user_id),
    CONSTRAINT retired_accounts_user FOREIGN KEY (user_id) REFERENCES users (user_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_general_nopad_ci;

-- What proves that a device belongs to an identity when its account cannot be used any more.
CREATE TABLE IF NOT EXISTS device_grants (
    -- SHA-256 of the secret.
    grant_hash    BINARY(32) NOT NULL,
    user_id       BIGINT NOT NULL,
    device_uuid   VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    -- That of the user when it was last used: a lower one than theirs means that the device has to sign in again.
    account_epoch BIGINT NOT NULL,
    -- To the day.
    last_used_at  DATETIME NOT NULL,
    PRIMARY KEY (grant_hash),
    KEY device (user_id, device_uuid),
    KEY age (last_used_at),
    CONSTRAINT device_grants_user FOREIGN KEY (user_id) REFERENCES users (user_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS account_switches (
    switch_uuid         VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    user_id             BIGINT NOT NULL,
    -- 'proposed' has changed nothing yet; 'reuploading' from its confirmation on.
    state               ENUM('proposed', 'reuploading', 'finished') NOT NULL,
    from_account_type   ENUM('Google', 'Dropbox', 'Microsoft', 'Facebook', 'AppleSignIn', 'WebDAV', 'S3') NOT NULL,
    to_account_type     ENUM('Google', 'Dropbox', 'Microsoft', 'Facebook', 'AppleSignIn', 'WebDAV', 'S3') NOT NULL,
    to_provider_user_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL,
    -- What becomes the user's with the confirmation, sealed as in users; NULL afterwards.
    cloud_folder_name   VARCHAR(256) CHARACTER SET utf8mb4 NULL,
    cloud_folder_id     VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NULL,
    credentials         VARBINARY(16384) NULL,
    has_refresh_token   BOOLEAN NULL,
    -- The epoch of the user that the confirmation led to, and how many files it made wait.
    account_epoch       BIGINT NULL,
    files_total         BIGINT NULL,
    begun_at            DATETIME NOT NULL,
    -- When an unconfirmed one is void.
    expires_at          DATETIME NOT NULL,
    confirmed_at        DATETIME NULL,
    finished_at         DATETIME NULL,
    PRIMARY KEY (switch_uuid),
    KEY user (user_id, begun_at),
    KEY target (to_account_type, to_provider_user_id),
    KEY expiry (state, expires_at),
    CONSTRAINT account_switches_user FOREIGN KEY (user_id) REFERENCES users (user_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
