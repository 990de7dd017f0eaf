-- Grants of removed users that are to be given back to their providers, and codes that one request at a time exchanges.
--
-- Repeatable. New columns at the end of a table and new values at the end of an ENUM are instant, an index on a column
-- that is NULL everywhere is made online; `credentials` of exchanged_codes, which becomes nullable, is rebuilt (a day's
-- codes, some hundreds of rows).

ALTER TABLE outbox
    MODIFY COLUMN kind ENUM(
        'deleteObject', 'writeWarningFile', 'sendPush', 'removePushTopic', 'hashObject', 'revokeGrant') NOT NULL,
    -- Whose grant is revoked: the user's row is gone by then. SHA-256 of the account's type and identifier.
    ADD COLUMN IF NOT EXISTS account_type ENUM('Google', 'Dropbox', 'Microsoft', 'Facebook', 'AppleSignIn') NULL,
    ADD COLUMN IF NOT EXISTS account_hash BINARY(32) NULL,
    -- What the user's row had in users.credentials, under the same seal, which is bound to user_id.
    ADD COLUMN IF NOT EXISTS credentials VARBINARY(16384) NULL,
    -- Until then the provider may be being asked; before and after that the account may come back and keep its grant.
    ADD COLUMN IF NOT EXISTS asked_until DATETIME(3) NULL,
    ADD INDEX IF NOT EXISTS account (account_hash);

-- A row without credentials: a request is exchanging the code (until lease_until, by the database's clock), or the code is
-- spent: nobody sends it to the provider again.
ALTER TABLE exchanged_codes
    MODIFY COLUMN credentials VARBINARY(16384) NULL,
    ADD COLUMN IF NOT EXISTS account_hash BINARY(32) NULL,
    ADD COLUMN IF NOT EXISTS lease_owner VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NULL,
    ADD COLUMN IF NOT EXISTS lease_until DATETIME(3) NULL,
    ADD INDEX IF NOT EXISTS account (account_hash);
