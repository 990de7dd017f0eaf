import Foundation
import SyncClient
import TestSupport
import Testing

@Suite("Failures, lost replies, and killed processes")
struct FailureTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    /// Batches need no request for the staged changes, and no separate commit.
    private static let ofAnUpload = ServerKind.allCases.flatMap { kind in
        (["CheckCreds", "Index", "UploadFile", "UploadAppMetaData", "UploadDeletion"]
            + (kind == .ours ? [] : ["GetUploads", "DoneUploads"])).map { (kind, $0) }
    }
    private static let ofADownload = ["Index", "DownloadFile", "DownloadAppMetaData"]

    /// A device with an upload, new metadata and a deletion to send.
    private func sender(_ kind: ServerKind) async throws -> (Device, FileUUID, FileUUID) {
        let phone = try await Device.signedUp(server, kind)
        let (old, text) = (try phone.upload("old"), try phone.upload("text"))
        try await phone.sync()
        let new = try phone.upload("new")
        try phone.uploadText("about it", of: text)
        try phone.client.delete(fileWithUUID: old)
        // A new process asks the server for staged changes, and has none itself.
        return (try await phone.relaunched(), new, old)
    }

    private func expectSent(_ phone: Device, _ new: FileUUID, _ old: FileUUID) async throws {
        #expect(try phone.row(new)?.fileVersion?.integer == 0)
        #expect(try phone.row(old)?.deleted?.bool == true)
        #expect(try phone.user.index(of: phone.group.rawValue).masterVersion == 2)
        #expect(try phone.leftovers() == [])
        #expect(phone.app.conflicts.isEmpty && phone.app.taken.isEmpty)
    }

    @Test(
        "If any request of an upload fails, the sync ends with one error; the next sync continues",
        arguments: ofAnUpload)
    func failingUpload(kind: ServerKind, endpoint: String) async throws {
        let (phone, new, old) = try await sender(kind)
        let errors = Recorder(phone.client.errors)
        // A response that only a server bug produces; it is not retried.
        phone.executor.decide { asked, _ in asked == endpoint ? .fails(422) : .passes }
        #expect(await refusal { try await phone.sync() } == .requestRefused)
        #expect(phone.executor.count(endpoint) == 1)
        try await eventually("one error") { errors.elements.map(\.code) == [.requestRefused] }
        #expect(!phone.client.isSyncing && phone.client.uploadsPending)

        phone.executor.pass()
        try await phone.sync()

        try await expectSent(phone, new, old)
    }

    @Test(
        "If any request of a download fails, the sync ends with one error; the next sync continues",
        arguments: ServerKind.allCases, ofADownload)
    func failingDownload(kind: ServerKind, endpoint: String) async throws {
        let phone = try await Device.signedUp(server, kind)
        let tablet = try await phone.another()
        let file = try await phone.publish("0", text: "first")
        if endpoint == "DownloadAppMetaData" {
            _ = try await tablet.received()
            try phone.uploadText("second", of: file)
            try await phone.sync()
        }
        tablet.executor.decide { asked, _ in asked == endpoint ? .fails(422) : .passes }
        #expect(await refusal { try await tablet.sync() } == .requestRefused)
        #expect(tablet.executor.count(endpoint) == 1 && !tablet.client.isSyncing)

        tablet.executor.pass()
        let received = try await tablet.received()
        #expect(received.count == 1)
        #expect(try tablet.leftovers() == [])
    }

    @Test(
        "Losing any kind of reply has no visible effect, and nothing is done twice",
        arguments: ofAnUpload)
    func lostReply(kind: ServerKind, endpoint: String) async throws {
        let (phone, new, old) = try await sender(kind)
        phone.executor.decide { asked, number in asked == endpoint && number == 1 ? .losesReply : .passes }

        // A server without commit ids cannot recognise a repeated commit: the client does not repeat it, and learns the
        // outcome in the next sync.
        if await refusal({ try await phone.sync() }) != nil {
            #expect(kind == .older && endpoint == "DoneUploads")
            try await phone.sync()
        }

        try await expectSent(phone, new, old)
    }

    @Test(
        "After a failure between two uploads, only the second is sent, and both are committed",
        arguments: ServerKind.allCases)
    func secondUpload(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        try phone.upload("0")
        try phone.upload("1")
        phone.executor.decide { asked, number in asked == "UploadFile" && number == 2 ? .fails(422) : .passes }
        #expect(await refusal { try await phone.sync() } == .requestRefused)

        phone.executor.pass()
        let events = try await phone.events(.contentUploadsCompleted) { try await phone.sync() }

        #expect(events == [.contentUploadsCompleted(numberOfFiles: 2)])
        #expect(phone.executor.count("UploadFile") == 1)
    }

    @Test("After a failure between two downloads, the first stays delivered", arguments: ServerKind.allCases)
    func secondDownload(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let tablet = try await phone.another()
        try phone.upload("0")
        try phone.upload("1")
        try await phone.sync()
        tablet.executor.decide { asked, number in asked == "DownloadFile" && number == 2 ? .fails(422) : .passes }
        #expect(await refusal { try await tablet.sync() } == .requestRefused)
        #expect(tablet.app.taken.count == 1)

        tablet.executor.pass()
        try await tablet.sync()

        #expect(Set(tablet.app.taken.map(\.text)) == ["0", "1"] && tablet.app.taken.count == 2)
        #expect(tablet.executor.count("DownloadFile") == 1)
    }

    @Test(
        "Changes by others during an upload restart it, and everything arrives once",
        arguments: ServerKind.allCases.map { ($0, "UploadFile") }
            + [(.oursWithoutBatches, "DoneUploads"), (.older, "DoneUploads")])
    func otherMasterVersion(kind: ServerKind, endpoint: String) async throws {
        let phone = try await Device.signedUp(server, kind)
        let tablet = try await phone.another()
        let files = [try tablet.upload("0"), try tablet.upload("1")]
        tablet.executor.before { [executor = tablet.executor] asked in
            guard asked == endpoint, executor.count(endpoint) == (endpoint == "UploadFile" ? 2 : 1) else { return }
            _ = try? await phone.publish("between")
        }

        let report = try await tablet.sync()

        #expect(report.restarts == 1 && report.uploaded == 2)
        #expect(tablet.app.taken.map(\.text) == ["between"])
        for file in files { #expect(try phone.row(file)?.fileVersion?.integer == 0) }
        #expect(Set(try await phone.received().map(\.text)) == ["0", "1"])
        #expect(try tablet.leftovers() == [])
    }

    @Test(
        "Without a network, every call ends with an error; once it is back, every call works",
        arguments: ServerKind.allCases)
    func noNetwork(kind: ServerKind) async throws {
        let (phone, new, old) = try await sender(kind)
        let client = phone.client
        phone.executor.decide { _, _ in .isNotSent }
        let group = phone.group
        let code = SharingInvitationUUID(UUID().uuidString)!
        let calls: [(String, @Sendable () async throws -> Void)] = [
            ("health check", { _ = try await client.connection?.healthCheck() }),
            ("add user", { try await client.addUser(sharingGroupUUID: .random()) }),
            ("check", { try await client.checkForExistingUser() }), ("remove user", { try await client.removeUser() }),
            ("list", { try await client.synced() }), ("sync", { try await client.synced(sharingGroupUUID: group) }),
            (
                "invite",
                { _ = try await client.createSharingInvitation(withPermission: .read, sharingGroupUUID: group) }
            ), ("info", { _ = try await client.getSharingInvitationInfo(invitationCode: code) }),
            ("redeem", { try await client.redeemSharingInvitation(invitationCode: code) }),
            ("push token", { try await client.registerPushNotificationToken("token") }),
        ]
        for (name, call) in calls {
            do {
                try await call()
                Issue.record("\(name) unexpectedly succeeded")
            } catch let error as SyncError {
                #expect(error.code == .networkError && error.recovery == .retryLater, "\(name)")
            } catch let error as ServerConnectionError {
                #expect(error.code == .notConnected, "\(name)")
            }
        }
        #expect(!client.isSyncing && client.uploadsPending)

        phone.executor.pass()
        _ = try await client.checkForExistingUser()
        try await phone.sync()
        try await expectSent(phone, new, old)
    }

    @Test("When the network returns, and after a launch, closed queues are sent, and nothing else")
    func resumes() async throws {
        let phone = try await Device.signedUp(server)
        let file = try phone.upload("0")
        phone.executor.decide { _, _ in .isNotSent }
        #expect(await refusal { try await phone.sync() } == .networkError)
        phone.executor.pass()
        let open = try phone.upload("open")

        phone.client.resumePendingUploads()
        try await eventually("it is sent") { !phone.client.uploadsPending && !phone.client.isSyncing }
        #expect(try phone.row(file) != nil && phone.row(open) == nil)

        try phone.client.closeQueue(sharingGroupUUID: phone.group)
        let again = try await phone.relaunched { $0.syncsPendingUploadsAtLaunch = true }
        try await eventually("it is sent") { !again.client.uploadsPending && !again.client.isSyncing }
        #expect(try again.row(open) != nil)
    }

    @Test(
        "A process that ends at any request of an upload loses nothing and does nothing twice",
        arguments: ofAnUpload)
    func processEndsWhileSending(kind: ServerKind, endpoint: String) async throws {
        let (phone, new, old) = try await sender(kind)
        // The request arrives; the process ends before the reply.
        phone.executor.decide { asked, number in asked == endpoint ? .losesReply : .passes }
        _ = await refusal { try await phone.sync() }

        let again = try await phone.relaunched()
        try await again.sync()

        try await expectSent(again, new, old)
    }

    @Test(
        "A process that ends during a delivery delivers again, without fetching the files twice",
        arguments: ServerKind.allCases)
    func processEndsWhileDelivering(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let tablet = try await phone.another()
        let fileGroup = FileGroupUUID.random()
        try phone.upload("picture", fileGroup: fileGroup)
        try phone.upload("discussion", fileGroup: fileGroup)
        try await phone.sync()
        tablet.executor.decide { asked, number in asked == "DownloadFile" && number > 1 ? .isNotSent : .passes }
        #expect(await refusal { try await tablet.sync() } == .networkError)

        let again = try await tablet.relaunched()
        try await again.sync()

        #expect(again.app.deliveries.map { Set($0.map(\.text)) } == [["picture", "discussion"]])
        #expect(again.executor.count("DownloadFile") == 1)
        #expect(try again.leftovers() == [])
    }

    @Test("Unreferenced files are removed at launch")
    func orphans() async throws {
        let phone = try await Device.signedUp(server)
        try phone.client.uploadData(Data("kept".utf8), withAttributes: phone.attributes(.random()))
        let files = phone.storeFolder.appending(path: "files")
        try Data("orphan".utf8).write(to: files.appending(path: "orphan.partial"))

        let again = try await phone.relaunched()

        #expect(try FileManager.default.contentsOfDirectory(atPath: files.path).count == 1)
        #expect(try await again.sync().uploaded == 1)
        #expect(try again.leftovers() == [])
    }

    @Test("Only one instance can use a store at a time; a closed instance reports that it is closed")
    func oneAtATime() async throws {
        let phone = try await Device.signedUp(server)
        #expect(await refusal { try phone.onSameStore() } == .storeInUse)

        await phone.client.close()

        #expect(await refusal { try phone.upload("0") } == .closed)
        #expect(await refusal { try await phone.sync() } == .closed)
        let again = try phone.onSameStore()
        #expect(again.client.sharingGroups.map(\.sharingGroupUUID) == [phone.group])
    }

    @Test(
        "A reset is rejected during a sync; otherwise it drops pending changes and their copies",
        arguments: ServerKind.allCases)
    func reset(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let file = try await phone.publish("0")
        try phone.client.uploadData(Data("1".utf8), withAttributes: phone.attributes(file))
        let client = phone.client
        phone.executor.decide { asked, _ in asked == "UploadFile" ? .fails(422) : .passes }
        phone.executor.before { asked in
            guard asked == "UploadFile" else { return }
            let code = await refusal { try client.reset(type: .tracking) }
            #expect(code == .syncIsOperating)
        }
        #expect(await refusal { try await phone.sync() } == .requestRefused)
        phone.executor.before(nil)
        phone.executor.pass()

        try client.reset(type: .tracking)

        #expect(try phone.leftovers() == [] && !client.uploadsPending)
        #expect(try client.getAttributes(forFileUUID: file).fileUUID == file)
        try await phone.publish("2", as: file)
        #expect(try phone.row(file)?.fileVersion?.integer == 1)
    }

    @Test("A server that is too old blocks all requests until it is updated")
    func tooOld() async throws {
        let phone = try Device(server.newcomer()) { $0.minimumServerVersion = ServerVersion(99, 0, 0) }
        #expect(
            await refusal { try await phone.client.addUser(sharingGroupUUID: phone.group) } == .badServerVersion)
        #expect(await refusal { try await phone.sync(nil) } != nil)
        #expect(!phone.client.isSyncing)
    }

    @Test("A closed server causes one event with one error")
    func serverDown() async throws {
        let phone = try await Device.signedUp(server)
        phone.executor.decide { _, _ in .fails(503) }
        let events = try await phone.events(.serverDown) {
            #expect(await refusal { try await phone.sync() } == .serverDown)
        }
        #expect(events == [.serverDown(message: "")] && phone.executor.endpoints.count == 1)
    }

    @Test(
        "An overloaded server and an exhausted quota are temporary rejections, not network failures")
    func tooManyRequests() async throws {
        let phone = try await Device.signedUp(server)
        phone.executor.decide { _, _ in .fails(429) }

        let error = await #expect(throws: SyncError.self) { try await phone.sync() }
        let asked = await #expect(throws: SyncError.self) {
            try await phone.client.createSharingInvitation(withPermission: .read, sharingGroupUUID: phone.group)
        }

        for error in [error, asked] {
            #expect(error?.code == .requestRefused && error?.status == 429 && error?.recovery == .retryLater)
        }
    }

    @Test(
        "A download that completes after its process has ended is used by the next process, not fetched again",
        arguments: ServerKind.allCases)
    func unattendedDownload(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let tablet = try await phone.another()
        try await phone.publish("kept", text: "about it")
        // The process ends while the reply is in transit; the system keeps the transfer.
        tablet.executor.decide { asked, _ in asked == "DownloadFile" ? .losesReply : .passes }
        #expect(await refusal { try await tablet.sync() } == .networkError)
        let again = try await tablet.relaunched()
        try await again.client.take(try #require(tablet.executor.lastTransfer))

        #expect(try await again.received().map(\.text) == ["kept"])

        #expect(again.app.taken.map(\.attributes.appMetaData) == ["about it"])
        #expect(again.executor.count("DownloadFile") == 0)
        #expect(try again.leftovers() == [])
    }

    @Test("An upload that completes after its process has ended is not sent again", arguments: ServerKind.allCases)
    func unattendedUpload(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let file = try phone.upload("kept", text: "about it")
        phone.executor.decide { asked, _ in asked == "UploadFile" ? .losesReply : .passes }
        #expect(await refusal { try await phone.sync() } == .networkError)
        let again = try await phone.relaunched()
        try await again.client.take(try #require(phone.executor.lastTransfer))

        // Its batch is committed with it.
        #expect(try await again.sync().uploaded == (kind == .ours ? 0 : 1))

        #expect(again.executor.count("UploadFile") == 0 && !again.client.uploadsPending)
        #expect(try again.row(file)?.fileVersion?.integer == 0)
        #expect(try again.leftovers() == [])
    }

    @Test("A failed, corrupt or unknown transfer is discarded")
    func uselessTransfers() async throws {
        let phone = try await Device.signedUp(server)
        for label in [nil, "else", "down x 0 -", "down \(FileUUID.random()) 0 -", "up \(FileUUID.random()) 0 -"] {
            let bytes = phone.folder.appending(path: "bytes")
            try Data("x".utf8).write(to: bytes)
            try await phone.client.take(
                UnattendedTransfer(label: label, result: .failure(TransportFailure(.interrupted)), file: bytes))
            #expect(!FileManager.default.fileExists(atPath: bytes.path))
        }
        #expect(try phone.leftovers() == [])
    }
}
