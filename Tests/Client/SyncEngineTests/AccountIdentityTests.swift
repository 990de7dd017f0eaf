import SyncEngine
import SyncProtocol
import Testing

@Suite("Identities of accounts, and waiting files")
struct AccountIdentityTests {
    @Test("An identity with the same epoch changes nothing")
    func sameAccount() throws {
        var driver = try Driver.member()
        try driver.download(1)
        try driver.engine.adopt(Driver.reported(3))
        driver.perform([])
        let before = driver.engine.state

        try driver.engine.adopt(Driver.reported(3))

        #expect(driver.engine.state == before)
        #expect(driver.engine.account?.epoch == AccountEpoch(3))
    }

    @Test("A greater epoch is adopted: the index is fetched in full, versions are kept, and nothing is downloaded")
    func anotherDeviceSwitched() throws {
        var driver = try Driver.member()
        try driver.engine.adopt(Driver.reported(0))
        try driver.download(1)
        let deliveries = driver.deliveries.count

        try driver.engine.adopt(Driver.reported(1))
        driver.perform([])
        driver.rows = [Driver.row(1, awaits: true)]
        driver.masterVersion = driver.masterVersion.next
        try driver.sync()
        #expect(driver.waiting?.request == .index(.init(sharingGroupUUID: Driver.group, since: nil)))
        driver.replyIndex()

        let entry = try #require(driver.engine.state.directory[Driver.file(1)])
        #expect(entry.cloudStorageType == .dropbox && entry.awaitingReupload && entry.fileVersion == .first)
        #expect(driver.deliveries.count == deliveries)
        #expect(driver.engine.account?.phase == nil)
    }

    @Test("A different identity is rejected, and nothing changes")
    func refused() throws {
        var driver = try Driver.member()
        try driver.engine.adopt(Driver.reported(3))
        driver.perform([])
        let before = driver.engine.state

        #expect(refusal { try driver.engine.adopt(Driver.reported(3, Driver.otherIdentity)) } == .differentUser)
        #expect(driver.engine.state == before)
    }

    @Test("A retired account ends the sync, names the account for the sign-in, and keeps queued changes")
    func retired() throws {
        var driver = try Driver.member()
        try driver.download(1)
        try driver.upload(Driver.attributes(1))
        try driver.sync()

        driver.reply(.failed(.accountRetired(.dropbox)))

        let error = driver.actions.compactMap { if case .reportError(let error) = $0 { error } else { nil } }.last
        #expect(error?.code == .signedOutRemotely && error?.activeAccountType == .dropbox)
        #expect(error?.recovery == .signInAgain)
        #expect(driver.engine.uploadsPending && driver.engine.state.directory[Driver.file(1)] != nil)
        #expect(driver.engine.blockingError == nil, "signing in helps")
    }

    @Test("The smaller epoch of a restored server is adopted, and queued changes are sent")
    func restored() throws {
        var driver = try Driver.member()
        try driver.engine.adopt(Driver.reported(3))
        try driver.upload(Driver.attributes(1))

        try driver.engine.adopt(Driver.reported(2))
        driver.perform([])
        try driver.sync()
        driver.replyIndex()

        #expect(driver.engine.account?.epoch == AccountEpoch(2) && driver.errors.isEmpty)
        driver.reply(.uploads([]))
        #expect(driver.fileUploads.map(\.fileUUID) == [Driver.file(1)])
    }

    @Test("A complete reset removes the identity; a reset of tracking does not")
    func reset() throws {
        var driver = try Driver.switching(1)
        driver.replyIndex()
        driver.reply(.failed(.unreachable))

        driver.perform(try driver.engine.reset(.tracking, at: Driver.now))
        #expect(driver.engine.account?.phase == .reuploading && !driver.engine.state.reuploads.isEmpty)
        driver.perform(try driver.engine.reset(.all, at: Driver.now))
        #expect(driver.engine.account == nil && driver.engine.state.reuploads.isEmpty)
    }

    // MARK: Waiting files

    @Test("A waiting file is delivered as unavailable, and automatically once the server has it again")
    func automaticRetry() throws {
        var driver = try Driver.member()
        driver.rows = [Driver.row(1, owner: Driver.otherUser, awaits: true)]
        try driver.sync()
        driver.replyIndex()
        driver.reply(
            .gone(.authTokenExpiredOrRevoked, appMetaData: nil, .dropbox, awaitsReupload: true))
        let operation = try #require(driver.deliveries.last?.first)
        #expect(operation.kind == .fileGone && operation.attributes.awaitingReupload)
        driver.takeDelivery()
        driver.replyIndex()
        #expect(!driver.engine.isSyncing)

        // The file still waits.
        try driver.sync()
        #expect(driver.waiting?.request == .index(.init(sharingGroupUUID: Driver.group, since: nil)))
        driver.replyIndex()
        #expect(!driver.engine.isSyncing && driver.deliveries.count == 1)
        driver.relaunch()
        // The server has the file again; its return does not raise the master version.
        driver.rows = [Driver.row(1, owner: Driver.otherUser)]
        try driver.sync()
        driver.replyIndex()
        driver.replyFile()

        let delivered = try #require(driver.deliveries.last?.first)
        #expect(driver.deliveries.count == 2)
        #expect(!delivered.attributes.awaitingReupload && delivered.attributes.gone == nil)
        driver.takeDelivery()
        driver.replyIndex()
        #expect(driver.engine.state.directory[Driver.file(1)]?.goneReason == nil)
    }

    @Test("A file that the owner gave up becomes permanently unavailable")
    func givenUp() throws {
        var driver = try Driver.member()
        driver.rows = [Driver.row(1, owner: Driver.otherUser, awaits: true)]
        try driver.sync()
        driver.replyIndex()
        driver.reply(.gone(.authTokenExpiredOrRevoked, appMetaData: nil, .dropbox, awaitsReupload: true))
        driver.takeDelivery()
        driver.replyIndex()
        driver.rows = [Driver.row(1, owner: Driver.otherUser)]

        try driver.sync()
        driver.replyIndex()
        driver.reply(.gone(.fileRemovedOrRenamed, appMetaData: nil, .dropbox))
        driver.takeDelivery()
        driver.replyIndex()
        try driver.sync()
        driver.replyIndex()

        #expect(driver.deliveries.count == 2 && !driver.engine.isSyncing)
        let entry = try #require(driver.engine.state.directory[Driver.file(1)])
        #expect(entry.goneReason == .fileRemovedOrRenamed && !entry.awaitingReupload)
    }

    @Test("A device that has a waiting file may upload its next version")
    func nextVersion() throws {
        var driver = try Driver.member()
        driver.rows = [Driver.row(1, owner: Driver.otherUser)]
        try driver.sync()
        driver.replyIndex()
        driver.takeAll()
        driver.replyIndex()
        driver.rows = [Driver.row(1, owner: Driver.otherUser, awaits: true)]
        try driver.upload(Driver.attributes(1))
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))

        #expect(driver.fileUploads.last?.fileVersion == FileVersion(1))
        #expect(driver.fileUploads.last?.cloudStorageType == .dropbox)
    }
}
