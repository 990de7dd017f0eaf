import Foundation
import SyncClient
import TestSupport
import Testing

@Suite("Delivery of others' changes")
struct DeliveryTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("A new user creates a group and uploads files; another device receives them", arguments: ServerKind.allCases)
    func simpleWay(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let group = SharingGroupUUID.random()
        try phone.client.createSharingGroup(sharingGroupUUID: group, sharingGroupName: "Holiday")
        let file = try phone.upload("sea", text: "at the sea", group: group)
        let report = try await phone.sync(group)
        #expect(report.uploaded == 1)
        #expect(try phone.leftovers() == [])
        #expect(Set(phone.client.sharingGroups.map(\.sharingGroupUUID)) == [phone.group, group])

        let tablet = try await phone.another()
        #expect(tablet.client.sharingGroups.first { $0.sharingGroupUUID == group }?.syncNeeded == true)
        let received = try await tablet.sync(group)

        #expect(received.delivered.map(\.attributes.fileUUID) == [file])
        #expect(tablet.app.taken.map(\.text) == ["sea"])
        #expect(tablet.app.taken.map(\.attributes.appMetaData) == ["at the sea"])
        #expect(tablet.app.taken.map(\.attributes.mimeType) == [MIMEType("text/plain")])
        #expect(tablet.client.sharingGroups.first { $0.sharingGroupUUID == group }?.syncNeeded == false)
        #expect(try tablet.leftovers() == [])
    }

    @Test("Two consecutive syncs deliver each file once, with its metadata", arguments: ServerKind.allCases)
    func twice(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let tablet = try await phone.another()
        let first = try await phone.publish("one", text: "first")

        #expect(try await tablet.received().map(\.attributes.appMetaData) == ["first"])
        let second = try await phone.publish("two")
        let received = try await tablet.received()

        #expect(received.map(\.attributes.fileUUID) == [second])
        #expect(received.first?.attributes.appMetaData == nil)
        #expect(try await tablet.received().isEmpty)
        #expect(try tablet.client.getAttributes(forFileUUID: first).appMetaData == "first")
        #expect(try tablet.leftovers() == [])
    }

    @Test(
        "New contents are delivered with the new metadata; new metadata alone are delivered without contents",
        arguments: ServerKind.allCases)
    func nextVersions(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let tablet = try await phone.another()
        let file = try await phone.publish("one", text: "first")
        _ = try await tablet.received()

        try await phone.publish("two", as: file, text: "second")
        let contents = try await tablet.received()
        try phone.uploadText("third", of: file)
        try await phone.sync()
        let text = try await tablet.received()

        #expect(contents.map(\.text) == ["two"] && contents.map(\.version) == [FileVersion(1)])
        #expect(contents.first?.attributes.appMetaData == "second")
        #expect(text.map(\.kind) == [.appMetaData] && text.first?.attributes.appMetaData == "third")
        #expect(try tablet.client.getAttributes(forFileUUID: file).appMetaData == "third")
    }

    @Test("Deletions and a new file in one sync are delivered, each once", arguments: ServerKind.allCases)
    func deletions(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let tablet = try await phone.another()
        let files = [try phone.upload("a"), try phone.upload("b"), try phone.upload("c")]
        try await phone.sync()
        _ = try await tablet.received()

        try phone.client.delete(fileWithUUID: files[0])
        try await phone.sync()
        #expect(try await tablet.received().map(\.kind) == [.deletion])
        try phone.client.delete(filesWithUUIDs: Array(files[1...]))
        let new = try phone.upload("d")
        try await phone.sync()
        let received = try await tablet.received()

        #expect(Set(received.filter { $0.kind == .deletion }.map(\.attributes.fileUUID)) == Set(files[1...]))
        #expect(received.filter { $0.kind == .file }.map(\.attributes.fileUUID) == [new])
        #expect(try await tablet.received().isEmpty)
        #expect(await refusal { try tablet.client.getAttributes(forFileUUID: files[0]) } == .fileAlreadyDeleted)
    }

    @Test("A file undeleted by others is delivered again", arguments: ServerKind.allCases)
    func undeleted(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let tablet = try await phone.another()
        let file = try await phone.publish("one")
        _ = try await tablet.received()
        // The phone deletes the file; the tablet has new contents, and keeps them.
        try phone.client.delete(fileWithUUID: file)
        try await phone.sync()
        tablet.app.change { $0.deletionAnswer = { _ in .rejectDownloadDeletion(.keepContentUpload) } }
        try await tablet.publish("two", as: file)

        let received = try await phone.received()

        #expect(received.map(\.text) == ["two"] && received.map(\.version) == [FileVersion(1)])
        #expect(try phone.client.getAttributes(forFileUUID: file).fileUUID == file)
        #expect(try phone.row(file)?.deleted?.bool == false)
    }

    @Test("Ten small and ten large files arrive while other requests are made", arguments: ServerKind.allCases)
    func many(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let tablet = try await phone.another()
        var contents: [FileUUID: Data] = [:]
        for number in 0..<20 {
            let file = FileUUID.random()
            let bytes = number < 10 ? Data("short \(number)".utf8) : Data(RandomData.bytes(120_000 + number))
            contents[file] = bytes
            try phone.client.uploadData(
                bytes, withAttributes: phone.attributes(file, type: number < 10 ? "text/plain" : "image/jpeg"))
        }
        #expect(try await phone.sync().uploaded == 20)
        #expect(try phone.leftovers() == [])
        let connection = try #require(tablet.client.connection)
        tablet.executor.before { endpoint in
            guard endpoint == "DownloadFile" else { return }
            _ = try? await connection.healthCheck()
        }

        let received = try await tablet.received()

        #expect(received.count == 20)
        for file in received { #expect(file.bytes == contents[file.attributes.fileUUID]) }
        #expect(received.allSatisfy { !$0.contentsChanged })
        #expect(try tablet.leftovers() == [])
    }

    @Test(
        "File groups are delivered as a whole, single files alone; the group is stored", arguments: ServerKind.allCases)
    func fileGroups(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let (left, right) = (FileGroupUUID.random(), FileGroupUUID.random())
        let first = try phone.upload("picture", fileGroup: left)
        try phone.upload("discussion", fileGroup: left)
        try phone.upload("other", fileGroup: right)
        try phone.upload("single")
        try phone.upload("single too")
        try await phone.sync()
        try await phone.publish("picture, later", as: first)
        let tablet = try await phone.another()

        _ = try await tablet.received()

        #expect(tablet.app.deliveries.map(\.count).sorted() == [1, 1, 1, 2])
        let pair = tablet.app.deliveries.first { $0.count == 2 }
        #expect(Set(pair?.map { $0.text ?? "" } ?? []) == ["picture, later", "discussion"])
        #expect(try tablet.client.getAttributes(forFileUUID: first).fileGroupUUID == left)
        #expect(
            await refusal {
                try tablet.upload("x", as: first, fileGroup: right)
            } == .fileGroupUUIDChanged)
    }

    @Test(
        "A delivery that the app rejects is repeated, even if the app has already moved the files",
        arguments: ServerKind.allCases)
    func refused(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let tablet = try await phone.another()
        try await phone.publish("one")
        tablet.app.change { $0.refuses = true }
        #expect(await refusal { try await tablet.sync() } == .deliveryRefused)
        #expect(!tablet.client.isSyncing)

        tablet.app.change { $0.refuses = false }
        #expect(try await tablet.received().map(\.text) == ["one"])
        #expect(try tablet.leftovers() == [])
    }

    @Test("Without a delegate, downloads wait", arguments: ServerKind.allCases)
    func noDelegate(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let tablet = try await phone.another()
        try await phone.publish("one")
        tablet.client.delegate = nil
        #expect(await refusal { try await tablet.sync() } == .deliveryRefused)

        tablet.client.delegate = tablet.app
        #expect(try await tablet.received().map(\.text) == ["one"])
        #expect(tablet.executor.count("DownloadFile") == 1)
    }

    @Test("After a complete reset, everything is delivered again", arguments: ServerKind.allCases)
    func reset(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let tablet = try await phone.another()
        let file = try await phone.publish("one")
        _ = try await tablet.received()

        try tablet.client.reset(type: .all)

        #expect(tablet.client.sharingGroups.isEmpty)
        #expect(await refusal { try tablet.client.getAttributes(forFileUUID: file) } == .getAttributesForUnknownFile)
        _ = try await tablet.client.checkForExistingUser()
        #expect(try await tablet.received().map(\.text) == ["one"])
    }

    @Test("An idle sync is one request without files")
    func idle() async throws {
        let phone = try await Device.signedUp(server)
        try await phone.publish("one")
        try await phone.sync()
        phone.executor.forget()

        try await phone.sync()
        try await phone.sync()

        #expect(phone.executor.endpoints == ["Index", "Index"])
    }

    @Test(
        "On demand, a device lists files, receives those that it requests, and evicts them again",
        arguments: ServerKind.allCases)
    func onDemand(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let fileGroup = FileGroupUUID()
        let photo = try phone.upload(String(repeating: "p", count: 900), text: "photo", fileGroup: fileGroup)
        let icon = try phone.upload("icon", text: "icon", fileGroup: fileGroup)
        let other = try await phone.publish("other")
        let tablet = try await phone.another { $0.downloadPolicy = .onDemand }
        #expect(tablet.client.sharingGroups.map(\.downloadPolicy) == [.onDemand])

        // The texts arrive alone.
        let texts = try await tablet.received()
        #expect(Set(texts.map(\.kind)) == [.appMetaData])
        let listed = tablet.client.files(inFileGroup: fileGroup)
        #expect(Set(listed.map(\.appMetaData)) == ["photo", "icon"])
        #expect(tablet.client.files(inSharingGroup: tablet.group).allSatisfy { $0.isIndexOnly })
        let wanted = try #require(listed.first { $0.appMetaData == "icon" })
        try tablet.client.requestDownload(of: wanted.fileUUID, priority: .high)
        let requested = try tablet.client.attributes(of: icon)
        #expect(requested.isRequested)
        #expect(try await tablet.received().map(\.text) == ["icon"])
        try tablet.client.requestDownload(of: photo)
        #expect(try await tablet.received().map(\.attributes.fileUUID) == [photo])

        // Both fit exactly.
        let evicted = try tablet.client.evict(keepingBytes: 904)
        #expect(evicted.isEmpty)
        try tablet.client.evict(photo)
        let consistency = try #require(tablet.client.localConsistencyCheck(clientFiles: [photo, icon]))
        #expect(consistency.clientHasEvicted == [photo] && consistency.clientMissingNotDeleted.isEmpty)
        try phone.upload("new", as: photo)
        try phone.upload("newer", as: icon)
        try phone.client.delete([other])
        try await phone.sync()
        let received = try await tablet.received()
        #expect(Set(received.map(\.attributes.fileUUID)) == [icon, other])

        try tablet.client.setDownloadPolicy(.automatic, of: tablet.group)
        let next = try await tablet.relaunched()
        #expect(next.client.sharingGroups.map(\.downloadPolicy) == [.automatic])
        #expect(try await next.received().map(\.text) == ["new"])
        #expect(try next.leftovers() == [])
    }
}
