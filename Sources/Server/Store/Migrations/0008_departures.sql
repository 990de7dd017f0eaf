-- What is still needed of removed users for a short while: the way into their storage, to clear there what was uploaded
-- and never committed. Repeatable; touches no existing table.

CREATE TABLE IF NOT EXISTS departed_users (
    -- As it was in users; never given to anybody else.
    user_id           BIGINT NOT NULL,
    account_type      ENUM('Google', 'Dropbox', 'Microsoft', 'Facebook', 'AppleSignIn') NOT NULL,
    provider_user_id  VARCHAR(255) COLLATE utf8mb4_nopad_bin NOT NULL,
    cloud_folder_name VARCHAR(256) NULL,
    cloud_folder_id   VARCHAR(255) COLLATE utf8mb4_nopad_bin NULL,
    -- Sealed as they were, for the same user and column.
    credentials       VARBINARY(16384) NOT NULL,
    -- When the row goes, whether or not all is cleared.
    forgotten_at      DATETIME NOT NULL,
    PRIMARY KEY (user_id),
    KEY account (account_type, provider_user_id),
    KEY forgotten_at (forgotten_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_general_nopad_ci;
