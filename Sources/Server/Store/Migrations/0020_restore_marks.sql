-- What clients compare to notice that the database was put back to an earlier state (docs/protocol.md, section 6.6).
--
-- Repeatable; new columns at the end of a table are instant. Processes of the release before do not send them.

ALTER TABLE sharing_groups
    -- The same for all groups of one restoration; NULL for a group that was created after it, or if there was none.
    ADD COLUMN IF NOT EXISTS restore_mark VARCHAR(36) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL,
    -- master_version right after the restoration; later versions are changes since then. NULL without a mark.
    ADD COLUMN IF NOT EXISTS restored_master_version BIGINT NULL;
