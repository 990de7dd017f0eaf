-- Which request caused a piece of work, so that the calls that it makes can be traced back. Repeatable; changes no row
-- (instant in MariaDB 10.3 and later). Processes of the release before leave it NULL.

ALTER TABLE outbox
    -- As nginx names it in both logs; NULL for work that no request caused.
    ADD COLUMN IF NOT EXISTS request_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL;
