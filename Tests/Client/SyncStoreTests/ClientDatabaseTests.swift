import Foundation
import GRDB
import SyncEngine
import SyncProtocol
import Testing

@testable import SyncStore

@Suite("The client's store")
struct ClientDatabaseTests {
    private let group = SharingGroupUUID("11111111-0000-4000-8000-00000000000a")!
    private let file = FileUUID("44444444-0000-4000-8000-00000000000B")!
    private let date = WireDate(secondsSince1970: 1_700_000_000)

    /// A state with a value in each column.
    private func fullState() -> ClientState {
        var state = ClientState()
        var entry = SharingEntry(sharingGroupUUID: group, name: "Family", permission: .write)
        entry.masterVersion = MasterVersion(7)
        entry.cloudStorageType = .dropbox
        entry.syncNeeded = true
        entry.indexedVersion = MasterVersion(6)
        entry.restoreMark = RestoreMark("mark")
        entry.versionBeforeRestore = MasterVersion(9)
        entry.restoredVersion = MasterVersion(5)
        entry.downloadPolicy = .onDemand
        entry.downloadsRest = true
        state.groups.put(entry)
        var known = DirectoryEntry(fileUUID: file, sharingGroupUUID: group)
        known.fileGroupUUID = FileGroupUUID("g")
        known.mimeType = MIMEType("image/jpeg")
        known.cloudStorageType = .google
        known.fileVersion = FileVersion(3)
        known.appMetaData = AppMetaData(version: AppMetaDataVersion(1), contents: "text 'quoted'\u{0}end")
        known.creationDate = date
        known.updateDate = date
        known.goneReason = .fileRemovedOrRenamed
        known.newerVersion = FileVersion(3)
        known.owningUserID = UserID(9)
        known.awaitingReupload = true
        known.forceDownload = true
        known.isIndexOnly = true
        known.downloadPriority = .high
        known.contentBytes = 5_000_000_000
        known.usedAt = date
        state.directory.put(known)
        var queue = UploadQueue(id: RowID(1), sharingGroupUUID: group, createdAt: date)
        queue.state = .closed
        queue.closedSequence = 1
        queue.pushNotificationMessage = "hello"
        queue.commitID = CommitID("33333333-0000-4000-8000-000000000001")
        queue.commitVersion = MasterVersion(7)
        state.queues.put(queue)
        state.queues.put(UploadQueue(id: RowID(2), sharingGroupUUID: group, createdAt: date))
        var item = UploadItem(id: RowID(1), queueID: RowID(1), kind: .file, sharingGroupUUID: group, fileUUID: file)
        item.status = .uploaded
        item.fileGroupUUID = FileGroupUUID("g")
        item.mimeType = MIMEType("image/jpeg")
        item.stagedFileVersion = FileVersion(4)
        item.appMetaData = "new"
        item.stagedAppMetaDataVersion = AppMetaDataVersion(2)
        item.source = LocalFileLocation(base: .appGroup("x"), path: "a/b")
        item.ownsFile = true
        item.fileSize = 12
        item.fileModified = 1.5
        item.uploadUndeletion = true
        item.newGroupName = "n"
        item.attempts = 2
        var failure = SyncError(.storageFull)
        failure.status = 507
        failure.serverCode = "cloud_quota_exceeded"
        failure.storage = .other(UserID(12))
        item.lastError = StoredSyncError(failure)
        state.items.put(item)
        state.downloadGroups.put(
            DownloadGroup(
                id: RowID(1), sharingGroupUUID: group, fileGroupUUID: FileGroupUUID("g"),
                masterVersion: MasterVersion(7)))
        var download = DownloadItem(
            id: RowID(1), groupID: RowID(1), fileUUID: file, kind: .file, fileVersion: FileVersion(4))
        download.status = .downloaded
        download.mimeType = MIMEType("image/jpeg")
        download.appMetaDataVersion = AppMetaDataVersion(2)
        download.appMetaData = "theirs"
        download.cloudStorageType = .microsoft
        download.creationDate = date
        download.updateDate = date
        download.location = LocalFileLocation(base: .library, path: "d")
        download.contentsChanged = true
        download.goneReason = .authTokenExpiredOrRevoked
        download.awaitingReupload = true
        download.resolution = StoredResolution(.content(.rejectContentDownload(.keepAll)), lastItem: RowID(1))
        state.downloads.put(download)
        var reply = TransferCacheEntry.Reply()
        reply.appMetaDataVersion = AppMetaDataVersion(2)
        reply.appMetaData = "\"cached\""
        reply.cloudStorageType = .google
        reply.contentsChanged = true
        state.transfers.put(
            TransferCacheEntry(
                id: RowID(1), fileUUID: file, fileVersion: FileVersion(4), reply: reply,
                location: LocalFileLocation(base: .library, path: "c"), cachedAt: date))
        state.account.put(account())
        var reupload = ReuploadItem(
            fileUUID: file, sharingGroupUUID: group, fileGroupUUID: FileGroupUUID("g"), fileVersion: FileVersion(4))
        reupload.status = .unavailable
        reupload.attempts = 3
        reupload.lastError = "networkError"
        state.reuploads.put(reupload)
        return state
    }

