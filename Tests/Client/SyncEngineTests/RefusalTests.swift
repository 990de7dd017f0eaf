import SyncEngine
import SyncProtocol
import Testing

@Suite("Handling of rejected changes")
struct RefusalTests {
    private static let revoked = ServerReply.gone(.authTokenExpiredOrRevoked, appMetaData: nil, nil)
    private static let full = ServerReply.failed(.refused(status: 507, code: "cloud_quota_exceeded"))

    @Test("Every code has a class, and the document's table matches the code")
    func classes() {
        #expect(ErrorCode.permissionTooLow.refusalClass == .caller)
        #expect(ErrorCode.cloudRefused.refusalClass == .file)
        #expect(ErrorCode.cloudQuotaExceeded.refusalClass == .storage)
        #expect(ErrorCode.fileVersionMismatch.refusalClass == .knowledge)
        #expect(ErrorCode.allCases.allSatisfy { $0.status != 429 && $0.status != 503 || $0.refusalClass == .world })
        #expect(RefusalClass(status: 413) == .file && RefusalClass(status: 500) == .world)
    }

    @Test(
        "Changes for a revoked storage wait, are sent after the owner returns, and can conflict with others' changes"
    )
    func revokedAccess() throws {
        var driver = try Driver.member()
        try driver.download(1)
        try driver.upload(Driver.attributes(1), "second")
        try driver.sync()
        driver.finish(refusing: [Driver.file(1): Self.revoked])

        #expect(driver.waits.map(\.code) == [.storageUnauthorized] && driver.errors == [.storageUnauthorized])
        #expect(driver.waits.first?.storage == .own && driver.waits.first?.recovery == .signInAgain)
        #expect(driver.engine.uploadsPending && !driver.engine.isSyncing && driver.commits.isEmpty)
        driver.relaunch()
        driver.rows = [Driver.row(1, version: 1)]
        driver.masterVersion = driver.masterVersion.next
        try driver.sync()
        driver.replyIndex()
        driver.replyFile("theirs")
        #expect(driver.contentConflicts.count == 1)
        driver.answer(.rejectContentDownload(.keepAll))
        driver.finish()

        #expect(
            driver.fileUploads.last?.source.path == "second" && driver.fileUploads.last?.fileVersion == FileVersion(2))
        #expect(!driver.engine.uploadsPending && driver.engine.waitingChanges().isEmpty)
    }

    @Test("With a revoked storage, other owners' files are sent, and nothing more is sent to that storage")
    func otherOwners() throws {
        var driver = try Driver.member()
        for number in 1...3 {
            driver.rows.append(Driver.row(number, owner: number == 3 ? Driver.otherUser : Driver.user))
        }
        driver.masterVersion = driver.masterVersion.next
        try driver.sync()
        driver.replyIndex()
        driver.takeAll()
        driver.replyIndex()
        for number in 1...3 { try driver.upload(Driver.attributes(number)) }
        try driver.sync()
        driver.finish(refusing: [Driver.file(1): Self.revoked, Driver.file(2): Self.revoked])

        #expect(driver.fileUploads.map(\.fileUUID) == [Driver.file(1), Driver.file(3)] && driver.commits.count == 1)
        #expect(driver.waits.compactMap(\.fileUUID) == [Driver.file(1), Driver.file(2)])
        #expect(driver.engine.waitingChanges(of: Driver.group).count == 2)
    }

    @Test("A full storage accepts smaller files and deletions; files that do not fit wait")
    func fullStorage() throws {
        var driver = try Driver.member()
        try driver.download(9)
        try driver.upload(Driver.attributes(1), "large", size: 900)
        try driver.upload(Driver.attributes(2), "larger", size: 1_000)
        try driver.upload(Driver.attributes(3), "small", size: 1)
        try driver.sync()
        driver.finish(refusing: [Driver.file(1): Self.full])

        #expect(driver.fileUploads.map(\.fileUUID) == [Driver.file(1), Driver.file(3)] && driver.commits.count == 1)
        #expect(driver.waits.map(\.code) == [.storageFull, .storageFull])
        #expect(driver.waits.allSatisfy { $0.recovery == .freeSpace && $0.status == 507 })
        try driver.delete(9)
        try driver.sync()
        driver.finish(refusing: [Driver.file(1): Self.full])
        #expect(driver.uploadDeletions == [Driver.file(9)] && driver.commits.count == 2)

        driver.rows = [Driver.row(3, device: Driver.device), Driver.row(9, deleted: true)]
        try driver.sync()
        driver.finish()
        #expect(driver.commits.count == 3 && !driver.engine.uploadsPending)
    }

    @Test("Deleting a waiting file withdraws it")
    func deletion() throws {
        var driver = try Driver.member()
        try driver.upload(Driver.attributes(1), size: 900)
        try driver.sync()
        driver.finish(refusing: [Driver.file(1): Self.full])

        try driver.delete(1)

        #expect(driver.engine.state.items.isEmpty && !driver.engine.uploadsPending)
        try driver.sync()
        driver.finish()
        #expect(driver.uploadDeletions.isEmpty && driver.fileUploads.count == 1)
    }

    @Test("Newer contents replace waiting ones, and do not wait behind them")
    func replaced() throws {
        var driver = try Driver.member()
        try driver.upload(Driver.attributes(1, text: "text"), "large", size: 900)
        try driver.sync()
        driver.finish(refusing: [Driver.file(1): Self.full])

        try driver.upload(Driver.attributes(1), "small", size: 1)
        try driver.sync()
        driver.finish()

        #expect(driver.fileUploads.map(\.source.path) == ["large", "small"])
        #expect(driver.fileUploads.last?.appMetaData?.contents == "text" && !driver.engine.uploadsPending)
    }

    @Test("An unreachable storage delays its whole queue; other queues are sent")
    func unreachableStorage() throws {
        var driver = try Driver.member(groups: [Driver.group, Driver.otherGroup])
        try driver.upload(Driver.attributes(1))
        try driver.upload(Driver.attributes(2))
        try driver.sync()
        try driver.upload(Driver.attributes(3, group: Driver.otherGroup))
        try driver.sync(Driver.otherGroup)
        let unavailable = ServerReply.failed(.refused(status: 502, code: "cloud_unavailable", retryAfter: .seconds(30)))
        driver.finish(refusing: [Driver.file(2): unavailable])

        #expect(driver.errors == [.storageUnavailable])
        #expect(driver.engine.postponement(of: Driver.group, upTo: 1)?.retryAfter == .seconds(30))
        #expect(driver.commits.map(\.sharingGroupUUID) == [Driver.otherGroup])
        try driver.sync()
        driver.finish()
        #expect(driver.commits.count == 2 && !driver.engine.uploadsPending)
    }

    @Test("A read-only member is rejected immediately; changes queued before are sent once writing is permitted")
    func readOnly() throws {
        var driver = try Driver.member()
        try driver.download(1)
        try driver.upload(Driver.attributes(1))
        driver.permission = .read
        driver.masterVersion = driver.masterVersion.next
        try driver.sync()
        driver.finish()

        #expect(driver.errors == [.permissionDenied] && driver.waits.compactMap(\.fileUUID) == [Driver.file(1)])
        #expect(driver.fileUploads.isEmpty && !driver.engine.isSyncing)
        #expect(refusal { try driver.upload(Driver.attributes(1)) } == .permissionDenied)
        #expect(refusal { try driver.uploadText(Driver.attributes(1, text: "x")) } == .permissionDenied)
        #expect(refusal { try driver.delete(1) } == .permissionDenied)
        try driver.sync()
        driver.finish()
        #expect(driver.errors.count == 1, "it is reported only once")

        driver.permission = .write
        driver.masterVersion = driver.masterVersion.next
        try driver.sync()
        driver.finish()
        #expect(driver.commits.count == 1 && !driver.engine.uploadsPending)
    }

    @Test("A removed member's changes are kept, and sent once they are a member again")
    func removedMember() throws {
        var driver = try Driver.member()
        try driver.upload(Driver.attributes(1))
        driver.groups = []
        try driver.sync()
        driver.reply(.failed(.refused(status: 404, code: "group_unknown")))
        #expect(driver.errors == [.notAMember] && !driver.engine.uploadsPending)

        driver.groups = [Driver.group]
        try driver.sync(nil)
        driver.finish()

        #expect(driver.commits.count == 1 && driver.engine.state.items.isEmpty)
    }

    @Test("A change that the server twice calls outdated, contradicting its index, is set aside; the others are sent")
    func contradiction() throws {
        var driver = try Driver.member()
        try driver.download(1)
        try driver.upload(Driver.attributes(1))
        try driver.upload(Driver.attributes(2))
        try driver.sync()
        driver.finish(
            refusing: [Driver.file(1): .failed(.refused(status: 409, code: "app_meta_data_version_mismatch"))])

        #expect(driver.engine.changesSetAside(of: Driver.file(1)).count == 1)
        #expect(driver.commits.count == 1 && !driver.engine.isSyncing && driver.requests.count < 20)
    }

    @Test("A name that the server rejects is set aside, and the files of its queue are committed")
    func name() throws {
        var driver = try Driver.member()
        try driver.upload(Driver.attributes(1))
        driver.perform(try driver.engine.updateSharingGroup(Driver.group, newName: "long", at: Driver.now))
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.replyStaged()
        driver.reply(.failed(.refused(status: 400, code: "parameter_too_long")))
        driver.finish()

        #expect(driver.commits.map(\.sharingGroupName) == ["long", nil] && driver.errors == [.requestRefused])
        #expect(!driver.engine.uploadsPending)
    }
}

