-- Uploads whose bytes clients send to the owner's storage themselves (docs/adr/0084-direct-bytes.md).
--
-- Repeatable; a new column at the end of a table is instant. Processes of the release before do not know it: to them such an
-- upload is one whose bytes come in pieces, which it may become at any time.

ALTER TABLE resumable_uploads
    -- Until when an address that a client has got works, at most. NULL: it has got none.
    ADD COLUMN IF NOT EXISTS direct_until DATETIME NULL;
