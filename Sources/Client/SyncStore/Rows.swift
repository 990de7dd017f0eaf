import Foundation
import GRDB
import SyncEngine
import SyncProtocol

extension SharingEntry: StoredRow {
    static var table: String { "sharingEntry" }
    static var selectSQL: String {
        """
        SELECT sharingGroupUUID, name, permission, masterVersion, cloudStorageType, syncNeeded, removedFromGroup,
               creationPending, indexedVersion, restoreMark, versionBeforeRestore, restoredVersion, downloadPolicy,
               downloadsRest
          FROM sharingEntry
        """
    }
    static var upsertSQL: String {
        """
        INSERT INTO sharingEntry (sharingGroupUUID, name, permission, masterVersion, cloudStorageType, syncNeeded,
                                  removedFromGroup, creationPending, indexedVersion, restoreMark,
                                  versionBeforeRestore, restoredVersion, downloadPolicy, downloadsRest)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (sharingGroupUUID) DO UPDATE
           SET name = excluded.name, permission = excluded.permission, masterVersion = excluded.masterVersion,
               cloudStorageType = excluded.cloudStorageType, syncNeeded = excluded.syncNeeded,
               removedFromGroup = excluded.removedFromGroup, creationPending = excluded.creationPending,
               indexedVersion = excluded.indexedVersion, restoreMark = excluded.restoreMark,
               versionBeforeRestore = excluded.versionBeforeRestore, restoredVersion = excluded.restoredVersion,
               downloadPolicy = excluded.downloadPolicy, downloadsRest = excluded.downloadsRest
        """
    }
    static var deleteSQL: String { "DELETE FROM sharingEntry WHERE sharingGroupUUID = ?" }

    var values: [(any DatabaseValueConvertible)?] {
        [
            sharingGroupUUID.rawValue, name, permission.rawValue, masterVersion.rawValue, cloudStorageType?.rawValue,
            syncNeeded, removedFromGroup, creationPending, indexedVersion?.rawValue, restoreMark?.rawValue,
            versionBeforeRestore?.rawValue, restoredVersion?.rawValue, downloadPolicy.rawValue,
            downloadsRest,
        ]
    }

    init(stored: ColumnReader) throws {
        self.init(
            sharingGroupUUID: try stored.required("sharingGroupUUID") { SharingGroupUUID($0) },
            name: try stored.optionalText("name"),
            permission: try stored.required("permission", Permission.init(rawValue:)))
        masterVersion = try stored.requiredVersion("masterVersion")
        cloudStorageType = try stored.optional("cloudStorageType", CloudStorageType.init(rawValue:))
        syncNeeded = try stored.flag("syncNeeded")
        removedFromGroup = try stored.flag("removedFromGroup")
        creationPending = try stored.flag("creationPending")
        indexedVersion = try stored.version("indexedVersion")
        restoreMark = try stored.optional("restoreMark") { RestoreMark($0) }
        versionBeforeRestore = try stored.version("versionBeforeRestore")
        restoredVersion = try stored.version("restoredVersion")
        downloadPolicy = try stored.required("downloadPolicy", DownloadPolicy.init(rawValue:))
        downloadsRest = try stored.flag("downloadsRest")
    }
}