    private func account() -> AccountState {
        var account = AccountState(
            userAppID: UserAppID("66666666-0000-4000-8000-00000000000c")!, epoch: AccountEpoch(3))
        account.switchID = AccountSwitchID("77777777-0000-4000-8000-00000000000d")
        account.phase = .confirming
        account.isPaused = true
        account.reuploadedBytes = 5_000_000_000
        return account
    }

    @Test("Opening waits for a store that is being closed")
    func stillBeingClosed() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "store-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "client.sqlite").path
        var state = fullState()
        try ClientDatabase(path: path).write(state.takeChanges())
        var configuration = Configuration()
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA locking_mode = EXCLUSIVE") }
        let other = try DatabaseQueue(path: path, configuration: configuration)
        try other.write { try $0.execute(sql: "UPDATE uploadQueue SET createdAt = 1") }
        #expect(throws: DatabaseError.self) { try DatabaseQueue(path: path).read { try $0.columns(in: "uploadQueue") } }

        let closing = Thread {
            Thread.sleep(forTimeInterval: 0.2)
            try? other.close()
        }
        closing.start()

        #expect(try ClientDatabase(path: path).load().groups.count == 1)
    }

    @Test("Every value round-trips, even after the file is reopened")
    func roundTrip() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("store.sqlite").path
        var state = fullState()

        let database = try ClientDatabase(path: path)
        try database.write(state.takeChanges())
        try database.set("userId", to: "42")

        #expect(try database.load() == state)
        let again = try ClientDatabase(path: path)
        #expect(try again.load() == state)
        #expect(try again.load().lastIDs.item == 1)
        #expect(try again.load().groups[group]?.sharingGroupUUID.rawValue == group.rawValue)
        #expect(try again.setting("userId") == "42")
    }

    @Test("Metadata that a restored server has lost are read back")
    func lostText() throws {
        let database = try ClientDatabase(path: nil)
        var state = fullState()
        state.directory.update(file) {
            $0.fileVersion = nil
            $0.appMetaData = AppMetaData(version: DirectoryEntry.noTextVersion, contents: "lost")
        }
        try database.write(state.takeChanges())

        #expect(try database.load() == state)
    }

    @Test("Changed and removed rows are updated")
    func changes() throws {
        var state = fullState()
        let database = try ClientDatabase(path: nil)
        try database.write(state.takeChanges())

        state.items[RowID(1)] = nil
        state.queues[RowID(1)] = nil
        state.downloads[RowID(1)] = nil
        state.downloadGroups[RowID(1)] = nil
        state.transfers[RowID(1)] = nil
        state.groups.update(group) { $0.name = nil }
        try database.write(state.takeChanges())

        #expect(try database.load() == state)
        #expect(try database.load().lastIDs.item == 1)
    }

    @Test("A change that violates a constraint of the schema is not written at all")
    func atomic() throws {
        var state = fullState()
        let database = try ClientDatabase(path: nil)
        try database.write(state.takeChanges())
        let before = try database.load()

        state.groups.update(group) { $0.name = "other" }
        state.directory.update(file) { $0.deletedLocally = true }

        #expect(throws: StoreError.self) { try database.write(state.takeChanges()) }
        #expect(try database.load() == before)
    }

    @Test("A copy has the contents of the original, and its changes leave the original unchanged")
    func copy() throws {
        var state = fullState()
        let original = try ClientDatabase(path: nil)
        try original.write(state.takeChanges())
        let before = state

        let copy = try ClientDatabase(copying: original)
        #expect(try copy.load() == before)
        state.groups.update(group) { $0.name = "other" }
        try copy.write(state.takeChanges())

        #expect(try copy.load() == state)
        #expect(try original.load() == before)
    }

    @Test("A store with the first schema is migrated, and keeps its data")
    func migration() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("store.sqlite").path
        let old = try DatabaseQueue(path: path)
        try Migrations.migrator.migrate(old, upTo: "1 Tables")
        try old.write { db in
            try db.execute(
                literal: "INSERT INTO sharingEntry (sharingGroupUUID, masterVersion) VALUES (\(group.rawValue), 5)")
        }
        try old.close()

        let state = try ClientDatabase(path: path).load()

        #expect(state.groups[group]?.masterVersion == MasterVersion(5))
        #expect(state.groups[group]?.indexedVersion == nil)
    }

    @Test("The open queue of an earlier release becomes that of its group, or is removed if it has no changes")
    func oneQueueForAllGroups() throws {
        for owner in [group.rawValue, nil] {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let path = folder.appendingPathComponent("store.sqlite").path
            let old = try DatabaseQueue(path: path)
            try Migrations.migrator.migrate(old, upTo: "8 Refusals and restored servers")
            try old.write { db in
                try db.execute(
                    literal: "INSERT INTO uploadQueue (state, sharingGroupUUID, createdAt) VALUES ('open', \(owner), 1)"
                )
            }
            try old.close()

            let state = try ClientDatabase(path: path).load()

            #expect(state.openGroups == (owner == nil ? [] : [group]))
            #expect(state.queues.count == state.openGroups.count)
        }
    }

    @Test("Every reference has an index, so that removing a row does not scan a whole table")
    func referenceIndexes() throws {
        let queue = try DatabaseQueue()
        try Migrations.migrator.migrate(queue)
        let references = try queue.read { db in
            try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'table'").flatMap { table in
                try Row.fetchAll(db, sql: "SELECT \"from\" FROM pragma_foreign_key_list(?)", arguments: [table])
                    .map { (table: table, column: $0["from"] as String) }
            }
        }

        #expect(references.count == 3)
        for reference in references {
            let indexed = try queue.read { db in
                try String.fetchAll(
                    db,
                    sql: """
                        SELECT info.name
                          FROM pragma_index_list(?) AS list, pragma_index_info(list.name) AS info
                         WHERE list.partial = 0
                           AND info.seqno = 0
                        """, arguments: [reference.table])
            }
            #expect(indexed.contains(reference.column), "\(reference.table).\(reference.column)")
        }
    }

    @Test("An unknown value is reported as an error, not interpreted")
    func corrupt() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("store.sqlite").path
        let database = try ClientDatabase(path: path)
        var state = fullState()
        try database.write(state.takeChanges())
        let other = try DatabaseQueue(path: path)
        try other.write { try $0.execute(sql: "UPDATE directoryEntry SET mimeType = '', fileVersion = -1") }

        #expect(throws: StoreError.corrupt(table: "directoryEntry", column: "mimeType")) { try database.load() }
    }

    @Test("Every answer to a conflict can be stored")
    func resolutions() {
        let answers: [StoredResolution.Answer] =
            [
                .content(.acceptContentDownload), .deletion(.acceptDownloadDeletion),
                .deletion(.rejectDownloadDeletion(.keepContentUpload)),
                .deletion(.rejectDownloadDeletion(.removeContentUpload)),
            ] + (0...3).map { .content(.rejectContentDownload(UploadResolution(rawValue: $0))) }
        for answer in answers {
            let stored = StoredResolution(answer, lastItem: RowID(12))
            #expect(StoredResolution(text: stored.text) == stored)
        }
        #expect(StoredResolution(text: "reject4 1") == nil)
        #expect(StoredResolution(text: "accept") == nil)
    }
}
