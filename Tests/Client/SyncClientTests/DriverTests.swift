import Foundation
import GRDB
import SyncClient
import SyncEngine
import Synchronization
import Testing

@Suite("The engine's actions without a server")
struct DriverTests {
    /// Another connection to the store's file, which can keep it locked.
    private static func secondConnection(_ bench: Bench) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        return try DatabaseQueue(
            path: bench.folder.appending(path: "client.sqlite").path, configuration: configuration)
    }

    @Test("A store that cannot be written rejects the call, keeps nothing of it, and works again afterwards")
    func lockedStore() async throws {
        let bench = try Bench { Bench.index($0) }
        try await bench.client.synced()
        let other = try Self.secondConnection(bench)
        let attributes = Bench.attributes()

        try await other.writeWithoutTransaction { db in try db.execute(sql: "BEGIN IMMEDIATE") }
        let error = #expect(throws: SyncError.self) {
            try bench.client.uploadData(Data("x".utf8), withAttributes: attributes)
        }
        try await other.writeWithoutTransaction { db in try db.execute(sql: "ROLLBACK") }

        #expect(error?.code == .storeError)
        #expect(bench.client.pendingReport().changes.isEmpty)
        #expect(try bench.ownFiles().isEmpty)
        try bench.client.uploadData(Data("x".utf8), withAttributes: attributes)
        #expect(bench.client.pendingReport().changes.count == 1)
        #expect(bench.client.logAllTracking().violations.isEmpty)
    }

    @Test("An account switch continues at the next launch, even if nothing is queued")
    func switchAtLaunch() async throws {
        let file = Bench.attributes().fileUUID
        let first = try Bench { Bench.index($0) }
        try await first.client.synced()
        await first.client.close()
        try await Self.secondConnection(first).write { db in
            try db.execute(
                literal: """
                    INSERT INTO directoryEntry (fileUUID, sharingGroupUUID, fileVersion)
                    VALUES (\(file.rawValue), \(Bench.group.rawValue), 0);
                    INSERT INTO accountState (id, userAppId, epoch, switchId, phase)
                    VALUES (1, '66666666-0000-4000-8000-000000000001', 1, '77777777-0000-4000-8000-000000000001',
                            'reuploading')
                    """)
        }

        let (asked, isAsked) = AsyncStream.makeStream(of: ServerRequest.self)
        let second = try Bench(folder: first.folder, resumesAtLaunch: true) { request in
            isAsked.yield(request)
            return .failed(.unreachable)
        }

        var requests = asked.makeAsyncIterator()
        #expect(await requests.next() == .index(.init(sharingGroupUUID: Bench.group, since: nil)))
        await second.client.close()
    }

    @Test("Calls with short names do what the calls with long names do")
    func shortNames() async throws {
        let bench = try Bench { Bench.index($0) }
        let client = bench.client
        try await client.synced()
        let (copied, written, unchanging, moved) = (
            Bench.attributes(), Bench.attributes(), Bench.attributes(), Bench.attributes()
        )
        let file = bench.folder.appending(path: "file")
        try Data("x".utf8).write(to: file)
        let group = try client.createGroup(named: "Summer")

        try client.upload(file, as: copied)
        try client.upload(Data("y".utf8), as: written)
        try client.upload(unchanging: file, as: unchanging)
        try client.upload(moving: file, as: moved)
        #expect(!FileManager.default.fileExists(atPath: file.path))
        #expect(try bench.ownFiles().count == 3)
        #expect(try client.attributes(of: copied.fileUUID).sharingGroupUUID == Bench.group)
        try client.withdraw(moved.fileUUID)
        try client.delete([written.fileUUID])
        #expect(throws: SyncError(.couldNotFindFileUUID, fileUUID: copied.fileUUID)) {
            try client.retryUpload(copied.fileUUID)
        }
        try client.rename(Bench.group, to: "Family")
        let changes = client.pendingReport().changes
        #expect(changes.map(\.kind) == [.groupCreation, .file, .file, .groupUpdate])
        #expect(Set(changes.map(\.sharingGroupUUID)) == [group, Bench.group])
        try client.sync(Bench.group)
        _ = try? await client.synced(Bench.group)
        #expect(client.uploadsPending)
        try client.leave(Bench.group)
        #expect(client.sharingGroups.map(\.sharingGroupUUID) == [group])
        await client.close()
    }

    @Test("A waiting caller gets the error of its own group's sync, not of another group's")
    func failureOfOneGroup() async throws {
        let other = SharingGroupUUID("11111111-0000-4000-8000-000000000002")!
        let (waiting, isWaiting) = AsyncStream.makeStream(of: Void.self)
        let (released, release) = AsyncStream.makeStream(of: Void.self)
        let bench = try Bench { request in
            guard case .index(let parameters) = request, parameters.sharingGroupUUID != other else {
                isWaiting.yield()
                for await _ in released { break }
                return .failed(.refused(status: 400, code: nil))
            }
            return Bench.index(request)
        }
        try await bench.client.synced()
        try bench.client.createSharingGroup(sharingGroupUUID: other)
        let failing = Task { try await bench.client.synced(sharingGroupUUID: other) }
        for await _ in waiting { break }
        let delayed = bench.client.events(.syncDelayed)
        let succeeding = Task { try await bench.client.synced(sharingGroupUUID: Bench.group) }
        for await _ in delayed { break }

        release.yield()

        let error = await #expect(throws: SyncError.self) { try await failing.value }
        #expect(error?.status == 400)
        #expect(try await succeeding.value.uploaded == 0)
        await bench.client.close()
    }

    @Test("A reply that cannot be stored ends the sync with an error for waiting callers")
    func lockedStoreDuringSync() async throws {
        let (waiting, isWaiting) = AsyncStream.makeStream(of: Void.self)
        let (released, release) = AsyncStream.makeStream(of: Void.self)
        let isHeld = Mutex(true)
        let bench = try Bench { request in
            if isHeld.withLock({ $0 }) {
                isWaiting.yield()
                for await _ in released { break }
            }
            return Bench.index(request)
        }
        let sync = Task { try await bench.client.synced() }
        for await _ in waiting { break }
        let other = try Self.secondConnection(bench)
        try await other.writeWithoutTransaction { db in try db.execute(sql: "BEGIN IMMEDIATE") }
        isHeld.withLock { $0 = false }
        release.yield()
        release.finish()

        let error = await #expect(throws: SyncError.self) { try await sync.value }
        #expect(error?.code == .storeError && error?.recovery == .retryLater)
        #expect(!bench.client.isSyncing)
        try await other.writeWithoutTransaction { db in try db.execute(sql: "ROLLBACK") }
        try await bench.client.synced()
        #expect(bench.client.sharingGroups.count == 1)
    }

    @Test("A group that others change constantly makes the sync wait, then fail with an error")
    func endlessChanges() async throws {
        let version = Mutex<Int64>(0)
        let bench = try Bench { request in
            switch request {
            case .index: Bench.index(request, masterVersion: version.withLock { $0 })
            case .getUploads: .uploads([])
            default:
                .stale(
                    current: MasterVersion(
                        version.withLock {
                            $0 += 1
                            return $0
                        }))
            }
        }
        try await bench.client.synced()
        try bench.client.uploadData(Data("x".utf8), withAttributes: Bench.attributes())

        let error = await #expect(throws: SyncError.self) {
            try await bench.client.synced(sharingGroupUUID: Bench.group)
        }

        #expect(error?.code == .tooManyRestarts)
        #expect(
            bench.pauses.all
                == Array(
                    repeating: .seconds(SyncStateMachine.waitSeconds.lowerBound),
                    count: SyncStateMachine.maximumRestarts - SyncStateMachine.restartsWithoutWaiting))
    }

    @Test("An observation of a group's files starts with the current ones, and ends with the library")
    func observation() async throws {
        let bench = try Bench { Bench.index($0) }
        try await bench.client.synced()
        let first = Bench.attributes()
        try bench.client.uploadData(Data("1".utf8), withAttributes: first)
        var own = bench.client.fileChanges(inSharingGroup: Bench.group).makeAsyncIterator()
        var other = bench.client.fileChanges(inSharingGroup: SharingGroupUUID()).makeAsyncIterator()
        #expect(await own.next()?.map(\.fileUUID) == [first.fileUUID])
        #expect(await other.next() == [])

        let second = Bench.attributes()
        try bench.client.uploadData(Data("2".utf8), withAttributes: second)
        #expect(await own.next().map { Set($0.map(\.fileUUID)) } == [first.fileUUID, second.fileUUID])
        try bench.client.delete(filesWithUUIDs: [first.fileUUID, second.fileUUID])
        #expect(await own.next() == [])
        await bench.client.close()
        #expect(await own.next() == nil)
        #expect(await other.next() == nil)
    }

    @Test("The server in memory has neither members nor accepted types")
    func noMembers() async throws {
        let bench = try Bench { Bench.index($0) }
        let calls: [() async throws -> Void] = [
            { _ = try await bench.client.members(of: Bench.group) },
            { _ = try await bench.client.invitations(to: Bench.group) },
            { try await bench.client.removeSharingGroup(Bench.group) }, { _ = try await bench.client.acceptedTypes() },
        ]
        for call in calls {
            let error = await #expect(throws: SyncError.self) { try await call() }
            #expect(error?.code == .notSupported)
        }
    }

    @Test("Foundation's values become values of the protocol, and back")
    func values() throws {
        #expect(FileUUID() != FileUUID() && UUID(uuidString: FileUUID().rawValue) != nil)
        let uuid = UUID()
        #expect(SharingGroupUUID(uuid).rawValue == uuid.uuidString && SharingGroupUUID(uuid).isWellFormedUUID)
        #expect(WireDate(Date(timeIntervalSince1970: 1.9)) == WireDate(secondsSince1970: 1))
        #expect(WireDate(Date(timeIntervalSince1970: -0.5)) == WireDate(secondsSince1970: -1))
        #expect(WireDate(.distantFuture).date == .distantFuture)
        #expect(WireDate(Date(timeIntervalSince1970: 1e300)) == .latest)
        #expect(WireDate(Date(timeIntervalSince1970: -1e300)) == .earliest)
    }

    @Test("Releasing the instance stops its work and releases the store")
    func forgotten() async throws {
        let (waiting, isWaiting) = AsyncStream.makeStream(of: Void.self)
        var bench: Bench? = try Bench { _ in
            isWaiting.yield()
            try? await Task.sleep(for: .seconds(3_600))
            return .failed(.unreachable)
        }
        let folder = try #require(bench?.folder)
        var events = bench?.client.events(.all).makeAsyncIterator()
        try bench?.client.sync()
        for await _ in waiting { break }

        bench = nil

        #expect(await events?.next() == .syncStarted)
        #expect(await events?.next() == nil)
        let again = try Bench(folder: folder) { Bench.index($0) }
        try await again.client.synced()
    }

    @Test("The server in memory does not support users or invitations")
    func noUsers() async throws {
        let bench = try Bench { Bench.index($0) }
        let error = await #expect(throws: SyncError.self) { try await bench.client.checkForExistingUser() }
        #expect(error?.code == .notSupported)
    }

    @Test("Many uploads are queued at once: all of them, or none, with an error that names the file")
    func uploadsTogether() async throws {
        let bench = try Bench { Bench.index($0) }
        try await bench.client.synced()
        let folder = FileManager.default.temporaryDirectory.appending(path: "together-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func place(_ name: String) -> LocalFileLocation {
            LocalFileLocation(base: .absolute, path: folder.appending(path: name).path)
        }
        for name in ["kept", "copied", "taken"] {
            try Data(name.utf8).write(to: folder.appending(path: name))
        }
        let files: [(contents: UploadContents, attributes: SyncAttributes)] = [
            (.immutable(place("kept")), Bench.attributes()), (.copy(place("copied")), Bench.attributes()),
            (.temporary(place("taken")), Bench.attributes()), (.data(Data("data".utf8)), Bench.attributes()),
        ]

        for refused in [(UploadContents.copy(place("missing")), Bench.attributes()), (.data(Data()), untyped)] {
            let error = #expect(throws: SyncError.self) { try bench.client.upload(files + [refused]) }
            #expect(error?.fileUUID == refused.1.fileUUID)
            #expect(try bench.ownFiles().isEmpty)
            #expect(bench.client.pendingReport().changes.isEmpty)
            #expect(FileManager.default.fileExists(atPath: place("taken").path))
        }
        try bench.client.upload(files)

        #expect(bench.client.pendingReport().changes.compactMap(\.fileUUID) == files.map(\.attributes.fileUUID))
        #expect(try bench.ownFiles().count == 3)
        #expect(!FileManager.default.fileExists(atPath: place("taken").path))
        try bench.client.uploadCopy([(place("copied"), Bench.attributes()), (place("kept"), Bench.attributes())])
        try bench.client.uploadImmutable([(place("kept"), Bench.attributes())])
        #expect(bench.client.pendingReport().changes.count == 7)
        await bench.client.close()
    }

    private var untyped: SyncAttributes {
        var attributes = Bench.attributes()
        attributes.mimeType = nil
        return attributes
    }

    @Test("A file is recognized by its size and its time, as an earlier release has recorded them")
    func stamps() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "stamp-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("12345".utf8).write(to: file)
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
        let modified = try #require(attributes[.modificationDate] as? Date).timeIntervalSince1970
        let stamp = try FileStamp(of: file)

        #expect(stamp.size == 5)
        #expect(stamp.matches(size: 5, modified: modified) && stamp.matches(size: nil, modified: nil))
        #expect(!stamp.matches(size: 4, modified: modified) && !stamp.matches(size: 5, modified: modified + 0.001))
        #expect(throws: SyncError.self) { try FileStamp(of: file.deletingLastPathComponent()) }
        #expect(throws: SyncError.self) { try FileStamp(of: file.appendingPathExtension("missing")) }
    }

    @Test("Files below a known folder are found again after the folder has moved; other paths are absolute")
    func locations() throws {
        let files = LibraryFiles(
            folder: URL(filePath: "/library"), bases: [.documents: URL(filePath: "/home/a/documents")],
            makeName: { "name" })
        let inside = files.location(of: URL(filePath: "/home/a/documents/x/y.txt"))
        #expect(inside == LocalFileLocation(base: .documents, path: "x/y.txt"))
        let moved = LibraryFiles(
            folder: URL(filePath: "/library"), bases: [.documents: URL(filePath: "/home/b")], makeName: { "name" })
        #expect(moved.url(of: inside)?.path == "/home/b/x/y.txt")
        #expect(files.location(of: URL(filePath: "/home/a/documents2/y")).base == .absolute)
        #expect(files.url(of: files.makeLocation())?.path == "/library/name")
        #expect(files.url(of: LocalFileLocation(base: .appGroup("none"), path: "x")) == nil)
    }

    @Test("Each event has its own kind, and the defaults are those that apps display")
    func eventKinds() {
        let attributes = Bench.attributes()
        let group = SharingGroupUUID(UUID().uuidString)
        #expect(group != nil)
        let events: [SyncEvent] = [
            .willStartDownloads(numberContentDownloads: 1, numberDownloadDeletions: 0),
            .willStartUploads(numberContentUploads: 1, numberUploadDeletions: 0, numberSharingGroupOperations: 0),
            .singleFileUploadComplete(attributes), .singleFileUploadWaiting(attributes, SyncError(.storageFull)),
            .filesRestored([attributes.fileUUID]),
            .singleAppMetaDataUploadComplete(attributes.fileUUID), .singleUploadDeletionComplete(attributes.fileUUID),
            .contentUploadsCompleted(numberOfFiles: 1), .uploadDeletionsCompleted(numberOfFiles: 1), .syncDelayed,
            .syncStarted, .syncDone, .syncStopping, .serverDown(message: ""), .refreshingCredentials,
            .minimumIOSClientVersion(ServerVersion(1, 0, 0)),
        ]
        #expect(Set(events.map(\.kind)).count == events.count)
        #expect(events.allSatisfy { EventDesired.all.contains($0.kind) })
        #expect(events.filter { EventDesired.defaults.contains($0.kind) }.count == 6)
    }
}
