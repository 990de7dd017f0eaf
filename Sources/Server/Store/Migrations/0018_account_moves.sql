-- Files whose bytes the server moves itself from an account that an identity has switched away from
-- (docs/adr/0083-the-server-moves-contents.md).
--
-- Repeatable: new tables only. Processes of the release before know none of this: a switch that they confirm moves
-- nothing, one of these rows whose file they have got bytes for is dropped when its turn comes, and a user whom they remove
-- takes the rows along.

-- Where the bytes are of files that wait for them, as long as the server can still read them there.
CREATE TABLE IF NOT EXISTS account_moves (
    -- The switch whose confirmation began it.
    switch_uuid       VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    user_id           BIGINT NOT NULL,
    -- The account that was left, and the epoch in which it was the user's.
    account_epoch     BIGINT NOT NULL,
    account_type      ENUM('Google', 'Dropbox', 'Microsoft', 'Facebook', 'AppleSignIn', 'WebDAV', 'S3') NOT NULL,
    provider_user_id  VARCHAR(255) COLLATE utf8mb4_nopad_bin NOT NULL,
    cloud_folder_name VARCHAR(256) NULL,
    cloud_folder_id   VARCHAR(255) COLLATE utf8mb4_nopad_bin NULL,
    -- Sealed for this row; NULL once the move has ended.
    credentials       VARBINARY(16384) NULL,
    -- 'done': everything was tried; 'failed': the account cannot be read any more; 'ended': nobody wants it any more.
    state             ENUM('moving', 'done', 'failed', 'ended') NOT NULL,
    -- When the next file is due; while one is being moved, when its lease ends.
    available_at      DATETIME NOT NULL,
    lease_owner       VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NULL,
    -- How often in succession it had to be put off.
    attempts          INT NOT NULL DEFAULT 0,
    last_error        VARCHAR(255) NULL,
    files_moved       BIGINT NOT NULL DEFAULT 0,
    bytes_moved       BIGINT NOT NULL DEFAULT 0,
    begun_at          DATETIME NOT NULL,
    ended_at          DATETIME NULL,
    PRIMARY KEY (switch_uuid),
    KEY user (user_id),
    KEY due (state, available_at),
    KEY age (ended_at),
    CONSTRAINT account_moves_user FOREIGN KEY (user_id) REFERENCES users (user_id) ON DELETE CASCADE
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_general_nopad_ci;

-- The files of a move that have not been moved, with what files had of their objects before the switch.
CREATE TABLE IF NOT EXISTS moving_contents (
    switch_uuid      VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    sharing_group_id BIGINT NOT NULL,
    file_uuid        VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    file_version     INT NOT NULL,
    object_id        VARCHAR(255) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL,
    object_revision  VARCHAR(255) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL,
    provider_hash    VARCHAR(64) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL,
    available_at     DATETIME NOT NULL,
    attempts         INT NOT NULL DEFAULT 0,
    -- Why the server leaves the file to the phones; NULL as long as it does not.
    failure          VARCHAR(255) NULL,
    PRIMARY KEY (switch_uuid, sharing_group_id, file_uuid),
    KEY file (sharing_group_id, file_uuid),
    KEY due (switch_uuid, failure, available_at),
    CONSTRAINT moving_contents_move FOREIGN KEY (switch_uuid) REFERENCES account_moves (switch_uuid) ON DELETE CASCADE
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_general_nopad_ci;
