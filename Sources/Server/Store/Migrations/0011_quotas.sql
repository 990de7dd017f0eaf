-- Quotas: what each user has done in the present hour, and what makes counting what they have cheap.
--
-- Repeatable. The column comes without a copy of the table; the index is made while others read and write.

-- One row per account and kind of deed. Of accounts, not of users: removing the user and signing up again does not begin
-- a new hour. Removed some time after the hour is over.
CREATE TABLE IF NOT EXISTS quota_windows (
    -- As in exchanged_codes.
    account_hash BINARY(32) NOT NULL,
    quota        VARCHAR(32) CHARACTER SET ascii NOT NULL,
    -- When the hour is over, by the database's clock; the next use begins another one.
    window_end   DATETIME NOT NULL,
    uses         INT NOT NULL,
    PRIMARY KEY (account_hash, quota),
    KEY age (window_end)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- So that adding up what a user has staged, along the primary key, does not read long metadata. Rows that an older release stages count as empty.
ALTER TABLE staged_changes
    ADD COLUMN IF NOT EXISTS app_metadata_bytes INT NOT NULL DEFAULT 0;

UPDATE staged_changes
   SET app_metadata_bytes = OCTET_LENGTH(app_metadata)
 WHERE app_metadata IS NOT NULL
   AND app_metadata_bytes = 0;

ALTER TABLE invitations
    ADD KEY IF NOT EXISTS inviting_user (inviting_user_id, expires_at);
