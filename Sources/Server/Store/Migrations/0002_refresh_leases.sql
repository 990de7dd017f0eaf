-- One renewal of tokens at a time per account, and Apple's notices, which may come more than once.
--
-- Repeatable; the first statement adds nullable columns at the end of the table, which InnoDB does at once
-- (ALGORITHM=INSTANT) and without locking it.

-- Who is asking the provider for new tokens of this user, and until when nobody else may. A lease is a committed UPDATE,
-- since row locks are local to a node of a Galera cluster; times are the database's, as hosts' clocks differ.
ALTER TABLE users
    ADD COLUMN IF NOT EXISTS refresh_lease_owner VARCHAR(36) CHARACTER SET ascii COLLATE ascii_general_nopad_ci NULL,
    ADD COLUMN IF NOT EXISTS refresh_lease_until DATETIME(3) NULL;

-- Notices of Apple that were handled, by the SHA-256 of their identifier.
CREATE TABLE IF NOT EXISTS apple_notices (
    identifier_hash BINARY(32) NOT NULL,
    handled_at      DATETIME NOT NULL,
    PRIMARY KEY (identifier_hash),
    KEY handled_at (handled_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
