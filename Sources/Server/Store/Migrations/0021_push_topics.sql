-- The app that a device's token at Apple's push service belongs to, where a server notifies several.
--
-- Repeatable; a new column at the end of a table is instant. Processes of the release before do not read it.

ALTER TABLE push_registrations
    -- The bundle identifier; NULL while it is unknown, and at other services.
    ADD COLUMN IF NOT EXISTS topic VARCHAR(255) CHARACTER SET ascii COLLATE ascii_nopad_bin NULL;