extension DirectoryEntry: StoredRow {
    static var table: String { "directoryEntry" }
    static var selectSQL: String {
        """
        SELECT fileUUID, sharingGroupUUID, fileGroupUUID, mimeType, cloudStorageType, fileVersion, appMetaData,
               appMetaDataVersion, creationDate, updateDate, deletedLocally, deletedOnServer, goneReason,
               owningUserId, awaitingReupload, forceDownload, newerVersion, isIndexOnly, downloadPriority,
               contentBytes, usedAt
          FROM directoryEntry
        """
    }
    static var upsertSQL: String {
        """
        INSERT INTO directoryEntry (fileUUID, sharingGroupUUID, fileGroupUUID, mimeType, cloudStorageType,
                                    fileVersion, appMetaData, appMetaDataVersion, creationDate, updateDate,
                                    deletedLocally, deletedOnServer, goneReason, owningUserId,
                                    awaitingReupload, forceDownload, newerVersion, isIndexOnly, downloadPriority,
                                    contentBytes, usedAt)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (fileUUID) DO UPDATE
           SET fileGroupUUID = excluded.fileGroupUUID, mimeType = excluded.mimeType,
               cloudStorageType = excluded.cloudStorageType, fileVersion = excluded.fileVersion,
               appMetaData = excluded.appMetaData, appMetaDataVersion = excluded.appMetaDataVersion,
               creationDate = excluded.creationDate, updateDate = excluded.updateDate,
               deletedLocally = excluded.deletedLocally, deletedOnServer = excluded.deletedOnServer,
               goneReason = excluded.goneReason, owningUserId = excluded.owningUserId,
               awaitingReupload = excluded.awaitingReupload, forceDownload = excluded.forceDownload,
               newerVersion = excluded.newerVersion, isIndexOnly = excluded.isIndexOnly,
               downloadPriority = excluded.downloadPriority, contentBytes = excluded.contentBytes,
               usedAt = excluded.usedAt
        """
    }
    static var deleteSQL: String { "DELETE FROM directoryEntry WHERE fileUUID = ?" }

    var values: [(any DatabaseValueConvertible)?] {
        [
            fileUUID.rawValue, sharingGroupUUID.rawValue, fileGroupUUID?.rawValue, mimeType?.rawValue,
            cloudStorageType?.rawValue, fileVersion?.rawValue, appMetaData?.contents.stored,
            appMetaData?.version.rawValue,
            creationDate?.seconds, updateDate?.seconds, deletedLocally, deletedOnServer, goneReason?.rawValue,
            owningUserID?.rawValue, awaitingReupload, forceDownload, newerVersion?.rawValue, isIndexOnly,
            downloadPriority.rawValue, contentBytes, usedAt?.seconds,
        ]
    }

    init(stored: ColumnReader) throws {
        self.init(
            fileUUID: try stored.required("fileUUID") { FileUUID($0) },
            sharingGroupUUID: try stored.required("sharingGroupUUID") { SharingGroupUUID($0) })
        fileGroupUUID = try stored.optional("fileGroupUUID") { FileGroupUUID($0) }
        mimeType = try stored.optional("mimeType") { MIMEType($0) }
        cloudStorageType = try stored.optional("cloudStorageType", CloudStorageType.init(rawValue:))
        fileVersion = try stored.version("fileVersion")
        if let version = try stored.version("appMetaDataVersion", from: Self.noTextVersion) {
            appMetaData = AppMetaData(version: version, contents: try stored.required("appMetaData") { $0 })
        }
        creationDate = try stored.date("creationDate")
        updateDate = try stored.date("updateDate")
        deletedLocally = try stored.flag("deletedLocally")
        deletedOnServer = try stored.flag("deletedOnServer")
        goneReason = try stored.optional("goneReason", GoneReason.init(rawValue:))
        owningUserID = try stored.version("owningUserId")
        awaitingReupload = try stored.flag("awaitingReupload")
        forceDownload = try stored.flag("forceDownload")
        newerVersion = try stored.version("newerVersion")
        isIndexOnly = try stored.flag("isIndexOnly")
        downloadPriority = try stored.priority("downloadPriority")
        contentBytes = try stored.optionalInteger("contentBytes")
        usedAt = try stored.date("usedAt")
    }
}

extension UploadQueue: StoredRow {
    static var table: String { "uploadQueue" }
    static var selectSQL: String {
        """
        SELECT id, state, closedSeq, sharingGroupUUID, pushNotificationMessage, batchUUID, commitId, commitVersion,
               createdAt
          FROM uploadQueue
        """
    }
    static var upsertSQL: String {
        """
        INSERT INTO uploadQueue (id, state, closedSeq, sharingGroupUUID, pushNotificationMessage, batchUUID, commitId,
                                 commitVersion, createdAt)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE
           SET state = excluded.state, closedSeq = excluded.closedSeq,
               pushNotificationMessage = excluded.pushNotificationMessage, batchUUID = excluded.batchUUID,
               commitId = excluded.commitId, commitVersion = excluded.commitVersion
        """
    }
    static var deleteSQL: String { "DELETE FROM uploadQueue WHERE id = ?" }

