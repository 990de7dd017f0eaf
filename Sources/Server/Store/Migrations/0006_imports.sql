-- What `syncctl import` has taken over from an older server, so that it may run again without undoing what has
-- happened here since. No names, no tokens: only numbers and digests.

CREATE TABLE IF NOT EXISTS imported_users (
    source_user_id      BIGINT NOT NULL,
    -- Without a foreign key: the row stays when the person removes their account, so that they are not brought back.
    user_id             BIGINT NOT NULL,
    -- users.credentials_version right after the import; another one means that the person has signed in here since.
    credentials_version BIGINT NOT NULL,
    imported_at         DATETIME NOT NULL,
    PRIMARY KEY (source_user_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS imported_groups (
    sharing_group_id   BIGINT NOT NULL,
    -- sharing_groups.master_version right after the import; another one means that the group has changed here since.
    master_version     BIGINT NOT NULL,
    -- SHA-256 over everything that the group consisted of at the source.
    content_digest     BINARY(32) NOT NULL,
    -- Staged changes up to this number of the source have been taken over.
    last_source_upload BIGINT NOT NULL,
    imported_at        DATETIME NOT NULL,
    PRIMARY KEY (sharing_group_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
