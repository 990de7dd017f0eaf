import Foundation
import SyncClient
import TestSupport
import Testing

@Suite("Sending queued changes")
struct QueueTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("Files, copies, bytes and temporary files are uploaded with their events", arguments: ServerKind.allCases)
    func kinds(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let link = Data("[InternetShortcut]\nURL=https://example.com/".utf8)
        let files = (0..<4).map { _ in FileUUID.random() }
        let temporary = try phone.file(Data("temporary".utf8))
        try phone.client.uploadImmutable(
            localFile: try phone.file(Data("text".utf8)), withAttributes: phone.attributes(files[0]))
        try phone.client.uploadCopy(
            localFile: try phone.file(link), withAttributes: phone.attributes(files[1], type: "application/x-url"))
        try phone.client.uploadData(Data(), withAttributes: phone.attributes(files[2]))
        try phone.client.uploadTemporary(localFile: temporary, withAttributes: phone.attributes(files[3]))
        #expect(!FileManager.default.fileExists(atPath: try #require(phone.client.url(of: temporary)).path))

        let events = try await phone.events { try await phone.sync() }

        #expect(
            events.filter { if case .singleFileUploadComplete = $0 { true } else { false } }.count == 4)
        #expect(events.contains(.contentUploadsCompleted(numberOfFiles: 4)))
        #expect(
            events.contains(
                .willStartUploads(
                    numberContentUploads: 4, numberUploadDeletions: 0, numberSharingGroupOperations: 0)))
        #expect(events.last == .syncDone)
        #expect(try phone.leftovers() == [])
        let received = try await phone.another().received()
        #expect(Set(received.map(\.bytes)) == [Data("text".utf8), link, Data(), Data("temporary".utf8)])
    }

    @Test("A copy is sent unchanged, even if the original changes", arguments: ServerKind.allCases)
    func copy(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let original = try phone.file(Data("before".utf8))
        try phone.client.uploadCopy(localFile: original, withAttributes: phone.attributes(.random()))
        try Data("after, and longer".utf8).write(to: try #require(phone.client.url(of: original)))

        try await phone.sync()

        #expect(try phone.leftovers() == [])
        #expect(try await phone.another().received().map(\.text) == ["before"])
    }

    @Test("An extension's uploads are sent with the app's uploads", arguments: ServerKind.allCases)
    func inbox(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let inbox = UploadInbox(storeFolder: phone.storeFolder)
        try phone.client.uploadData(Data("app".utf8), withAttributes: phone.attributes(.random()))
        try inbox.uploadData(Data("extension".utf8), withAttributes: phone.attributes(.random(), text: "shared"))

        try await phone.sync()

        #expect(inbox.entries().isEmpty)
        #expect(try phone.leftovers() == [])
        let received = try await phone.another().received()
        #expect(Set(received.map(\.text)) == ["app", "extension"])
        #expect(received.map(\.attributes.appMetaData).contains("shared"))
    }

    @Test(
        "A file that changed or disappeared is not sent, and does not block others", arguments: ServerKind.allCases,
        [true, false])
    func changedFile(kind: ServerKind, isRemoved: Bool) async throws {
        let phone = try await Device.signedUp(server, kind)
        let original = try phone.file(Data("before".utf8))
        let file = FileUUID.random()
        try phone.client.uploadImmutable(localFile: original, withAttributes: phone.attributes(file))
        let other = try phone.upload("other")
        let url = try #require(phone.client.url(of: original))
        if isRemoved {
            try FileManager.default.removeItem(at: url)
        } else {
            try Data("after, and longer".utf8).write(to: url)
        }

        let report = try await phone.sync()

        #expect(report.failed.map(\.code) == [.fileManagerError] && report.failed.map(\.fileUUID) == [file])
        // A batch with a missing change is sent again, as single changes.
        #expect(phone.executor.count("UploadFile") == (kind == .ours ? 2 : 1) && !phone.client.uploadsPending)
        let changes = phone.client.pendingReport().changes
        #expect(changes.map(\.attempts) == [1] && changes.map(\.isDead) == [true])
        #expect(changes.first?.error?.code == .fileManagerError && changes.first?.error?.fileUUID == file)
        let tablet = try await phone.another()
        #expect(try await tablet.received().map(\.text) == ["other"])
        #expect(try phone.client.getAttributes(forFileUUID: other).gone == nil)

        // The app inspects the failure, and retries with the file's current contents.
        let again = try await phone.relaunched()
        guard !isRemoved else {
            #expect(await refusal { try again.client.retryUpload(forFileUUID: file) } == .fileManagerError)
            try again.client.discardUpload(forFileUUID: file)
            #expect(again.client.pendingReport().changes.isEmpty)
            return
        }
        try again.client.retryUpload(forFileUUID: file)
        try await again.sync()
        #expect(try await tablet.received().map(\.text) == ["after, and longer"])
        #expect(again.client.pendingReport().changes.isEmpty)
    }

    @Test("A file that exceeds the server's limit is set aside; the others in its queue are sent")
    func tooLarge() async throws {
        let phone = try await Device.signedUp(try TestServer.configuredDifferently())
        let original = try phone.file(Data(repeating: 0x61, count: 1_200_000))
        let file = FileUUID.random()
        try phone.client.uploadCopy(localFile: original, withAttributes: phone.attributes(file))
        try phone.upload("small")

        let events = try await phone.events([.singleFileUploadFailed, .contentUploadsCompleted]) {
            let report = try await phone.sync()
            #expect(report.failed.map(\.status) == [413] && report.uploaded == 1)
        }

        #expect(events.count == 2)
        #expect(try await phone.another().received().map(\.text) == ["small"])
        try phone.client.uploadData(Data("smaller".utf8), withAttributes: phone.attributes(file))
        try await phone.sync()
        #expect(phone.client.pendingReport().changes.isEmpty)
        #expect(try phone.leftovers() == [])
    }

    @Test("Unreadable files are rejected immediately, and leave nothing behind", arguments: [true, false])
    func unreadable(isCopy: Bool) async throws {
        let phone = try await Device.signedUp(server)
        let missing = LocalFileLocation(base: .documents, path: "missing")
        let attributes = phone.attributes(.random())
        #expect(
            await refusal {
                if isCopy {
                    try phone.client.uploadCopy(localFile: missing, withAttributes: attributes)
                } else {
                    try phone.client.uploadImmutable(localFile: missing, withAttributes: attributes)
                }
            } == .fileManagerError)
        // The copy is created first, and removed with the rejection.
        var wrong = attributes
        wrong.mimeType = nil
        #expect(await refusal { try phone.client.uploadData(Data("x".utf8), withAttributes: wrong) } == .noMimeType)
        #expect(try phone.leftovers() == [])
    }

    @Test("A temporary file that is rejected stays in place")
    func refusedTemporary() async throws {
        let phone = try await Device.signedUp(server)
        let temporary = try phone.file(Data("temporary".utf8))
        var wrong = phone.attributes(.random())
        wrong.mimeType = nil

        #expect(
            await refusal { try phone.client.uploadTemporary(localFile: temporary, withAttributes: wrong) }
                == .noMimeType)

        #expect(try Data(contentsOf: try #require(phone.client.url(of: temporary))) == Data("temporary".utf8))
        #expect(try phone.leftovers() == [])
    }

    @Test("Versions are consecutive, whether or not the app waits for each sync", arguments: ServerKind.allCases)
    func versions(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let file = try await phone.publish("0")
        try await phone.publish("1", as: file)
        for number in 2...4 {
            try phone.upload("\(number)", as: file)
            try phone.client.sync(sharingGroupUUID: phone.group)
        }
        #expect(phone.client.uploadsPending)
        try await phone.sync()

        #expect(try phone.row(file)?.fileVersion?.integer == 4)
        #expect(!phone.client.uploadsPending)
        #expect(try await phone.another().received().map(\.text) == ["4"])
    }

    @Test("Dates in events are the server's, from the time of the upload", arguments: ServerKind.allCases)
    func dates(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        try phone.upload("one")
        let before = try #require(WireDate(try server.clock()))

        let events = try await phone.events(.singleFileUploadComplete) { try await phone.sync() }

        guard case .singleFileUploadComplete(let attributes) = events.first else {
            Issue.record("no event")
            return
        }
        let date = try #require(attributes.updateDate)
        #expect(date.secondsSince1970 >= before.secondsSince1970)
        #expect(attributes.creationDate == attributes.updateDate && attributes.gone == nil)
    }

    @Test(
        "Without new metadata the old ones are kept; new metadata increment the version",
        arguments: ServerKind.allCases)
    func texts(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let file = try await phone.publish("0", text: "first")

        try phone.upload("1", as: file)
        let events = try await phone.events(.singleFileUploadComplete) { try await phone.sync() }
        guard case .singleFileUploadComplete(let attributes) = events.first else {
            Issue.record("no event")
            return
        }
        #expect(attributes.appMetaData == "first")
        #expect(try phone.row(file)?.appMetaDataVersion?.integer == 0)

        try await phone.publish("2", as: file, text: "second")
        #expect(try phone.row(file)?.appMetaDataVersion?.integer == 1)
        #expect(try phone.client.getAttributes(forFileUUID: file).appMetaData == "second")
        #expect(try await phone.another().received().map(\.attributes.appMetaData) == ["second"])
    }

    @Test("Metadata alone begin with version 0 and are incremented", arguments: ServerKind.allCases)
    func textAlone(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let file = try await phone.publish("0")
        for (version, text) in ["first", "second"].enumerated() {
            try phone.uploadText(text, of: file)
            let events = try await phone.events(.singleAppMetaDataUploadComplete) { try await phone.sync() }
            #expect(events == [.singleAppMetaDataUploadComplete(file)])
            #expect(try phone.row(file)?.appMetaDataVersion?.integer == Int64(version))
            #expect(try phone.client.getAttributes(forFileUUID: file).appMetaData == text)
        }
        #expect(try phone.row(file)?.fileVersion?.integer == 0)
    }

    @Test("A deletion after the upload is one event and one commit, and final", arguments: ServerKind.allCases)
    func deletion(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let file = try await phone.publish("0")
        try phone.client.delete(fileWithUUID: file)

        let events = try await phone.events([.singleUploadDeletionComplete, .uploadDeletionsCompleted]) {
            let report = try await phone.sync()
            #expect(report.deleted == 1)
        }

        #expect(events == [.singleUploadDeletionComplete(file), .uploadDeletionsCompleted(numberOfFiles: 1)])
        #expect(try phone.row(file)?.deleted?.bool == true)
        #expect(await refusal { try phone.upload("1", as: file) } == .fileAlreadyDeleted)
    }

    @Test(
        "An upload and a deletion, closed one after the other without waiting, happen in order",
        arguments: ServerKind.allCases)
    func uploadThenDeletion(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let file = try phone.upload("0")
        try phone.client.sync(sharingGroupUUID: phone.group)
        try phone.client.delete(fileWithUUID: file)

        let report = try await phone.sync()

        #expect(report.deleted == 1)
        #expect(try phone.row(file)?.deleted?.bool == true)
        #expect(try phone.leftovers() == [])
    }

    @Test("Deleting a file that was never sent leaves nothing to send", arguments: ServerKind.allCases)
    func neverSent(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let file = try phone.upload("0")
        try phone.client.delete(fileWithUUID: file)

        let events = try await phone.events { try await phone.sync() }

        #expect(events == [.syncStarted, .syncDone])
        #expect(try phone.row(file) == nil)
    }

    @Test("A queue that was closed without a sync is sent as a whole by the next sync")
    func closedWithoutSync() async throws {
        let phone = try await Device.signedUp(server)
        let file = try phone.upload("0")
        try phone.client.closeQueue(sharingGroupUUID: phone.group)
        #expect(phone.client.uploadsPending && !phone.client.isSyncing)
        try phone.upload("1", as: file)

        let events = try await phone.events(.contentUploadsCompleted) { try await phone.sync() }

        #expect(events == [.contentUploadsCompleted(numberOfFiles: 1), .contentUploadsCompleted(numberOfFiles: 1)])
        #expect(try phone.row(file)?.fileVersion?.integer == 1)
    }

    @Test("Files of accepted types arrive; a file of another type is set aside")
    func acceptedTypes() async throws {
        let phone = try await Device.signedUp(server)
        phone.credentials.signOut()
        let accepted = try await phone.client.acceptedTypes()
        #expect(accepted.isSuperset(of: MIMETypeTable.deployed.types))
        #expect(accepted.contains(.heic) && !accepted.contains { $0.rawValue == "text/html" })
        phone.credentials.signIn(phone.user.account)
        let types = [MIMEType.heic, .mp4, .json].map(\.rawValue) + ["text/html"]
        let files = types.map { _ in FileUUID() }
        for (file, type) in zip(files, types) {
            try phone.client.uploadData(Data(type.utf8), withAttributes: phone.attributes(file, type: type))
        }

        let report = try await phone.sync()

        #expect(report.uploaded == 3 && report.failed.map(\.fileUUID) == [files.last])
        #expect(report.failed.first?.serverCode == ErrorCode.unknownMimeType.rawValue)
        for (file, type) in zip(files.dropLast(), types) {
            #expect(try phone.row(file)?.mimeType?.text == type)
        }
    }
}
