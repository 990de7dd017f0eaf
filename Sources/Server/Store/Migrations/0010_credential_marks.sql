-- What must be known of people's tokens without opening their sealed records, and what a wrong key must not destroy.
-- Repeatable; new columns at the end of a table are instant. Processes of the release before leave them NULL.

ALTER TABLE users
    -- A record that could not be opened when another one without a refresh token took its place: should its key come
    -- back, its refresh token counts again. NULL as soon as a refresh token is stored.
    ADD COLUMN IF NOT EXISTS former_credentials VARBINARY(16384) NULL,
    -- When the provider was last found to say that the person has withdrawn their consent (Apple): no identity token that
    -- was made before counts. Not only in the sealed record, with which it would be lost.
    ADD COLUMN IF NOT EXISTS consent_withdrawn_at DATETIME NULL,
    -- Whether the tokens in credentials include a refresh token; NULL if nobody has said.
    ADD COLUMN IF NOT EXISTS has_refresh_token BOOLEAN NULL;