    var values: [(any DatabaseValueConvertible)?] {
        [
            id.rawValue, state.rawValue, closedSequence, sharingGroupUUID.rawValue, pushNotificationMessage,
            batchUUID?.rawValue, commitID?.rawValue, commitVersion?.rawValue, createdAt.seconds,
        ]
    }

    init(stored: ColumnReader) throws {
        self.init(
            id: try stored.id("id"),
            sharingGroupUUID: try stored.required("sharingGroupUUID") { SharingGroupUUID($0) },
            createdAt: try stored.requiredDate("createdAt"))
        state = try stored.required("state", State.init(rawValue:))
        closedSequence = try stored.optionalInteger("closedSeq")
        pushNotificationMessage = try stored.optionalText("pushNotificationMessage")
        batchUUID = try stored.optional("batchUUID") { BatchUUID($0) }
        commitID = try stored.optional("commitId") { CommitID($0) }
        commitVersion = try stored.version("commitVersion")
    }
}

extension UploadItem: StoredRow {
    static var table: String { "uploadItem" }
    static var selectSQL: String {
        """
        SELECT id, queueId, kind, status, sharingGroupUUID, fileUUID, fileGroupUUID, mimeType, stagedFileVersion,
               appMetaData, stagedAppMetaDataVersion, urlBase, urlPath, ownsFile, fileSize, fileModified,
               uploadUndeletion, newGroupName, attempts, lastError
          FROM uploadItem
        """
    }
    static var upsertSQL: String {
        """
        INSERT INTO uploadItem (id, queueId, kind, status, sharingGroupUUID, fileUUID, fileGroupUUID, mimeType,
                                stagedFileVersion, appMetaData, stagedAppMetaDataVersion, urlBase, urlPath, ownsFile,
                                fileSize, fileModified, uploadUndeletion, newGroupName, attempts, lastError)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE
           SET queueId = excluded.queueId, status = excluded.status, fileGroupUUID = excluded.fileGroupUUID,
               mimeType = excluded.mimeType,
               stagedFileVersion = excluded.stagedFileVersion, appMetaData = excluded.appMetaData,
               stagedAppMetaDataVersion = excluded.stagedAppMetaDataVersion, urlBase = excluded.urlBase,
               urlPath = excluded.urlPath, ownsFile = excluded.ownsFile, fileSize = excluded.fileSize,
               fileModified = excluded.fileModified, uploadUndeletion = excluded.uploadUndeletion,
               newGroupName = excluded.newGroupName, attempts = excluded.attempts, lastError = excluded.lastError
        """
    }
    static var deleteSQL: String { "DELETE FROM uploadItem WHERE id = ?" }

    var values: [(any DatabaseValueConvertible)?] {
        [
            id.rawValue, queueID.rawValue, kind.rawValue, status.rawValue, sharingGroupUUID.rawValue,
            fileUUID?.rawValue, fileGroupUUID?.rawValue, mimeType?.rawValue, stagedFileVersion?.rawValue,
            appMetaData?.stored,
            stagedAppMetaDataVersion?.rawValue, source?.base.rawValue, source?.path, ownsFile, fileSize, fileModified,
            uploadUndeletion, newGroupName, attempts, lastError?.text,
        ]
    }

