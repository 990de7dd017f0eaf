-- The eight tables of a SyncServerII database: names, types and keys as its documentation gives them. Written for these
-- tests; the character set is latin1, as on servers of that time.
CREATE TABLE SharingGroup (
    sharingGroupUUID VARCHAR(36) NOT NULL,
    sharingGroupName VARCHAR(255),
    deleted BOOL NOT NULL,
    UNIQUE (sharingGroupUUID)
) ENGINE = InnoDB DEFAULT CHARSET = latin1;
CREATE TABLE User (
    userId BIGINT NOT NULL AUTO_INCREMENT,
    username VARCHAR(255) NOT NULL,
    accountType VARCHAR(20) NOT NULL,
    credsId VARCHAR(255) NOT NULL,
    creds TEXT NOT NULL,
    cloudFolderName VARCHAR(256),
    pushNotificationTopic TEXT,
    UNIQUE (accountType, credsId),
    UNIQUE (userId)
) ENGINE = InnoDB DEFAULT CHARSET = latin1;
CREATE TABLE DeviceUUID (
    userId BIGINT NOT NULL,
    deviceUUID VARCHAR(36) NOT NULL,
    UNIQUE (deviceUUID)
) ENGINE = InnoDB DEFAULT CHARSET = latin1;
CREATE TABLE Upload (
    uploadId BIGINT NOT NULL AUTO_INCREMENT,
    fileUUID VARCHAR(36) NOT NULL,
    userId BIGINT NOT NULL,
    deviceUUID VARCHAR(36) NOT NULL,
    fileGroupUUID VARCHAR(36),
    sharingGroupUUID VARCHAR(36) NOT NULL,
    creationDate DATETIME,
    updateDate DATETIME,
    mimeType VARCHAR(100),
    appMetaData TEXT,
    appMetaDataVersion INT,
    fileVersion INT,
    state VARCHAR(22) NOT NULL,
    lastUploadedCheckSum TEXT,
    FOREIGN KEY (sharingGroupUUID) REFERENCES SharingGroup (sharingGroupUUID),
    UNIQUE (fileUUID, userId, deviceUUID),
    UNIQUE (uploadId)
) ENGINE = InnoDB DEFAULT CHARSET = latin1;
CREATE TABLE FileIndex (
    fileIndexId BIGINT NOT NULL AUTO_INCREMENT,
    fileUUID VARCHAR(36) NOT NULL,
    userId BIGINT NOT NULL,
    deviceUUID VARCHAR(36) NOT NULL,
    fileGroupUUID VARCHAR(36),
    sharingGroupUUID VARCHAR(36) NOT NULL,
    creationDate DATETIME,
    updateDate DATETIME,
    mimeType VARCHAR(100) NOT NULL,
    appMetaData TEXT,
    appMetaDataVersion INT,
    deleted BOOL NOT NULL,
    fileVersion INT NOT NULL,
    lastUploadedCheckSum TEXT,
    FOREIGN KEY (sharingGroupUUID) REFERENCES SharingGroup (sharingGroupUUID),
    UNIQUE (fileUUID, sharingGroupUUID),
    UNIQUE (fileIndexId)
) ENGINE = InnoDB DEFAULT CHARSET = latin1;
CREATE TABLE SharingInvitation (
    sharingInvitationUUID VARCHAR(36) NOT NULL,
    expiry DATETIME NOT NULL,
    owningUserId BIGINT NOT NULL,
    sharingGroupUUID VARCHAR(36) NOT NULL,
    permission VARCHAR(5) NOT NULL,
    allowSocialAcceptance BOOL NOT NULL,
    numberAcceptors INT UNSIGNED NOT NULL,
    FOREIGN KEY (sharingGroupUUID) REFERENCES SharingGroup (sharingGroupUUID),
    UNIQUE (sharingInvitationUUID)
) ENGINE = InnoDB DEFAULT CHARSET = latin1;
CREATE TABLE SharingGroupUser (
    sharingGroupUserId BIGINT NOT NULL AUTO_INCREMENT,
    sharingGroupUUID VARCHAR(36) NOT NULL,
    userId BIGINT NOT NULL,
    owningUserId BIGINT,
    permission VARCHAR(5),
    FOREIGN KEY (owningUserId) REFERENCES User (userId),
    FOREIGN KEY (userId) REFERENCES User (userId),
    FOREIGN KEY (sharingGroupUUID) REFERENCES SharingGroup (sharingGroupUUID),
    UNIQUE (sharingGroupUUID, userId),
    UNIQUE (sharingGroupUserId)
) ENGINE = InnoDB DEFAULT CHARSET = latin1;
CREATE TABLE MasterVersion (
    sharingGroupUUID VARCHAR(36) NOT NULL,
    masterVersion BIGINT NOT NULL,
    FOREIGN KEY (sharingGroupUUID) REFERENCES SharingGroup (sharingGroupUUID),
    UNIQUE (sharingGroupUUID)
) ENGINE = InnoDB DEFAULT CHARSET = latin1;
