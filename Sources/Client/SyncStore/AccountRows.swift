internal import GRDB
internal import SyncEngine
internal import SyncProtocol

extension AccountState: StoredRow {
    static var table: String { "accountState" }
    static var selectSQL: String {
        """
        SELECT userAppId, epoch, switchId, phase, formerSwitchId, mayBeMovedByServer, isPaused, reuploadedBytes
          FROM accountState
        """
    }
    static var upsertSQL: String {
        """
        INSERT INTO accountState
          (id, userAppId, epoch, switchId, phase, formerSwitchId, mayBeMovedByServer, isPaused, reuploadedBytes)
        VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE
           SET userAppId = excluded.userAppId, epoch = excluded.epoch, switchId = excluded.switchId,
               phase = excluded.phase, formerSwitchId = excluded.formerSwitchId,
               mayBeMovedByServer = excluded.mayBeMovedByServer, isPaused = excluded.isPaused,
               reuploadedBytes = excluded.reuploadedBytes
        """
    }
    static var deleteSQL: String { "DELETE FROM accountState WHERE id = ?" }

    var values: [(any DatabaseValueConvertible)?] {
        [
            userAppID.rawValue, epoch.rawValue, switchID?.rawValue, phase?.rawValue, formerSwitchID?.rawValue,
            mayBeMovedByServer, isPaused, reuploadedBytes,
        ]
    }

    init(stored: ColumnReader) throws {
        self.init(
            userAppID: try stored.required("userAppId") { UserAppID($0) },
            epoch: try stored.requiredVersion("epoch"))
        switchID = try stored.optional("switchId") { AccountSwitchID($0) }
        phase = try stored.optional("phase", Phase.init(rawValue:))
        formerSwitchID = try stored.optional("formerSwitchId") { AccountSwitchID($0) }
        mayBeMovedByServer = try stored.flag("mayBeMovedByServer")
        isPaused = try stored.flag("isPaused")
        reuploadedBytes = try stored.integer("reuploadedBytes")
    }
}

extension ReuploadItem: StoredRow {
    static var table: String { "reuploadItem" }
    static var selectSQL: String {
        """
        SELECT fileUUID, sharingGroupUUID, fileGroupUUID, fileVersion, status, attempts, lastError
          FROM reuploadItem
        """
    }
    static var upsertSQL: String {
        """
        INSERT INTO reuploadItem (fileUUID, sharingGroupUUID, fileGroupUUID, fileVersion, status, attempts, lastError)
        VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (fileUUID) DO UPDATE
           SET fileGroupUUID = excluded.fileGroupUUID, fileVersion = excluded.fileVersion, status = excluded.status,
               attempts = excluded.attempts, lastError = excluded.lastError
        """
    }
    static var deleteSQL: String { "DELETE FROM reuploadItem WHERE fileUUID = ?" }

    var values: [(any DatabaseValueConvertible)?] {
        [
            fileUUID.rawValue, sharingGroupUUID.rawValue, fileGroupUUID?.rawValue, fileVersion.rawValue,
            status.rawValue, attempts, lastError,
        ]
    }

    init(stored: ColumnReader) throws {
        self.init(
            fileUUID: try stored.required("fileUUID") { FileUUID($0) },
            sharingGroupUUID: try stored.required("sharingGroupUUID") { SharingGroupUUID($0) },
            fileGroupUUID: try stored.optional("fileGroupUUID") { FileGroupUUID($0) },
            fileVersion: try stored.requiredVersion("fileVersion"))
        status = try stored.required("status", Status.init(rawValue:))
        attempts = try stored.count("attempts")
        lastError = try stored.optionalText("lastError")
    }
}
