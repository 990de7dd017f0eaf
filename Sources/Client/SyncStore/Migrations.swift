internal import GRDB

/// The schema's history. A released migration never changes.
enum Migrations {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1 Tables") { db in try db.execute(sql: tables) }
        migrator.registerMigration("2 Versions of indexes and commits") { db in try db.execute(sql: versions) }
        migrator.registerMigration("3 Indexes of references") { db in try db.execute(sql: references) }
        migrator.registerMigration("4 Batches") { db in try db.execute(sql: batches) }
        migrator.registerMigration("5 Account switches") { db in try db.execute(sql: accountSwitches) }
        migrator.registerMigration("6 Proposals of further switches") { db in try db.execute(sql: furtherSwitches) }
        migrator.registerMigration("7 Moves by the server") { db in try db.execute(sql: serverMoves) }
        migrator.registerMigration("8 Refusals and restored servers") { db in try db.execute(sql: refusals) }
        migrator.registerMigration("9 A queue for each group") { db in try db.execute(sql: queues) }
        migrator.registerMigration("10 Downloads on demand") { db in try db.execute(sql: onDemand) }
        return migrator
    }

    /// Enumerations are text, times are seconds since 1970 (UTC), UUIDs are stored as the app wrote them.
    static let tables = """
        CREATE TABLE sharingEntry (
          sharingGroupUUID TEXT PRIMARY KEY NOT NULL,
          name TEXT, permission TEXT NOT NULL DEFAULT 'read' CHECK (permission IN ('read','write','admin')),
          masterVersion INTEGER NOT NULL DEFAULT 0,
          cloudStorageType TEXT,
          syncNeeded INTEGER NOT NULL DEFAULT 0,
          removedFromGroup INTEGER NOT NULL DEFAULT 0,
          creationPending INTEGER NOT NULL DEFAULT 0
        );
        CREATE TABLE directoryEntry (
          fileUUID TEXT PRIMARY KEY NOT NULL,
          sharingGroupUUID TEXT NOT NULL REFERENCES sharingEntry(sharingGroupUUID),
          fileGroupUUID TEXT, mimeType TEXT, cloudStorageType TEXT,
          fileVersion INTEGER,
          appMetaData TEXT, appMetaDataVersion INTEGER,
          creationDate REAL, updateDate REAL,
          deletedLocally INTEGER NOT NULL DEFAULT 0,
          deletedOnServer INTEGER NOT NULL DEFAULT 0,
          goneReason TEXT, forceDownload INTEGER NOT NULL DEFAULT 0,
          CHECK (deletedLocally = 0 OR deletedOnServer = 1),
          CHECK ((appMetaDataVersion IS NULL) = (appMetaData IS NULL))
        );
        CREATE INDEX directoryEntry_group ON directoryEntry(sharingGroupUUID, fileGroupUUID);
        CREATE TABLE uploadQueue (
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          state TEXT NOT NULL CHECK (state IN ('open','closed','dead')),
          closedSeq INTEGER UNIQUE,
          sharingGroupUUID TEXT,
          pushNotificationMessage TEXT, commitId TEXT, createdAt REAL NOT NULL
        );
        CREATE UNIQUE INDEX uploadQueue_oneOpen ON uploadQueue(state) WHERE state = 'open';
        CREATE TABLE uploadItem (
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          queueId INTEGER NOT NULL REFERENCES uploadQueue(id) ON DELETE CASCADE,
          kind TEXT NOT NULL
            CHECK (kind IN ('file','appMetaData','deletion','groupCreate','groupUpdate','groupRemoveUser')),
          status TEXT NOT NULL CHECK (status IN ('notStarted','delayed','uploading','uploaded')),
          sharingGroupUUID TEXT NOT NULL,
          fileUUID TEXT, fileGroupUUID TEXT, mimeType TEXT,
          stagedFileVersion INTEGER, appMetaData TEXT, stagedAppMetaDataVersion INTEGER,
          urlBase TEXT, urlPath TEXT, ownsFile INTEGER NOT NULL DEFAULT 0,
          fileSize INTEGER, fileModified REAL, sha256 TEXT, checkSum TEXT,
          uploadUndeletion INTEGER NOT NULL DEFAULT 0, goneReason TEXT, newGroupName TEXT,
          resumeURL TEXT, resumeOffset INTEGER, attempts INTEGER NOT NULL DEFAULT 0, lastError TEXT,
          CHECK (kind NOT IN ('file','appMetaData','deletion') OR fileUUID IS NOT NULL),
          CHECK (kind <> 'file' OR urlPath IS NOT NULL), CHECK (kind <> 'appMetaData' OR appMetaData IS NOT NULL)
        );
        CREATE INDEX uploadItem_file ON uploadItem(fileUUID);
        CREATE UNIQUE INDEX uploadItem_onePerQueue ON uploadItem(queueId, fileUUID) WHERE fileUUID IS NOT NULL;
        CREATE TABLE downloadGroup (
          id INTEGER PRIMARY KEY AUTOINCREMENT, sharingGroupUUID TEXT NOT NULL, fileGroupUUID TEXT,
          status TEXT NOT NULL CHECK (status IN ('notStarted','downloading','downloaded')),
          masterVersion INTEGER NOT NULL
        );
        CREATE UNIQUE INDEX downloadGroup_one ON downloadGroup(sharingGroupUUID, fileGroupUUID)
          WHERE fileGroupUUID IS NOT NULL;
        CREATE TABLE downloadItem (
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          groupId INTEGER NOT NULL REFERENCES downloadGroup(id) ON DELETE CASCADE,
          fileUUID TEXT NOT NULL UNIQUE, kind TEXT NOT NULL CHECK (kind IN ('file','appMetaData','deletion')),
          status TEXT NOT NULL CHECK (status IN ('notStarted','downloading','downloaded')),
          mimeType TEXT, fileVersion INTEGER NOT NULL, appMetaDataVersion INTEGER, appMetaData TEXT,
          cloudStorageType TEXT, creationDate REAL, updateDate REAL, urlBase TEXT, urlPath TEXT,
          contentsChanged INTEGER NOT NULL DEFAULT 0, goneReason TEXT, resolution TEXT
        );
        CREATE TABLE transferCache (
          id INTEGER PRIMARY KEY AUTOINCREMENT, direction TEXT NOT NULL CHECK (direction IN ('up','down')),
          fileUUID TEXT NOT NULL, fileVersion INTEGER NOT NULL, requestKey TEXT NOT NULL UNIQUE,
          taskIdentifier INTEGER, state TEXT NOT NULL CHECK (state IN ('running','finished')),
          httpStatus INTEGER, messageParams TEXT, body TEXT, urlBase TEXT, urlPath TEXT, cachedAt REAL NOT NULL,
          UNIQUE (direction, fileUUID, fileVersion)
        );
        CREATE TABLE clientState (key TEXT PRIMARY KEY NOT NULL, value TEXT);
        """

    /// The index version up to which the directory is current, and the master version named by a commit whose outcome
    /// is unknown.
    static let versions = """
        ALTER TABLE sharingEntry ADD COLUMN indexedVersion INTEGER;
        ALTER TABLE uploadQueue ADD COLUMN commitVersion INTEGER;
        """

    /// SQLite searches for children whenever a parent is removed; without an index it scans the whole table. See
    /// https://www.sqlite.org/foreignkeys.html#fk_indexes
    static let references = """
        CREATE INDEX uploadItem_queue ON uploadItem(queueId);
        CREATE INDEX downloadItem_downloadGroup ON downloadItem(groupId);
        """

    /// The batch in which a queue is being sent.
    static let batches = """
        ALTER TABLE uploadQueue ADD COLUMN batchUUID TEXT;
        """

    /// The identity above the account, a switch of the account, and the resulting uploads.
    static let accountSwitches = """
        CREATE TABLE accountState (
          id INTEGER PRIMARY KEY NOT NULL CHECK (id = 1),
          userAppId TEXT NOT NULL, epoch INTEGER NOT NULL,
          switchId TEXT, phase TEXT CHECK (phase IN ('proposed','confirming','reuploading')),
          isPaused INTEGER NOT NULL DEFAULT 0, reuploadedBytes INTEGER NOT NULL DEFAULT 0,
          CHECK ((phase IS NULL) = (switchId IS NULL))
        );
        CREATE TABLE reuploadItem (
          fileUUID TEXT PRIMARY KEY NOT NULL, sharingGroupUUID TEXT NOT NULL, fileGroupUUID TEXT,
          fileVersion INTEGER NOT NULL,
          status TEXT NOT NULL
            CHECK (status IN ('pending','uploading','done','unavailable','superseded','failed')),
          attempts INTEGER NOT NULL DEFAULT 0, lastError TEXT
        );
        ALTER TABLE directoryEntry ADD COLUMN owningUserId INTEGER;
        ALTER TABLE directoryEntry ADD COLUMN awaitingReupload INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE downloadItem ADD COLUMN awaitingReupload INTEGER NOT NULL DEFAULT 0;
        """

    /// The switch that continues while another one is proposed.
    static let furtherSwitches = """
        ALTER TABLE accountState ADD COLUMN formerSwitchId TEXT;
        """

    /// Files that a restored server has lost. Uploads that counted as permanently refused are sent again. Changes that
    /// wait for storage are in a closed queue with the number of their original queue, so numbers are no longer unique.
    static let refusals = """
        ALTER TABLE sharingEntry ADD COLUMN restoreMark TEXT;
        ALTER TABLE sharingEntry ADD COLUMN versionBeforeRestore INTEGER;
        ALTER TABLE sharingEntry ADD COLUMN restoredVersion INTEGER;
        ALTER TABLE directoryEntry ADD COLUMN newerVersion INTEGER;
        UPDATE directoryEntry SET newerVersion = fileVersion
         WHERE deletedOnServer = 1 AND deletedLocally = 0
           AND NOT EXISTS (SELECT 1 FROM uploadItem WHERE uploadItem.fileUUID = directoryEntry.fileUUID);
        UPDATE uploadItem SET status = 'notStarted' WHERE goneReason IS NOT NULL;
        ALTER TABLE uploadItem DROP COLUMN goneReason;
        CREATE TABLE newUploadQueue (
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          state TEXT NOT NULL CHECK (state IN ('open','closed','dead')),
          closedSeq INTEGER,
          sharingGroupUUID TEXT,
          pushNotificationMessage TEXT, commitId TEXT, createdAt REAL NOT NULL,
          commitVersion INTEGER, batchUUID TEXT
        );
        INSERT INTO newUploadQueue (id, state, closedSeq, sharingGroupUUID, pushNotificationMessage, commitId, createdAt,
                                    commitVersion, batchUUID)
        SELECT id, state, closedSeq, sharingGroupUUID, pushNotificationMessage, commitId, createdAt, commitVersion, batchUUID
          FROM uploadQueue;
        DROP TABLE uploadQueue;
        ALTER TABLE newUploadQueue RENAME TO uploadQueue;
        CREATE UNIQUE INDEX uploadQueue_oneOpen ON uploadQueue(state) WHERE state = 'open';
        """

    /// Each group has its own open queue. The single one without changes belonged to no group.
    static let queues = """
        DROP INDEX uploadQueue_oneOpen;
        DELETE FROM uploadQueue WHERE sharingGroupUUID IS NULL;
        CREATE UNIQUE INDEX uploadQueue_oneOpen ON uploadQueue(sharingGroupUUID) WHERE state = 'open';
        """

    /// Groups whose files are downloaded on demand, and the contents that the app has.
    static let onDemand = """
        ALTER TABLE sharingEntry ADD COLUMN downloadPolicy TEXT NOT NULL DEFAULT 'automatic'
          CHECK (downloadPolicy IN ('automatic','onDemand'));
        ALTER TABLE sharingEntry ADD COLUMN downloadsRest INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE directoryEntry ADD COLUMN isIndexOnly INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE directoryEntry ADD COLUMN downloadPriority INTEGER NOT NULL DEFAULT 1;
        ALTER TABLE directoryEntry ADD COLUMN contentBytes INTEGER;
        ALTER TABLE directoryEntry ADD COLUMN usedAt REAL;
        ALTER TABLE downloadGroup ADD COLUMN priority INTEGER NOT NULL DEFAULT 1;
        """

    /// Whether the server itself may be moving the files of a switch.
    static let serverMoves = """
        ALTER TABLE accountState ADD COLUMN mayBeMovedByServer INTEGER NOT NULL DEFAULT 0;
        """
}
