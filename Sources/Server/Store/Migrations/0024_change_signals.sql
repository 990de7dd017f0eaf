-- What a host tells the other hosts so that their listeners learn of its commits at once
-- (docs/adr/0118-a-change-signal-on-nchan.md). Rows live for a minute; a lost one is harmless.
--
-- Repeatable. Processes of the release before neither write nor read it.

CREATE TABLE IF NOT EXISTS change_signals (
    signal_id        BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    -- Identifies the host that has already informed its own listeners.
    origin           VARCHAR(64) CHARACTER SET ascii COLLATE ascii_nopad_bin NOT NULL,
    -- The group that has changed, or the user whose groups have.
    sharing_group_id BIGINT NULL,
    user_id          BIGINT NULL,
    -- Whether the user's streams end, because the right to them has to be proved again.
    ends_streams     BOOLEAN NOT NULL DEFAULT FALSE,
    created_at       DATETIME(3) NOT NULL,
    KEY age (created_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