    init(stored: ColumnReader) throws {
        self.init(
            id: try stored.id("id"), queueID: try stored.id("queueId"),
            kind: try stored.required("kind", Kind.init(rawValue:)),
            sharingGroupUUID: try stored.required("sharingGroupUUID") { SharingGroupUUID($0) },
            fileUUID: try stored.optional("fileUUID") { FileUUID($0) })
        status = try stored.required("status", Status.init(rawValue:))
        fileGroupUUID = try stored.optional("fileGroupUUID") { FileGroupUUID($0) }
        mimeType = try stored.optional("mimeType") { MIMEType($0) }
        stagedFileVersion = try stored.version("stagedFileVersion")
        appMetaData = try stored.optionalText("appMetaData")
        stagedAppMetaDataVersion = try stored.version("stagedAppMetaDataVersion")
        source = try stored.location()
        ownsFile = try stored.flag("ownsFile")
        fileSize = try stored.optionalInteger("fileSize")
        fileModified = try stored.optionalReal("fileModified")
        uploadUndeletion = try stored.flag("uploadUndeletion")
        newGroupName = try stored.optionalText("newGroupName")
        attempts = try stored.count("attempts")
        lastError = try stored.optionalText("lastError").map { StoredSyncError(text: $0) }
    }
}

extension DownloadGroup: StoredRow {
    static var table: String { "downloadGroup" }
    static var selectSQL: String {
        "SELECT id, sharingGroupUUID, fileGroupUUID, status, masterVersion, priority FROM downloadGroup"
    }
    static var upsertSQL: String {
        """
        INSERT INTO downloadGroup (id, sharingGroupUUID, fileGroupUUID, status, masterVersion, priority)
        VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE
           SET status = excluded.status, priority = excluded.priority
        """
    }
    static var deleteSQL: String { "DELETE FROM downloadGroup WHERE id = ?" }

    var values: [(any DatabaseValueConvertible)?] {
        [
            id.rawValue, sharingGroupUUID.rawValue, fileGroupUUID?.rawValue, status.rawValue, masterVersion.rawValue,
            priority.rawValue,
        ]
    }

    init(stored: ColumnReader) throws {
        self.init(
            id: try stored.id("id"), sharingGroupUUID: try stored.required("sharingGroupUUID") { SharingGroupUUID($0) },
            fileGroupUUID: try stored.optional("fileGroupUUID") { FileGroupUUID($0) },
            masterVersion: try stored.requiredVersion("masterVersion"))
        status = try stored.required("status", Status.init(rawValue:))
        priority = try stored.priority("priority")
    }
}

extension DownloadItem: StoredRow {
    static var table: String { "downloadItem" }
    static var selectSQL: String {
        """
        SELECT id, groupId, fileUUID, kind, status, mimeType, fileVersion, appMetaDataVersion, appMetaData,
               cloudStorageType, creationDate, updateDate, urlBase, urlPath, contentsChanged, goneReason,
               awaitingReupload, resolution
          FROM downloadItem
        """
    }
    static var upsertSQL: String {
        """
        INSERT INTO downloadItem (id, groupId, fileUUID, kind, status, mimeType, fileVersion, appMetaDataVersion,
                                  appMetaData, cloudStorageType, creationDate, updateDate, urlBase, urlPath,
                                  contentsChanged, goneReason, awaitingReupload, resolution)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE
           SET status = excluded.status, mimeType = excluded.mimeType,
               appMetaDataVersion = excluded.appMetaDataVersion, appMetaData = excluded.appMetaData,
               cloudStorageType = excluded.cloudStorageType, creationDate = excluded.creationDate,
               updateDate = excluded.updateDate, urlBase = excluded.urlBase, urlPath = excluded.urlPath,
               contentsChanged = excluded.contentsChanged, goneReason = excluded.goneReason,
               awaitingReupload = excluded.awaitingReupload, resolution = excluded.resolution
        """
    }
    static var deleteSQL: String { "DELETE FROM downloadItem WHERE id = ?" }

    var values: [(any DatabaseValueConvertible)?] {
        [
            id.rawValue, groupID.rawValue, fileUUID.rawValue, kind.rawValue, status.rawValue, mimeType?.rawValue,
            fileVersion.rawValue, appMetaDataVersion?.rawValue, appMetaData?.stored, cloudStorageType?.rawValue,
            creationDate?.seconds, updateDate?.seconds, location?.base.rawValue, location?.path, contentsChanged,
            goneReason?.rawValue, awaitingReupload, resolution?.text,
        ]
    }

