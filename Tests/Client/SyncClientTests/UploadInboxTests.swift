import Foundation
import SyncClient
import SyncEngine
import Testing

/// A store that one process has open, and an extension that knows only its folder.
@Suite("Uploads that another process leaves for a store")
struct UploadInboxTests {
    private let bench: Bench
    private let inbox: UploadInbox

    init() throws {
        bench = try Bench { Bench.index($0) }
        inbox = UploadInbox(storeFolder: bench.folder)
    }

    private var inboxFolder: URL { bench.folder.appending(path: "inbox") }

    private func inboxNames() -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: inboxFolder.path)) ?? []).sorted()
    }

    /// The contents of the store's files, oldest first.
    private func owned() throws -> [String] {
        try bench.ownFiles().sorted().map {
            try String(contentsOf: bench.folder.appending(path: "files").appending(path: $0), encoding: .utf8)
        }
    }

    /// The same store after its process has ended.
    private func relaunched() async throws -> Bench {
        await bench.client.close()
        return try Bench(folder: bench.folder) { Bench.index($0) }
    }

    @Test("The group's next sync queues them once, oldest first")
    func taken() async throws {
        try await bench.client.synced()
        let (first, second) = (Bench.attributes(), Bench.attributes())
        try inbox.uploadData(Data("first".utf8), withAttributes: first)
        let file = bench.folder.appending(path: "of the extension")
        try Data("second".utf8).write(to: file)
        try inbox.uploadCopy(of: file, withAttributes: second)
        try FileManager.default.removeItem(at: file)
        #expect(inbox.entries().map(\.attributes.fileUUID) == [first.fileUUID, second.fileUUID])
        #expect(bench.client.pendingReport().changes.isEmpty)

        _ = try? await bench.client.synced(sharingGroupUUID: Bench.group)

        let changes = bench.client.pendingReport().changes
        #expect(changes.map(\.fileUUID) == [first.fileUUID, second.fileUUID] && changes.allSatisfy(\.isClosed))
        #expect(try owned() == ["first", "second"])
        #expect(inboxNames().isEmpty)
        _ = try? await bench.client.synced(sharingGroupUUID: Bench.group)
        #expect(bench.client.pendingReport().changes.count == 2)
        #expect(bench.client.logAllTracking().violations.isEmpty)
    }

    @Test("Attributes arrive unchanged")
    func attributes() async throws {
        try await bench.client.synced()
        var given = Bench.attributes()
        given.appMetaData = "{\"text\": \"ü\"}"
        given.fileGroupUUID = FileGroupUUID(UUID().uuidString)
        try inbox.uploadData(Data("x".utf8), withAttributes: given)

        #expect(inbox.entries().map(\.attributes) == [given])
        bench.client.resumePendingUploads()

        let known = try bench.client.getAttributes(forFileUUID: given.fileUUID)
        #expect(known.fileGroupUUID == given.fileGroupUUID && known.mimeType == given.mimeType)
    }

    @Test("A launch queues and closes them, so that they are sent without a request from the app")
    func launch() async throws {
        try await bench.client.synced()
        let attributes = Bench.attributes()
        try inbox.uploadData(Data("x".utf8), withAttributes: attributes)

        let next = try await relaunched()

        #expect(next.client.uploadsPending)
        #expect(next.client.pendingReport().changes.map(\.fileUUID) == [attributes.fileUUID])
        #expect(inboxNames().isEmpty)
    }

    @Test("The launch does not close the app's open queue for their group: those uploads wait for the app's sync")
    func openQueue() async throws {
        try await bench.client.synced()
        let (own, other) = (Bench.attributes(), Bench.attributes())
        try bench.client.uploadData(Data("own".utf8), withAttributes: own)
        try inbox.uploadData(Data("other".utf8), withAttributes: other)

        bench.client.resumePendingUploads()
        #expect(!bench.client.uploadsPending && inbox.entries().count == 1)

        _ = try? await bench.client.synced(sharingGroupUUID: Bench.group)
        #expect(bench.client.pendingReport().changes.map(\.fileUUID) == [own.fileUUID, other.fileUUID])
    }

    @Test("A process that ends between queueing an entry and removing it does not queue it twice")
    func endAfterQueueing() async throws {
        try await bench.client.synced()
        try inbox.uploadData(Data("x".utf8), withAttributes: Bench.attributes())
        let kept = bench.folder.appending(path: "kept")
        try FileManager.default.copyItem(at: inboxFolder, to: kept)
        bench.client.resumePendingUploads()
        #expect(inboxNames().isEmpty)
        await bench.client.close()
        try FileManager.default.removeItem(at: inboxFolder)
        try FileManager.default.moveItem(at: kept, to: inboxFolder)

        let next = try Bench(folder: bench.folder) { Bench.index($0) }

        #expect(next.client.pendingReport().changes.count == 1)
        #expect(try owned() == ["x"])
        #expect(inboxNames().isEmpty)
    }

    @Test("A process that ends before an entry is complete leaves only files that are removed after a day")
    func endBeforeManifest() async throws {
        try await bench.client.synced()
        try inbox.uploadData(Data("x".utf8), withAttributes: Bench.attributes())
        let manifest = try #require(inboxNames().first { $0.hasSuffix(".json") })
        try FileManager.default.removeItem(at: inboxFolder.appending(path: manifest))
        // An entry that is one day old.
        try Data("old".utf8).write(to: inboxFolder.appending(path: "0000000000000001-\(UUID().uuidString)"))

        let next = try await relaunched()

        #expect(inbox.entries().isEmpty && next.client.pendingReport().changes.isEmpty)
        #expect(inboxNames() == [String(manifest.dropLast(".json".count))])
    }

    @Test("An entry that cannot be queued is kept and reported, blocks no other, and can be discarded")
    func refused() async throws {
        try await bench.client.synced()
        var errors = bench.client.errors.makeAsyncIterator()
        var strange = Bench.attributes()
        strange.sharingGroupUUID = try #require(SharingGroupUUID(UUID().uuidString))
        let good = Bench.attributes()
        try inbox.uploadData(Data("strange".utf8), withAttributes: strange)
        try inbox.uploadData(Data("good".utf8), withAttributes: good)

        bench.client.resumePendingUploads()

        let error = await errors.next()
        #expect(error?.code == .unknownSharingGroup && error?.fileUUID == strange.fileUUID)
        #expect(bench.client.pendingReport().changes.map(\.fileUUID) == [good.fileUUID])
        let entry = try #require(inbox.entries().first)
        #expect(inbox.entries().count == 1 && entry.attributes.fileUUID == strange.fileUUID)
        #expect(try String(contentsOf: entry.file, encoding: .utf8) == "strange")
        try inbox.discard(entry)
        try inbox.discard(entry)
        #expect(inboxNames().isEmpty)
    }

    @Test("Concurrent calls process an entry once, and none of them fails")
    func simultaneously() async throws {
        try await bench.client.synced()
        for _ in 0..<20 { try inbox.uploadData(Data("x".utf8), withAttributes: Bench.attributes()) }
        let (client, errors) = (bench.client, bench.client.errors)

        await withTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    if number % 2 == 0 {
                        client.resumePendingUploads()
                    } else {
                        try? client.sync(sharingGroupUUID: Bench.group)
                    }
                }
            }
        }
        await client.stopped()
        await client.close()

        #expect(inboxNames().isEmpty)
        #expect(client.pendingReport().changes.count == 20)
        // There is no server, so network errors are expected; any other error would name a file.
        for await error in errors where error.code != .networkError { #expect(error.fileUUID == nil, "\(error)") }
    }

    @Test("A reset discards them")
    func reset() async throws {
        try await bench.client.synced()
        try inbox.uploadData(Data("x".utf8), withAttributes: Bench.attributes())

        try bench.client.reset(type: .tracking)

        #expect(inboxNames().isEmpty)
    }

    @Test("An upload without a MIME type, or without a file, is rejected at once and leaves nothing")
    func mistakes() throws {
        var attributes = Bench.attributes()
        let missing = #expect(throws: SyncError.self) {
            try inbox.uploadCopy(of: bench.folder.appending(path: "none"), withAttributes: attributes)
        }
        #expect(missing?.code == .fileManagerError)
        attributes.mimeType = nil
        let untyped = #expect(throws: SyncError.self) {
            try inbox.uploadData(Data("x".utf8), withAttributes: attributes)
        }
        #expect(untyped?.code == .noMimeType)
        #expect(inboxNames().isEmpty)
    }
}
