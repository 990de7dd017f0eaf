-- What phones were told about contents that are gone, and which sealing keys the running processes have.
--
-- Repeatable; touches no existing table. Processes of the release before know neither table.

-- Replies to downloads of files whose contents the owner's storage no longer delivers: one row for each file and reason,
-- so that `syncctl files explain` can say since when. Removed 90 days after the last such reply.
CREATE TABLE IF NOT EXISTS gone_contents (
    sharing_group_id BIGINT NOT NULL,
    file_uuid        VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    reason           ENUM('fileRemovedOrRenamed', 'authTokenExpiredOrRevoked') NOT NULL,
    -- The counts are about this version; they begin anew with another one.
    file_version     INT NOT NULL,
    first_told_at    DATETIME NOT NULL,
    last_told_at     DATETIME NOT NULL,
    times_told       BIGINT NOT NULL,
    -- As nginx names the last such request in both logs.
    last_request_id  VARCHAR(64) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL,
    PRIMARY KEY (sharing_group_id, file_uuid, reason),
    KEY age (last_told_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- One row for each running process of the server, renewed every half minute, so that a sealing key is given up only when
-- nobody needs it. Not in backups.
CREATE TABLE IF NOT EXISTS key_holders (
    process_uuid VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NOT NULL,
    host_name    VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci NOT NULL,
    role         VARCHAR(16) CHARACTER SET ascii NOT NULL,
    -- The number of the process on its host.
    process_id   INT NOT NULL,
    -- Identifiers of keys; they reveal nothing of the keys. The one that seals, and those that open besides, with commas.
    sealing_key  CHAR(8) CHARACTER SET ascii NOT NULL,
    opening_keys VARCHAR(1024) CHARACTER SET ascii NOT NULL,
    seen_at      DATETIME NOT NULL,
    PRIMARY KEY (process_uuid),
    KEY age (seen_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