    init(stored: ColumnReader) throws {
        self.init(
            id: try stored.id("id"), groupID: try stored.id("groupId"),
            fileUUID: try stored.required("fileUUID") { FileUUID($0) },
            kind: try stored.required("kind", Kind.init(rawValue:)),
            fileVersion: try stored.requiredVersion("fileVersion"))
        status = try stored.required("status", Status.init(rawValue:))
        mimeType = try stored.optional("mimeType") { MIMEType($0) }
        appMetaDataVersion = try stored.version("appMetaDataVersion")
        appMetaData = try stored.optionalText("appMetaData")
        cloudStorageType = try stored.optional("cloudStorageType", CloudStorageType.init(rawValue:))
        creationDate = try stored.date("creationDate")
        updateDate = try stored.date("updateDate")
        location = try stored.location()
        contentsChanged = try stored.flag("contentsChanged")
        goneReason = try stored.optional("goneReason", GoneReason.init(rawValue:))
        awaitingReupload = try stored.flag("awaitingReupload")
        resolution = try stored.optional("resolution", StoredResolution.init(text:))
    }
}

extension TransferCacheEntry: StoredRow {
    static var table: String { "transferCache" }
    static var selectSQL: String {
        """
        SELECT id, fileUUID, fileVersion, messageParams, urlBase, urlPath, cachedAt
          FROM transferCache
         WHERE direction = 'down'
           AND state = 'finished'
        """
    }
    static var upsertSQL: String {
        """
        INSERT INTO transferCache (id, direction, fileUUID, fileVersion, requestKey, state, messageParams, urlBase,
                                   urlPath, cachedAt)
        VALUES (?, 'down', ?, ?, ?, 'finished', ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE
           SET messageParams = excluded.messageParams
        """
    }
    static var deleteSQL: String { "DELETE FROM transferCache WHERE id = ?" }

    var values: [(any DatabaseValueConvertible)?] {
        [
            id.rawValue, fileUUID.rawValue, fileVersion.rawValue, "down/\(fileUUID)/\(fileVersion)",
            StoredReply(reply).jsonText, location.base.rawValue, location.path, cachedAt.seconds,
        ]
    }

    init(stored: ColumnReader) throws {
        guard let location = try stored.location() else { throw stored.corrupt("urlPath") }
        self.init(
            id: try stored.id("id"), fileUUID: try stored.required("fileUUID") { FileUUID($0) },
            fileVersion: try stored.requiredVersion("fileVersion"),
            reply: try stored.required("messageParams", StoredReply.init(jsonText:)).reply, location: location,
            cachedAt: try stored.requiredDate("cachedAt"))
    }
}

/// The fields of a reply that are needed when its contents are used, as JSON.
private struct StoredReply: Codable {
    var appMetaDataVersion: AppMetaDataVersion?
    var appMetaData: String?
    var cloudStorageType: CloudStorageType?
    var contentsChanged: Bool

    init(_ reply: TransferCacheEntry.Reply) {
        appMetaDataVersion = reply.appMetaDataVersion
        appMetaData = reply.appMetaData
        cloudStorageType = reply.cloudStorageType
        contentsChanged = reply.contentsChanged
    }

    init?(jsonText: String) {
        guard let value = try? JSONDecoder().decode(Self.self, from: Data(jsonText.utf8)) else { return nil }
        self = value
    }

    var jsonText: String {
        guard let data = try? JSONEncoder().encode(self) else { preconditionFailure("plain values always encode") }
        return String(decoding: data, as: UTF8.self)
    }

    var reply: TransferCacheEntry.Reply {
        var reply = TransferCacheEntry.Reply()
        reply.appMetaDataVersion = appMetaDataVersion
        reply.appMetaData = appMetaData
        reply.cloudStorageType = cloudStorageType
        reply.contentsChanged = contentsChanged
        return reply
    }
}
