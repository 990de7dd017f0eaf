import Foundation
import SyncClient
import TestSupport
import Testing

@Suite("Attributes, requested downloads, and unavailable files")
struct GoneTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("A file's attributes after its upload and after its download", arguments: ServerKind.allCases)
    func attributes(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let tablet = try await phone.another()
        let fileGroup = FileGroupUUID.random()
        let file = try await phone.publish("0", text: "text", fileGroup: fileGroup)
        _ = try await tablet.received()
        // The dates of the device's own upload arrive with the next index.
        try await phone.sync()

        for device in [phone, tablet] {
            let known = try device.client.getAttributes(forFileUUID: file)
            #expect(known.sharingGroupUUID == phone.group && known.fileGroupUUID == fileGroup)
            #expect(known.mimeType == MIMEType("text/plain") && known.appMetaData == "text" && known.gone == nil)
            #expect(known.creationDate != nil && known.updateDate != nil)
            #expect(device.client.files(inSharingGroup: phone.group).map(\.fileUUID) == [file])
        }
        #expect(
            await refusal { try phone.client.getAttributes(forFileUUID: .random()) } == .getAttributesForUnknownFile)
        try phone.client.delete(fileWithUUID: file)
        try await phone.sync()
        #expect(await refusal { try phone.client.getAttributes(forFileUUID: file) } == .fileAlreadyDeleted)
    }

    @Test("A requested download is performed once, and survives a relaunch", arguments: ServerKind.allCases)
    func wish(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let file = try await phone.publish("0")
        #expect(await refusal { try phone.client.requestDownload(forFileUUID: .random()) } == .couldNotFindFileUUID)
        try phone.client.requestDownload(forFileUUID: file)

        let again = try await phone.relaunched()

        #expect(try await again.received().map(\.text) == ["0"])
        #expect(try await again.received().isEmpty)
    }

    @Test(
        "The app's files and the library's are compared, and missing ones are delivered again",
        arguments: ServerKind.allCases)
    func consistency(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let (kept, lost, deleted) = (try phone.upload("kept"), try phone.upload("lost"), try phone.upload("deleted"))
        try await phone.sync()
        try phone.client.delete(fileWithUUID: deleted)
        try await phone.sync()
        let unknown = FileUUID.random()
        let local = try #require(phone.client.localConsistencyCheck(clientFiles: [kept, deleted, unknown]))
        #expect(local.clientMissingNotDeleted == [lost] && local.directoryMissing == [unknown])
        #expect(local.clientHasDeleted == [deleted] && local.clientMissingAndDeleted.isEmpty)

        phone.app.forget()
        let found = try await phone.client.consistencyCheck(
            sharingGroupUUID: phone.group, localFiles: [kept], repair: true)

        #expect(found.clientMissingNotDeleted == [lost] && found.clientMissingAndDeleted == [deleted])
        #expect(phone.app.taken.map(\.text) == ["lost"])
        phone.executor.decide { _, _ in .fails(500) }
        #expect(
            await refusal {
                try await phone.client.consistencyCheck(sharingGroupUUID: phone.group, localFiles: [])
            } == .requestRefused)
    }

    @Test(
        "A file that its owner removed is gone, is not retried automatically, and can be restored",
        arguments: ServerKind.allCases)
    func removedInTheCloud(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let tablet = try await phone.another()
        let file = try await phone.publish("precious", text: "about it")
        let stored = try #require(
            try server.sandbox.files(of: phone.user.account).first { $0.name.hasPrefix(file.rawValue) })
        try server.sandbox.delete(stored.name, in: phone.user.account)

        let gone = try await tablet.received()
        #expect(gone.map(\.kind) == [.gone] && gone.first?.attributes.gone == .fileRemovedOrRenamed)
        #expect(gone.first?.attributes.appMetaData == "about it")
        #expect(try tablet.client.getAttributes(forFileUUID: file).gone == .fileRemovedOrRenamed)
        #expect(try await tablet.received().isEmpty)
        #expect(await refusal { try tablet.upload("x", as: file) } == .fileIsGone)

        tablet.app.forget()
        try await tablet.client.synced(sharingGroupUUID: tablet.group, reAttemptGoneDownloads: true)
        #expect(tablet.app.taken.map(\.kind) == [.gone])

        try server.sandbox.store(
            Array("precious".utf8), as: stored.name, in: phone.user.account, folder: phone.user.folder)
        tablet.app.forget()
        try await tablet.client.synced(sharingGroupUUID: tablet.group, reAttemptGoneDownloads: true)
        #expect(tablet.app.taken.map(\.text) == ["precious"])
        #expect(try tablet.client.getAttributes(forFileUUID: file).gone == nil)
        try await tablet.publish("next", as: file)
        #expect(try await phone.received().map(\.text) == ["next"])
    }

    @Test("A file that is gone can be deleted", arguments: ServerKind.allCases)
    func deletedWhileGone(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let tablet = try await phone.another()
        let file = try await phone.publish("precious")
        for stored in try server.sandbox.files(of: phone.user.account) where stored.name.hasPrefix(file.rawValue) {
            try server.sandbox.delete(stored.name, in: phone.user.account)
        }
        _ = try await tablet.received()

        try tablet.client.delete(fileWithUUID: file)
        try await tablet.sync()

        #expect(try phone.row(file)?.deleted?.bool == true)
        #expect(try tablet.leftovers() == [])
    }

    @Test(
        "Without the owner's token, files are unavailable and uploads wait; everything else continues",
        arguments: ServerKind.allCases)
    func revoked(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let bob = try await phone.invited()
        let file = try await phone.publish("hers")
        try server.sandbox.revoke(phone.user.account)

        let gone = try await bob.received()
        #expect(gone.map(\.attributes.gone) == [.authTokenExpiredOrRevoked])
        #expect(try bob.client.getAttributes(forFileUUID: file).gone == .authTokenExpiredOrRevoked)
        let own = try bob.upload("mine")
        let events = try await bob.events([.singleFileUploadWaiting, .singleFileUploadComplete]) {
            let report = try await bob.sync()
            #expect(report.waiting.map(\.fileUUID) == [own] && report.uploaded == 0)
        }
        #expect(events.count == 1)
        guard case .singleFileUploadWaiting(let attributes, let error) = events.first else {
            Issue.record("no event")
            return
        }
        #expect(attributes.fileUUID == own && error.code == .storageUnauthorized)
        // The server does not name the member who hosts a new file.
        #expect(error.storage == .other(nil) && error.recovery == .askOwner)
        #expect(bob.client.pendingReport().changes.map(\.fileUUID) == [own])
    }

    @Test(
        "A removed user's files are deleted for others, and the user's storage is no longer used",
        arguments: ServerKind.allCases)
    func removedUser(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let dana = try await phone.invited(.dropbox)
        let bob = try await phone.invited()
        let hers = try await dana.publish("hers")
        let hosted = try await bob.publish("hosted")
        _ = try await phone.received()
        _ = try await dana.received()
        _ = try await bob.received()

        try await dana.client.removeUser()
        let received = try await phone.received()
        #expect(received.map(\.kind) == [.deletion] && received.map(\.attributes.fileUUID) == [hers])

        // The owner of Bob's storage is also removed.
        try await phone.client.removeUser()
        let events = try await bob.events(.sharingGroupOwningUserRemoved) { try await bob.client.synced() }
        #expect(events.count == 1)
        let all = try await bob.received()
        #expect(Set(all.map(\.attributes.fileUUID)) == [hers, hosted] && all.allSatisfy { $0.kind == .deletion })
        let own = try bob.upload("nowhere to go")
        let report = try await bob.sync()
        #expect(report.waiting.map(\.fileUUID) == [own] && report.waiting.map(\.code) == [.storageOwnerMissing])
        #expect(report.waiting.map(\.recovery) == [.askOwner] && bob.client.uploadsPending)
    }

    @Test(
        "A required sign-in is reported once; after the sign-in, everything continues", arguments: ServerKind.allCases)
    func signedOut(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        phone.credentials.signOut()
        try phone.upload("later")
        #expect(await refusal { try await phone.sync() } == .signInRequired)
        let statuses = Recorder(phone.client.status())
        try await eventually("the status is blocked") {
            if case .blocked(let error) = statuses.elements.last { error.code == .signInRequired } else { false }
        }

        phone.credentials.signIn(phone.user.account)
        #expect(try await phone.sync().uploaded == 1)
        phone.credentials.forgetToken()
        let events = try await phone.events(.refreshingCredentials) { try await phone.sync() }
        #expect(events == [.refreshingCredentials] && phone.credentials.refreshes == 1)

        // In a new process, too, the first request causes only one refresh.
        let again = try await phone.relaunched()
        again.credentials.forgetToken()
        try await again.sync()
        #expect(again.credentials.refreshes == 1)
    }
}
