-- Storages on servers that people name: WebDAV, and whatever has the interface of Amazon S3.
--
-- Repeatable. New values at the end of an ENUM are instant. A release that does not know the new values never reads a row
-- that has one, as long as nobody has signed up with such an account.

ALTER TABLE users
    MODIFY COLUMN account_type ENUM(
        'Google', 'Dropbox', 'Microsoft', 'Facebook', 'AppleSignIn', 'WebDAV', 'S3') NOT NULL;

ALTER TABLE files
    MODIFY COLUMN storage_type ENUM('Google', 'Dropbox', 'Microsoft', 'WebDAV', 'S3') NOT NULL;

ALTER TABLE staged_changes
    MODIFY COLUMN storage_type ENUM('Google', 'Dropbox', 'Microsoft', 'WebDAV', 'S3') NULL;

ALTER TABLE outbox
    MODIFY COLUMN storage_type ENUM('Google', 'Dropbox', 'Microsoft', 'WebDAV', 'S3') NULL,
    MODIFY COLUMN account_type ENUM(
        'Google', 'Dropbox', 'Microsoft', 'Facebook', 'AppleSignIn', 'WebDAV', 'S3') NULL;

ALTER TABLE departed_users
    MODIFY COLUMN account_type ENUM(
        'Google', 'Dropbox', 'Microsoft', 'Facebook', 'AppleSignIn', 'WebDAV', 'S3') NOT NULL;
