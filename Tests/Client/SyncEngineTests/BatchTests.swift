import SyncEngine
import SyncProtocol
import Testing

/// Queues that are committed by the last of their changes.
@Suite struct BatchTests {
    private static func uploader(_ files: Int, maximumTransfers: Int = 4) throws -> Driver {
        var driver = try Driver.member(capabilities: .all, maximumTransfers: maximumTransfers)
        for number in 1...files { try driver.upload(Driver.attributes(number), "up\(number)") }
        try driver.sync()
        driver.replyIndex()
        return driver
    }

    private static func committed(_ version: Int64) -> ServerReply {
        .batchCommitted(MasterVersion(version), creationDate: Driver.now, updateDate: Driver.now)
    }

    @Test func aSmallQueueNeedsNoOtherRequest() throws {
        var driver = try Self.uploader(2)
        let batches = driver.fileUploads.map(\.batch)
        #expect(batches.allSatisfy { $0?.batchCount == 2 && $0?.batchUUID == batches.first??.batchUUID })
        driver.replyStaged()
        driver.reply(Self.committed(2))
        #expect(!driver.engine.isSyncing)
        #expect(!driver.engine.uploadsPending)
        #expect(driver.events.contains(.contentUploadsCompleted(numberOfFiles: 2)))
        #expect(driver.engine.state.groups[Driver.group]?.masterVersion == MasterVersion(2))
        #expect(driver.requests.count == 4, "the index that lists the group, the sync's own index, and two uploads")
    }

    @Test func theReplyThatTellsOfTheCommitCountsMost() throws {
        var driver = try Self.uploader(3)
        driver.reply(.failed(.unreachable))
        driver.reply(Self.committed(2))
        driver.reply(.failed(.unreachable))
        #expect(driver.errors == [])
        #expect(!driver.engine.uploadsPending)
        let complete = driver.events.filter { if case .singleFileUploadComplete = $0 { true } else { false } }
        #expect(complete.count == 3, "each is reported, even those whose reply was lost")
    }

    @Test func aLostReplyIsAskedForOnceMore() throws {
        var driver = try Self.uploader(1)
        driver.reply(.failed(.unreachable))
        #expect(driver.errors == [.networkError])
        driver.relaunch(capabilities: .all)
        try driver.sync()
        driver.replyIndex()
        #expect(driver.fileUploads.count == 2)
        #expect(driver.fileUploads.first == driver.fileUploads.last, "before the index is compared")
        driver.reply(Self.committed(2))
        #expect(!driver.engine.uploadsPending)
        driver.masterVersion = MasterVersion(5)
        driver.rows = [Driver.row(1, version: 1)]
        driver.replyIndex()
        #expect(driver.contentConflicts.isEmpty, "others have committed since, after our commit")
        #expect(driver.fileDownloads == [Driver.file(1)])
    }

    @Test func aBatchThatWasNotCommittedGoesOn() throws {
        var driver = try Self.uploader(2)
        driver.reply(.failed(.unreachable))
        driver.reply(.failed(.unreachable))
        driver.relaunch(capabilities: .all)
        try driver.sync()
        driver.replyIndex()
        driver.replyStaged()
        driver.replyIndex()
        var row = Driver.row(1, device: Driver.device)
        row.batchUUID = driver.fileUploads.first?.batch?.batchUUID
        driver.reply(.uploads([row]))
        #expect(driver.fileUploads.last?.fileUUID == Driver.file(2))
        #expect(driver.fileUploads.last?.batch == driver.fileUploads.first?.batch)
        driver.reply(Self.committed(2))
        #expect(!driver.engine.uploadsPending)
    }

    @Test("A batch completed by a late request, after it was found to be incomplete, is ours and causes no conflict")
    func aLateRequestCompletesTheBatch() throws {
        var driver = try Self.uploader(2)
        driver.reply(.failed(.unreachable))
        driver.reply(.failed(.unreachable))
        try driver.sync()
        driver.replyIndex()
        driver.replyStaged()
        driver.rows = [Driver.row(1, device: Driver.device), Driver.row(2, device: Driver.device)]
        driver.masterVersion = MasterVersion(2)
        driver.replyIndex()

        #expect(driver.contentConflicts.isEmpty && driver.fileDownloads.isEmpty)
        #expect(!driver.engine.uploadsPending)
        #expect(driver.events.contains(.contentUploadsCompleted(numberOfFiles: 2)))
    }

    @Test func anotherVersionMakesAnotherBatch() throws {
        var driver = try Self.uploader(2, maximumTransfers: 1)
        driver.replyStaged()
        driver.reply(.stale(current: MasterVersion(4)))
        driver.masterVersion = MasterVersion(4)
        driver.replyIndex()
        #expect(driver.fileUploads.last?.masterVersion == MasterVersion(4))
        driver.replyStaged()
        driver.reply(Self.committed(5))
        #expect(!driver.engine.uploadsPending)
    }

    @Test func aRefusedChangeLetsTheOthersWaitForACommit() throws {
        var driver = try Self.uploader(3)
        driver.replyStaged()
        driver.reply(.failed(.refused(status: 413, code: "body_too_large")))
        driver.replyStaged()
        driver.reply(.uploads([]))
        #expect(driver.fileUploads.suffix(2).map(\.fileUUID) == [Driver.file(1), Driver.file(3)])
        #expect(driver.fileUploads.suffix(2).allSatisfy { $0.batch == nil })
        driver.replyStaged()
        driver.replyStaged()
        driver.reply(.committed(numberUploadsTransferred: 2))
        #expect(!driver.engine.uploadsPending)
        #expect(driver.events.contains { if case .singleFileUploadFailed = $0 { true } else { false } })
    }

    @Test func aCommitWhileNoProcessRanIsTakenOver() throws {
        var driver = try Self.uploader(2)
        driver.replyStaged()
        driver.reply(.failed(.unreachable))
        driver.relaunch(capabilities: .all)
        driver.perform(driver.engine.noteStaged(Driver.file(2), .first, nil, committedAs: MasterVersion(2)))
        #expect(!driver.engine.uploadsPending)
        #expect(driver.events.contains(.contentUploadsCompleted(numberOfFiles: 2)))
        driver.masterVersion = MasterVersion(2)
        driver.rows = [Driver.row(1, device: Driver.device), Driver.row(2, device: Driver.device)]
        try driver.sync()
        driver.replyIndex()
        #expect(!driver.engine.isSyncing)
        #expect(driver.fileUploads.count == 2 && driver.fileDownloads.isEmpty)
    }

    @Test func aServerWithoutBatchesIsAskedForACommit() throws {
        var driver = try Self.uploader(1)
        driver.replyStaged()
        driver.reply(.uploads([Driver.row(1, device: Driver.device)]))
        driver.reply(.done)
        driver.reply(.uploads([]))
        driver.replyStaged()
        driver.reply(.committed(numberUploadsTransferred: 1))
        #expect(!driver.engine.uploadsPending)
    }

    @Test func largeFilesWaitForACommit() throws {
        var driver = try Driver.member(capabilities: .all, maximumTransfers: 4)
        let large = UploadSource(
            location: LocalFileLocation(base: .documents, path: "up"), isOwned: false, size: 1_001)
        driver.perform(try driver.engine.upload(large, Driver.attributes(1), at: Driver.now))
        try driver.sync()
        driver.replyIndex()
        guard case .getUploads = driver.waiting?.request else {
            Issue.record("expected a request for the staged changes first")
            return
        }
    }
}
