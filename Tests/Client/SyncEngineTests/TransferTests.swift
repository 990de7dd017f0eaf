import SyncEngine
import SyncProtocol
import Testing

/// Several simultaneous uploads or downloads.
@Suite struct TransferTests {
    private static func member(_ files: Int) throws -> Driver {
        try Driver.member(of: (1...files).map { Driver.row($0) }, maximumTransfers: 4)
    }

    private static func uploader(_ files: Int) throws -> Driver {
        var driver = try Driver.member(maximumTransfers: 4)
        for number in 1...files { try driver.upload(Driver.attributes(number), "up\(number)") }
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))
        return driver
    }

    @Test func fourDownloadsAtATime() throws {
        var driver = try Self.member(10)
        try driver.sync()
        driver.replyIndex()
        #expect(driver.fileDownloads == (1...4).map(Driver.file))
        driver.replyFile("down3", at: 2)
        #expect(driver.fileDownloads == (1...5).map(Driver.file), "a free slot is used during a delivery")
        #expect(driver.deliveries.map { $0.map(\.attributes.fileUUID) } == [[Driver.file(3)]])
    }

    @Test func oneDeliveryAtATime() throws {
        var driver = try Self.member(6)
        try driver.sync()
        driver.replyIndex()
        for number in 1...3 { driver.replyFile("down\(number)") }
        #expect(driver.deliveries.count == 1)
        driver.takeDelivery()
        #expect(driver.deliveries.count == 2)
    }

    @Test func anAppThatIsSlowIsNotOverrun() throws {
        var driver = try Self.member(20)
        try driver.sync()
        driver.replyIndex()
        var replies = 0
        while driver.waiting != nil {
            replies += 1
            driver.replyFile("down\(replies)")
        }
        #expect(replies < 10, "the app has accepted none yet")
        driver.takeAll()
        driver.replyIndex()
        #expect(driver.deliveries.count == 20)
        #expect(!driver.engine.isSyncing)
    }

    @Test func filesOfAGroupComeTogether() throws {
        let rows = (1...6).map { Driver.row($0, fileGroup: Driver.fileGroup(1 + $0 % 2)) }
        var driver = try Driver.member(of: rows, maximumTransfers: 4)
        try driver.sync()
        driver.replyIndex()
        while driver.waiting != nil { driver.replyFile("down\(driver.outstanding.count)-\(driver.actions.count)") }
        driver.takeAll()
        #expect(driver.deliveries.map { $0.count } == [3, 3])
    }

    @Test func anotherVersionEndsAllDownloadsOnce() throws {
        var driver = try Self.member(10)
        try driver.sync()
        driver.replyIndex()
        driver.reply(.stale(current: MasterVersion(9)), at: 1)
        #expect(driver.cancelled.count == 3)
        #expect(driver.outstanding.count == 3, "no new transfer starts")
        driver.replyFile("down1")
        driver.reply(.failed(.unreachable))
        driver.reply(.stale(current: MasterVersion(9)))
        guard case .index = driver.waiting?.request else {
            Issue.record("expected an index request after all transfers")
            return
        }
        #expect(driver.engine.restarts == 1)
        #expect(driver.errors == [])
        driver.masterVersion = MasterVersion(9)
        driver.replyIndex()
        #expect(driver.fileDownloads.filter { $0 == Driver.file(1) }.count == 1, "its contents are already here")
    }

    @Test func aFailureWaitsForTheOthersAndTheirDelivery() throws {
        var driver = try Self.member(10)
        try driver.sync()
        driver.replyIndex()
        driver.reply(.failed(.refused(status: 502, code: "cloud_unavailable")))
        #expect(driver.errors == [], "three continue")
        #expect(driver.cancelled == [])
        for number in 2...4 { driver.replyFile("down\(number)") }
        #expect(driver.fileDownloads.count == 4)
        driver.takeAll()
        #expect(driver.deliveries.count == 3)
        #expect(driver.errors == [.requestRefused])
        #expect(!driver.engine.isSyncing)
        try driver.sync()
        #expect(driver.fileDownloads.dropFirst(4) == [Driver.file(1), Driver.file(5), Driver.file(6), Driver.file(7)])
    }

    @Test func aPostponedAnswerEndsASyncThatFailed() throws {
        var driver = try Self.member(2)
        driver.rows = [Driver.row(1), Driver.row(2)]
        try driver.sync()
        driver.replyIndex()
        for number in 1...2 { driver.replyFile("down\(number)") }
        driver.takeAll()
        driver.replyIndex()
        try driver.upload(Driver.attributes(1))
        driver.rows = [Driver.row(1, version: 1), Driver.row(2, version: 1)]
        driver.masterVersion = driver.masterVersion.next
        try driver.sync()
        driver.replyIndex()
        driver.reply(.failed(.unreachable), at: 1)
        driver.replyFile("theirs")
        driver.answer(nil)
        #expect(driver.contentConflicts.count == 1)
        #expect(driver.errors == [.networkError])
        #expect(!driver.engine.isSyncing)
    }

    @Test func aStopWaitsForWhatIsUnderWay() throws {
        var driver = try Self.member(10)
        try driver.sync()
        driver.replyIndex()
        driver.perform(driver.engine.stop())
        for number in 1...3 {
            driver.replyFile("down\(number)")
            #expect(driver.engine.isSyncing)
        }
        driver.replyFile("down4")
        #expect(!driver.engine.isSyncing)
        #expect(driver.fileDownloads.count == 4)
        #expect(driver.events.suffix(2) == [.syncStopping, .syncDone])
    }

    @Test func aRefusedDeliveryWaitsForDownloads() throws {
        var driver = try Self.member(3)
        try driver.sync()
        driver.replyIndex()
        driver.replyFile("down1")
        let token = try #require(driver.asked)
        driver.asked = nil
        driver.perform(driver.engine.handle(.delivered(token, taken: false), at: Driver.now))
        #expect(driver.engine.isSyncing)
        driver.replyFile("down2")
        driver.replyFile("down3")
        #expect(driver.errors == [.deliveryRefused])
        #expect(!driver.engine.isSyncing)
    }

    @Test func aSyncOfTheListLeavesAGroupWhoseDeliveryWasRefused() throws {
        var driver = try Self.member(1)
        driver.perform(try driver.engine.removeFromSharingGroup(Driver.group, at: Driver.now))
        try driver.sync()
        driver.replyIndex()
        driver.replyFile("down1")
        let token = try #require(driver.asked)
        driver.asked = nil
        driver.perform(driver.engine.handle(.delivered(token, taken: false), at: Driver.now))
        #expect(driver.errors == [.deliveryRefused])

        try driver.sync(nil)
        driver.replyIndex()
        #expect(driver.engine.isSyncing)
        driver.takeAll()
        driver.replyIndex()
        #expect(driver.waiting?.request == .removeUserFromSharingGroup(Driver.group, masterVersion: MasterVersion(1)))
    }

    @Test func aProcessThatEndsForgetsNothing() throws {
        var driver = try Self.member(5)
        try driver.sync()
        driver.replyIndex()
        driver.replyFile("down2", at: 1)
        driver.relaunch()
        try driver.sync()
        driver.takeDelivery()
        driver.takeAll()
        driver.replyIndex()
        #expect(Set(driver.deliveries.joined().map(\.attributes.fileUUID)) == Set((1...5).map(Driver.file)))
    }

    @Test func fourUploadsAtATimeAndOneCommit() throws {
        var driver = try Self.uploader(6)
        #expect(driver.fileUploads.map(\.fileUUID) == (1...4).map(Driver.file))
        driver.replyStaged(at: 3)
        driver.replyStaged(at: 0)
        #expect(driver.fileUploads.map(\.fileUUID) == (1...6).map(Driver.file))
        for _ in 1...4 {
            #expect(driver.commits.isEmpty)
            driver.replyStaged()
        }
        #expect(driver.commits.count == 1)
        driver.reply(.committed(numberUploadsTransferred: 6))
        #expect(!driver.engine.isSyncing)
    }

    @Test func anotherVersionSendsAllUploadsAnew() throws {
        var driver = try Self.uploader(5)
        driver.replyStaged()
        driver.reply(.stale(current: MasterVersion(7)))
        #expect(driver.cancelled.count == 3)
        driver.replyStaged()
        driver.reply(.failed(.localFile))
        driver.reply(.failed(.unreachable))
        #expect(driver.engine.restarts == 1)
        #expect(!driver.events.contains { if case .singleFileUploadFailed = $0 { true } else { false } })
        driver.masterVersion = MasterVersion(7)
        driver.replyIndex()
        driver.reply(.uploads([]))
        #expect(driver.fileUploads.suffix(4).map(\.fileUUID) == (1...4).map(Driver.file))
        #expect(driver.fileUploads.suffix(4).allSatisfy { $0.masterVersion == MasterVersion(7) })
    }

    @Test func aRefusedUploadIsSetAsideAndTheOthersGoOn() throws {
        var driver = try Self.uploader(3)
        driver.reply(.failed(.refused(status: 413, code: "body_too_large")), at: 1)
        #expect(driver.waiting != nil)
        driver.replyStaged()
        #expect(driver.commits.isEmpty)
        driver.replyStaged()
        guard case .getUploads = driver.waiting?.request else {
            Issue.record("expected a request for the staged changes once no transfer is in progress")
            return
        }
        driver.reply(.uploads([Driver.row(1), Driver.row(3)]))
        #expect(driver.commits.count == 1)
    }

    @Test func aStopBetweenUploadsCommitsNothing() throws {
        var driver = try Self.uploader(3)
        driver.perform(driver.engine.stop())
        for _ in 1...3 { driver.replyStaged() }
        #expect(!driver.engine.isSyncing)
        #expect(driver.commits.isEmpty)
    }

    @Test func repliesToAnotherEngineAreIgnored() throws {
        var driver = try Self.member(1)
        try driver.sync()
        let token = try #require(driver.waiting?.token)
        let before = driver.engine
        driver.relaunch()
        driver.engine.countTokens(after: before)
        try driver.sync()
        #expect(driver.waiting.map { $0.token > token } == true)
        driver.perform(driver.engine.handle(.reply(token, .failed(.unreachable)), at: Driver.now))
        #expect(driver.engine.isSyncing && driver.errors == [])
    }
}