@Suite("Withdrawals and stops")
struct WithdrawalTests {
    @Test("A withdrawal cancels the transfer, discards the staged changes, and commits the others")
    func running() throws {
        var driver = try Driver.member(maximumTransfers: 2)
        try driver.upload(Driver.attributes(1))
        try driver.upload(Driver.attributes(2))
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))
        let token = try #require(driver.waiting?.token)

        driver.perform(try driver.engine.withdraw(Driver.file(1)))

        #expect(driver.cancelled == [token] && driver.engine.state.directory[Driver.file(1)] == nil)
        driver.reply(.fileStaged(creationDate: Driver.now, updateDate: Driver.now))
        driver.replyStaged()
        driver.reply(.uploads([Driver.row(1), Driver.row(2)]))
        #expect(driver.waiting?.request == .discardUploads(Driver.group, [Driver.file(1)]))
        driver.reply(.done)
        driver.finish()
        #expect(driver.commits.count == 1 && driver.engine.state.items.isEmpty)
        #expect(refusal { _ = try driver.engine.withdraw(Driver.file(1)) } == .couldNotFindFileUUID)
    }

    @Test("The only change in a batch can be withdrawn while it is being sent")
    func batch() throws {
        var driver = try Driver.member(capabilities: .all)
        try driver.upload(Driver.attributes(1), size: 10)
        try driver.sync()
        driver.replyIndex()
        #expect(driver.fileUploads.first?.batch != nil)

        driver.perform(try driver.engine.withdraw(Driver.file(1)))
        driver.reply(.failed(.unreachable))
        driver.finish()

        #expect(driver.engine.state.items.isEmpty && driver.commits.isEmpty && !driver.engine.isSyncing)
    }

    @Test("A change that is being committed cannot be withdrawn")
    func committing() throws {
        var driver = try Driver.member()
        try driver.upload(Driver.attributes(1))
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.replyStaged()

        #expect(refusal { _ = try driver.engine.withdraw(Driver.file(1)) } == .commitUnderWay)
        driver.finish()
        #expect(driver.commits.count == 1)
    }

    @Test(
        "A file that a restored server has lost is forgotten if its contents are withdrawn, and uploaded if a text is",
        arguments: [true, false])
    func lost(isText: Bool) throws {
        var driver = try Driver.member()
        try driver.download(1, text: "old")
        if isText {
            try driver.uploadText(Driver.attributes(1, text: "new"))
        } else {
            try driver.upload(Driver.attributes(1))
        }
        driver.rows = []
        driver.restored = (RestoreMark("first")!, .initial)
        driver.masterVersion = .initial
        try driver.sync()
        driver.replyIndex()
        driver.relaunch()

        driver.perform(try driver.engine.withdraw(Driver.file(1)))

        guard isText else {
            #expect(driver.engine.state.directory[Driver.file(1)] == nil)
            return
        }
        try driver.sync()
        driver.replyIndex()
        driver.supply(Driver.contents("mine"))
        driver.finish()
        let upload = try #require(driver.fileUploads.first)
        #expect(upload.source.path == "mine" && upload.appMetaData?.contents == "old")
    }

    @Test("A stop cancels transfers and completes once they have ended; the next sync sends the rest")
    func stop() throws {
        var driver = try Driver.member(maximumTransfers: 2)
        try driver.upload(Driver.attributes(1))
        try driver.upload(Driver.attributes(2))
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))
        let tokens = driver.outstanding.map(\.token)

        driver.perform(driver.engine.stop())
        #expect(driver.cancelled == tokens)
        driver.reply(.failed(.unreachable))
        #expect(driver.engine.isSyncing)
        driver.reply(.failed(.unreachable))

        #expect(!driver.engine.isSyncing && driver.errors.isEmpty && driver.events.last == .syncDone)
        try driver.sync()
        driver.finish()
        #expect(driver.commits.count == 1 && !driver.engine.uploadsPending)
    }

    @Test("A stop cancels any request; the next sync asks about an interrupted commit")
    func stopWhileCommitting() throws {
        var driver = try Driver.member()
        try driver.upload(Driver.attributes(1))
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.replyStaged()
        let token = try #require(driver.waiting?.token)

        driver.perform(driver.engine.stop())
        driver.reply(.failed(.unreachable))

        #expect(driver.cancelled == [token] && !driver.engine.isSyncing)
        try driver.sync()
        driver.replyIndex()
        #expect(driver.commits.count == 2 && driver.commits[0] == driver.commits[1])
    }
}
