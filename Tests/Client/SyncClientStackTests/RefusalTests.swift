import Foundation
import SyncClient
import SyncServerConnection
import TestSupport
import Testing

@Suite("Rejections by the server", .serialized)
struct RefusalTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    // MARK: Storages

    @Test(
        "While the owner's grant is revoked, all changes wait; after a sign-in they are sent or raised as conflicts",
        arguments: ServerKind.allCases)
    func revoked(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let tablet = try await phone.another()
        let bob = try await phone.invited()
        let discussion = try await phone.publish("first")
        let other = try await phone.publish("other")
        for device in [tablet, bob] { #expect(try await device.received().count == 2) }
        try server.sandbox.revoke(phone.user.account, .server)

        let hers = Set([try phone.upload("her comment", as: discussion), try phone.upload("her photo")])
        let his = Set([try bob.upload("his comment", as: other), try bob.upload("his photo")])
        for (device, files) in [(phone, hers), (bob, his)] {
            let errors = Recorder(device.client.errors)
            let statuses = Recorder(device.client.status())
            let events = try await device.events(.singleFileUploadWaiting) {
                let report = try await device.sync()
                #expect(Set(report.waiting.compactMap(\.fileUUID)) == files && report.waiting.count == 2)
                #expect(report.uploaded == 0 && report.failed.isEmpty && report.skipped == 2)
                for error in report.waiting { expectUnauthorized(error, isOwn: device === phone) }
            }
            #expect(events.count == 2)
            // One error for each storage; the server does not tell Bob that his new file goes to her storage as well.
            try await eventually("the errors are reported") { errors.elements.count == (device === phone ? 1 : 2) }
            for error in errors.elements { expectUnauthorized(error, isOwn: device === phone) }
            try await eventually("the status is blocked") {
                if case .blocked(let error) = statuses.elements.last {
                    error.code == .storageUnauthorized
                } else {
                    false
                }
            }
            // The same reason is not reported again.
            #expect(try await device.events(.singleFileUploadWaiting) { try await device.sync() }.isEmpty)
        }
        #expect(phone.client.pendingReport().blocked == 2)
        let again = try await phone.relaunched()
        for change in again.client.pendingReport().changes {
            #expect(change.attempts == 2 && change.isBlocked && !change.isDead)
            expectUnauthorized(try change.error.unwrapped(), isOwn: true)
        }

        // She signs in on her tablet, and writes something on it.
        let account = try server.sandbox.newAuthorizationCode(of: phone.user.account)
        for device in [tablet, again] { device.credentials.signIn(account) }
        _ = try await tablet.client.checkForExistingUser()
        try await tablet.publish("from the tablet", as: discussion)

        again.app.change { $0.answer = { _, _ in .rejectContentDownload(.keepAll) } }
        #expect(try await again.sync().uploaded == 2)
        #expect(again.app.conflicts.map(\.attributes.fileUUID) == [discussion])
        #expect(try await bob.sync().uploaded == 2)
        #expect(bob.app.conflicts.isEmpty)
        let received = try await phone.another().received()
        #expect(Set(received.map(\.text)) == ["her comment", "her photo", "his comment", "his photo"])
        for device in [again, bob] {
            #expect(try device.leftovers() == [])
            #expect(device.client.pendingReport().blocked == 0)
        }
    }

    private func expectUnauthorized(
        _ error: SyncError, isOwn: Bool, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(error.code == .storageUnauthorized, sourceLocation: sourceLocation)
        #expect(error.recovery == (isOwn ? .signInAgain : .askOwner), sourceLocation: sourceLocation)
        #expect((error.storage == .own) == isOwn, sourceLocation: sourceLocation)
    }

    @Test(
        "With a full storage, smaller files and deletions are sent; the rest is sent once there is room, or withdrawn",
        // An older server does not distinguish a full storage from a failure.
        arguments: [ServerKind.ours, .oursWithoutBatches])
    func full(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind, quotaBytes: 400_000)
        let tablet = try await phone.another()
        let old = try await phone.publish(String(repeating: "o", count: 250_000))
        _ = try await tablet.received()
        let large = try phone.upload(String(repeating: "l", count: 300_000))
        try phone.upload("small")

        var report = try await phone.sync()
        #expect(report.uploaded == 1 && report.waiting.map(\.fileUUID) == [large])
        let error = try report.waiting.first.unwrapped()
        #expect(error.code == .storageFull && error.storage == .own && error.recovery == .freeSpace)
        #expect(try await tablet.received().map(\.text) == ["small"])

        try phone.client.delete(fileWithUUID: old)
        report = try await phone.sync()
        #expect(report.deleted == 1)
        #expect(try await tablet.received().contains { $0.kind == .deletion && $0.attributes.fileUUID == old })
        try await eventually("the old file is deleted") {
            try !server.sandbox.files(of: phone.user.account).contains { $0.name.hasPrefix(old.rawValue) }
        }
        try await phone.sync()
        #expect(try phone.row(large)?.fileVersion?.integer == 0)
        _ = try await tablet.received()
        #expect(try phone.leftovers() == [])

        let second = try phone.upload(String(repeating: "s", count: 300_000))
        #expect(try await phone.sync().waiting.map(\.fileUUID) == [second])
        try phone.client.delete(fileWithUUID: second)
        #expect(phone.client.pendingReport().changes.isEmpty && !phone.client.uploadsPending)
        #expect(try await phone.sync().waiting.isEmpty)
        #expect(try phone.row(second) == nil)
        #expect(try phone.leftovers() == [])
    }

    // MARK: The file

    @Test("A file that the storage rejects is set aside under its name; others are sent, and a retry sends it")
    func refusedFile() async throws {
        let server = try TestServer.withFaults()
        let phone = try await settled(server)
        var fault = SandboxFault(pathPrefix: "/upload/drive", status: 403)
        (fault.queryContains, fault.reason) = ("uploadType=resumable", "malwareDetected")
        try server.sandbox.inject(fault)
        defer { try? server.sandbox.clearFaults() }
        let statuses = Recorder(phone.client.status())
        let large = try phone.upload(String(repeating: "0123456789abcdef", count: 375_000))
        for number in 1...3 { try phone.upload("\(number)") }

        let events = try await phone.events([.singleFileUploadFailed, .contentUploadsCompleted]) {
            let report = try await phone.sync()
            #expect(report.uploaded == 3 && report.failed.map(\.fileUUID) == [large] && report.waiting.isEmpty)
            #expect(report.failed.map(\.recovery) == [.replaceFile])
        }
        #expect(events.contains(.contentUploadsCompleted(numberOfFiles: 3)) && events.count == 2)
        try await eventually("the status is blocked") {
            if case .blocked(let error) = statuses.elements.last { error.fileUUID == large } else { false }
        }
        // Later syncs neither retry it nor drop it.
        let again = try await phone.relaunched()
        again.executor.forget()
        #expect(try await again.sync().uploaded == 0)
        #expect(again.executor.count("UploadFile") == 0)
        let changes = again.client.pendingReport().changes
        #expect(changes.map(\.isDead) == [true] && changes.map(\.attempts) == [1])
        #expect(changes.map(\.error?.fileUUID) == [large] && again.client.pendingReport().blocked == 1)

        try server.sandbox.clearFaults()
        try again.client.retryUpload(forFileUUID: large)
        #expect(try await again.sync().uploaded == 1)
        #expect(try await phone.another().received().count == 4)
        #expect(try again.leftovers() == [])
    }

    /// A device of a user for whom the server has no pending work, so that faults hit only the test's requests.
    private func settled(_ server: TestServer, _ kind: ServerKind = .ours) async throws -> Device {
        try server.sandbox.clearFaults()
        let phone = try Device(try await server.signUpSettledUser(), kind)
        guard case .user = try await phone.client.checkForExistingUser() else { throw TestApp.Refusal() }
        return phone
    }

    // MARK: The caller

    @Test("A read-only member's changes are rejected immediately, and nothing is kept", arguments: ServerKind.allCases)
    func reader(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let bob = try await phone.invited(permission: .read)
        let file = try await phone.publish("hers")
        #expect(try await bob.received().map(\.text) == ["hers"])

        #expect(await refusal { try bob.upload("new") } == .permissionDenied)
        #expect(await refusal { try bob.upload("next", as: file) } == .permissionDenied)
        #expect(await refusal { try bob.uploadText("text", of: file) } == .permissionDenied)
        #expect(await refusal { try bob.client.delete(fileWithUUID: file) } == .permissionDenied)
        let copy = Data("copy".utf8)
        #expect(
            await refusal { try bob.client.uploadData(copy, withAttributes: bob.attributes(.random())) }
                == .permissionDenied)

        #expect(try bob.leftovers() == [] && !bob.client.uploadsPending)
        try await phone.publish("more")
        #expect(try await bob.received().map(\.text) == ["more"])
    }

    @Test(
        "A demotion keeps queued changes, and downloads continue; a promotion sends the changes",
        arguments: [ServerKind.ours, .oursWithoutBatches])
    func demoted(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let bob = try await phone.invited()
        let file = try await phone.publish("hers")
        _ = try await bob.received()
        let photo = try bob.upload("his photo")
        try bob.uploadText("his text", of: file)
        try await setPermission(.read, of: bob, by: phone)
        try await phone.publish("news")
        let errors = Recorder(bob.client.errors)

        bob.app.forget()
        let events = try await bob.events(.singleFileUploadWaiting) {
            let report = try await bob.sync()
            #expect(Set(report.waiting.compactMap(\.fileUUID)) == [photo, file] && report.uploaded == 0)
            #expect(report.waiting.allSatisfy { $0.code == .permissionDenied && $0.recovery == .none })
        }
        #expect(events.count == 2)
        #expect(bob.app.taken.map(\.text) == ["news"])
        try await eventually("the error is reported") { errors.elements.map(\.code) == [.permissionDenied] }
        #expect(await refusal { try bob.upload("more") } == .permissionDenied)
        let again = try await bob.relaunched()
        #expect(try await again.events(.singleFileUploadWaiting) { try await again.sync() }.isEmpty)
        #expect(again.client.pendingReport().changes.map(\.error?.code) == [.permissionDenied, .permissionDenied])
        #expect(again.client.pendingReport().blocked == 2)

        try await setPermission(.write, of: bob, by: phone)
        #expect(try await again.sync().uploaded == 2)
        #expect(try again.leftovers() == [])
        let received = try await phone.received()
        #expect(received.compactMap(\.text) == ["his photo"])
        #expect(received.contains { $0.attributes.fileUUID == file && $0.attributes.appMetaData == "his text" })
    }

    private func setPermission(_ permission: Permission, of member: Device, by admin: Device) async throws {
        let userID = try #require(member.client.syncServerUserID.flatMap { Int64($0) })
        try await admin.client.setPermission(permission, of: UserID(userID), in: admin.group)
    }

    // MARK: Deletions against contents

    enum Resolver: Sendable, CaseIterable { case delegate, localWins, merge }

    /// Ada has deleted a photo with its discussion, to which Bob has added a comment offline.
    private func keptGroup(
        _ kind: ServerKind, _ resolver: Resolver = .delegate
    ) async throws -> (ada: Device, tablet: Device, bob: Device, photo: FileUUID, discussion: FileUUID) {
        let ada = try await Device.signedUp(server, kind)
        let tablet = try await ada.another()
        let fileGroup = FileGroupUUID.random()
        let (photo, discussion) = (FileUUID.random(), FileUUID.random())
        try ada.upload("photo", as: photo, text: "of the sea", fileGroup: fileGroup)
        try ada.upload("hers", as: discussion, fileGroup: fileGroup)
        try await ada.sync()
        let newcomer = try await ada.invited()
        let bob = try await newcomer.relaunched { configuration in
            switch resolver {
            case .delegate: break
            case .localWins: configuration.conflictResolver = .localWins
            case .merge:
                configuration.conflictResolver = .merge { input in
                    MergedFile(file: try (input.localFile ?? input.serverFile).unwrapped())
                }
            }
        }
        bob.app.change { $0.deletionAnswer = { _ in .rejectDownloadDeletion(.keepContentUpload) } }
        for device in [tablet, bob] { #expect(try await device.received().count == 2) }
        try bob.upload("hers, and his", as: discussion, fileGroup: fileGroup)
        try ada.client.delete(filesWithUUIDs: [photo, discussion])
        try await ada.sync()
        for device in [ada, bob] { device.app.forget() }
        return (ada, tablet, bob, photo, discussion)
    }

    @Test(
        "A discussion kept despite a deletion restores its photo, for everybody",
        arguments: ServerKind.allCases, Resolver.allCases)
    func keptWithPhoto(kind: ServerKind, resolver: Resolver) async throws {
        let (ada, tablet, bob, photo, discussion) = try await keptGroup(kind, resolver)
        let copy = try bob.file(Data("photo".utf8))
        bob.app.change { $0.contents = [photo: .file(copy)] }

        let events = try await bob.events(.filesRestored) {
            let report = try await bob.sync()
            #expect(Set(report.restored) == [photo, discussion])
        }

        #expect(events.count == 1 && bob.app.taken.isEmpty)
        #expect(bob.app.askedFor == [photo])
        for device in [ada, tablet] {
            let received = try await device.received()
            #expect(received.allSatisfy { $0.kind == .file })
            #expect(Set(received.map(\.text)) == ["photo", "hers, and his"])
        }
        for device in [ada, tablet, bob] {
            #expect(Set(device.client.files(inSharingGroup: ada.group).map(\.fileUUID)) == [photo, discussion])
            #expect(try device.client.getAttributes(forFileUUID: photo).appMetaData == "of the sea")
            let check = try await device.client.consistencyCheck(
                sharingGroupUUID: ada.group, localFiles: [photo, discussion])
            #expect(check.clientMissingNotDeleted.isEmpty && check.clientHasDeleted.isEmpty)
            #expect(try device.leftovers() == [])
        }
    }

    @Test(
        "If a discussion is kept without the contents of its photo, the photo stays deleted for everybody",
        arguments: ServerKind.allCases)
    func keptWithoutPhoto(kind: ServerKind) async throws {
        let (ada, tablet, bob, photo, discussion) = try await keptGroup(kind)

        #expect(try await bob.sync().restored == [discussion])

        #expect(bob.app.taken.map(\.kind) == [.deletion] && bob.app.taken.map(\.attributes.fileUUID) == [photo])
        #expect(try await ada.received().map(\.text) == ["hers, and his"])
        _ = try await tablet.received()
        #expect(try ada.row(photo)?.deleted?.bool == true && ada.row(discussion)?.deleted?.bool == false)
        for device in [ada, tablet, bob] {
            #expect(device.client.files(inSharingGroup: ada.group).map(\.fileUUID) == [discussion])
            #expect(try device.leftovers() == [])
        }
    }

    // MARK: Withdrawals and stops

    /// An upload whose storage replies only after a few seconds.
    private func slowUpload(_ kind: ServerKind) async throws -> (Device, FileUUID, Task<SyncReport, any Error>) {
        let server = try TestServer.withFaults()
        let phone = try await settled(server, kind)
        var fault = SandboxFault(pathPrefix: "/upload/drive", times: 1)
        fault.latencyMilliseconds = 5_000
        try server.sandbox.inject(fault)
        let file = try phone.upload("slow")
        let sync = Task { try await phone.sync() }
        try await eventually("the storage has the upload") { try server.sandbox.faultsThatNeverStruck() == 0 }
        return (phone, file, sync)
    }

    @Test("A stop ends a slow upload within a second, and a later sync repeats it", arguments: ServerKind.allCases)
    func stopped(kind: ServerKind) async throws {
        let (phone, file, sync) = try await slowUpload(kind)
        let begin = ContinuousClock.now

        await phone.client.stopped()

        #expect(ContinuousClock.now - begin < .seconds(1))
        #expect(try await sync.value.wasStopped && phone.client.uploadsPending)
        #expect(try await phone.sync().uploaded == 1)
        #expect(try phone.row(file)?.fileVersion?.integer == 0)
        #expect(try await phone.another().received().map(\.text) == ["slow"])
        #expect(try phone.leftovers() == [])
    }

    @Test(
        "A withdrawal ends a slow upload within a second, and others never receive the file",
        arguments: ServerKind.allCases)
    func withdrawn(kind: ServerKind) async throws {
        let (phone, file, sync) = try await slowUpload(kind)
        let begin = ContinuousClock.now

        try phone.client.withdraw(forFileUUID: file)
        #expect(try await sync.value.uploaded == 0)

        #expect(ContinuousClock.now - begin < .seconds(1))
        #expect(phone.client.pendingReport().changes.isEmpty)
        #expect(await refusal { try phone.client.withdraw(forFileUUID: file) } == .couldNotFindFileUUID)
        try await phone.publish("other")
        #expect(try phone.row(file) == nil)
        #expect(try await phone.another().received().map(\.text) == ["other"])
        #expect(try phone.leftovers() == [])
    }

    // MARK: Server state

    @Test("A closed server's message arrives with the time of the next attempt, and nothing counts as blocked")
    func closed() async throws {
        let phone = try await Device.signedUp(server)
        let file = try phone.upload("0")
        let statuses = Recorder(phone.client.status())
        phone.executor.decide { _, _ in .isClosed("Back at ten", seconds: 600) }

        let events = try await phone.events(.serverDown) {
            let error = await #expect(throws: SyncError.self) { try await phone.sync() }
            #expect(error?.code == .serverDown && error?.message == "Back at ten")
            #expect(error?.retryAfter == .seconds(600) && error?.recovery == .retryLater)
        }
        #expect(events == [.serverDown(message: "Back at ten")] && phone.executor.endpoints.count == 1)
        // A later sync sends the file automatically.
        try await eventually("the status is idle") { !phone.client.isSyncing && statuses.elements.last == .idle }
        let report = phone.client.pendingReport()
        #expect(report.blocked == 0 && report.changes.map(\.isBlocked) == [false])
        #expect(report.changes.map(\.attempts) == [1] && report.changes.map(\.error?.code) == [.serverDown])

        phone.executor.decide { asked, _ in asked == "UploadFile" ? .fails(500) : .passes }
        for attempts in 2...3 {
            #expect(await refusal { try await phone.sync() } == .requestRefused)
            let change = try phone.client.pendingReport().changes.first.unwrapped()
            #expect(change.attempts == attempts)
            #expect(change.error?.status == 500 && change.error?.fileUUID == file)
            #expect(!change.isBlocked)
        }
        phone.executor.pass()
        #expect(try await phone.sync().uploaded == 1)
        #expect(try phone.leftovers() == [])
    }
}
