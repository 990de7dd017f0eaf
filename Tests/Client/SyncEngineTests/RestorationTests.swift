import SyncEngine
import SyncProtocol
import Testing

@Suite("A restored server")
struct RestorationTests {
    /// A device with version 2 of file 1, which the backup has as version 1 at master version 5, and with file 2, which
    /// the backup lacks.
    private func restored(changedSince: Bool = false) throws -> Driver {
        var driver = try Driver.member()
        driver.rows = [Driver.row(1, version: 2), Driver.row(2)]
        driver.masterVersion = MasterVersion(7)
        try driver.sync()
        driver.replyIndex()
        driver.takeAll()
        driver.replyIndex()
        driver.rows = [Driver.row(1, version: 1)]
        driver.masterVersion = MasterVersion(changedSince ? 6 : 5)
        driver.restored = (RestoreMark("first")!, MasterVersion(5))
        return driver
    }

    /// The same device after a sync in which its app has supplied file 1, and does not have file 2 any more.
    private func restoredWithoutSecond() throws -> Driver {
        var driver = try restored()
        try driver.sync()
        driver.replyIndex()
        driver.supply(Driver.contents("one"))
        driver.supply(.notAvailable)
        driver.finish()
        return driver
    }

    @Test("The device's files count as newer: they are uploaded again, and nothing older is delivered")
    func newer() throws {
        var driver = try restored()
        let deliveries = driver.deliveries.count
        try driver.sync()
        driver.replyIndex()
        #expect(driver.contentRequests.map(\.version) == [FileVersion(2)])
        driver.supply(Driver.contents("one"))
        driver.supply(Driver.contents("two"))
        driver.finish()

        #expect(driver.fileUploads.map(\.source.path) == ["one", "two"])
        #expect(driver.fileUploads.map(\.fileVersion) == [FileVersion(2), FileVersion(0)])
        #expect(driver.deliveries.count == deliveries && driver.errors.isEmpty && driver.commits.count == 1)
        #expect(driver.events.contains { if case .serverRestored = $0 { true } else { false } })
        #expect(driver.events.contains(.filesRestored([Driver.file(1), Driver.file(2)])))
    }

    @Test("A change that the app queues while it is asked is newer than the contents it supplies")
    func queuedMeanwhile() throws {
        var driver = try restored()
        try driver.sync()
        driver.replyIndex()
        try driver.upload(Driver.attributes(1), "newest")
        driver.supply(Driver.contents("older"))
        driver.supply(Driver.contents("two"))
        driver.finish()
        try driver.sync()
        driver.finish()

        #expect(driver.fileUploads.map(\.source.path) == ["two", "newest"])
    }

    @Test("Changes made by others since the restoration conflict with the device's files")
    func conflict() throws {
        var driver = try restored(changedSince: true)
        try driver.sync()
        driver.replyIndex()
        guard case .index(let parameters) = driver.waiting?.request else {
            Issue.record("expected a request for the changes since the restoration")
            return
        }
        #expect(parameters.since == MasterVersion(5))
        driver.replyIndex()
        driver.replyIndex()
        driver.supply(Driver.contents("one"))
        driver.supply(.notAvailable)
        driver.replyIndex()
        driver.replyFile("theirs")

        #expect(driver.contentConflicts.map(\.attributes.fileUUID) == [Driver.file(1)])
        #expect(driver.errors == [.serverRestored], "the app does not supply the other file")
    }

    @Test("A deleted file stays deleted, unless others have changed it since", arguments: [true, false])
    func deleted(changedSince: Bool) throws {
        var driver = try Driver.member()
        try driver.download(1)
        try driver.delete(1)
        try driver.sync()
        driver.finish()
        driver.restored = (RestoreMark("first")!, MasterVersion(2))
        driver.masterVersion = MasterVersion(changedSince ? 3 : 2)
        driver.rows = [Driver.row(1, version: changedSince ? 1 : 0)]
        try driver.sync()
        driver.replyIndex()
        if changedSince {
            driver.replyIndex()
            driver.replyIndex()
            driver.replyFile("theirs")
            #expect(driver.contentConflicts.map(\.conflictType) == [.uploadDeletion])
            driver.answer(.rejectContentDownload(.keepUploadDeletions))
        }
        driver.finish()

        #expect(driver.uploadDeletions == [Driver.file(1), Driver.file(1)] && driver.deliveries.count == 1)
        #expect(driver.engine.state.directory[Driver.file(1)]?.deletedLocally == true)
    }

    @Test("A lost file that is deleted before it is uploaded again does not return without a question")
    func deletedAfterwards() throws {
        var driver = try restoredWithoutSecond()
        try driver.delete(2)
        driver.rows = [Driver.row(1, version: 2), Driver.row(2)]
        driver.masterVersion = MasterVersion(9)
        try driver.sync()
        driver.replyIndex()
        driver.replyFile("theirs")

        #expect(driver.contentConflicts.map(\.attributes.fileUUID) == [Driver.file(2)])
        #expect(driver.contentConflicts.map(\.conflictType) == [.uploadDeletion])
    }

    @Test("A device that has seen no lost changes continues as usual")
    func untouched() throws {
        var driver = try Driver.member()
        driver.rows = [Driver.row(1)]
        driver.masterVersion = MasterVersion(4)
        try driver.sync()
        driver.replyIndex()
        driver.takeAll()
        driver.replyIndex()
        driver.restored = (RestoreMark("first")!, MasterVersion(5))
        driver.masterVersion = MasterVersion(5)
        try driver.sync()
        driver.finish()

        #expect(driver.contentRequests.isEmpty && !driver.engine.isSyncing)
        #expect(!driver.events.contains { if case .serverRestored = $0 { true } else { false } })
    }

    @Test("Files that the app accepted before its process ended, unrecorded, are known after a restoration")
    func takenBefore() throws {
        var driver = try Driver.member()
        driver.rows = [Driver.row(1)]
        driver.masterVersion = MasterVersion(7)
        try driver.sync()
        driver.replyIndex()
        driver.replyDownloads()
        #expect(driver.deliveries.count == 1)
        driver.relaunch()

        driver.rows = []
        driver.masterVersion = MasterVersion(5)
        driver.restored = (RestoreMark("first")!, MasterVersion(5))
        try driver.sync(nil)
        driver.replyIndex()
        try driver.sync()
        driver.takeDelivery()
        driver.replyIndex()
        #expect(driver.contentRequests.map(\.file) == [Driver.file(1)])
        driver.supply(Driver.contents("mine"))
        driver.finish()

        #expect(driver.deliveries.count == 2 && driver.fileUploads.map(\.source.path) == ["mine"])
    }

    @Test("Without a mark, an older index is requested again before it is trusted")
    func unmarked() throws {
        var driver = try restored()
        driver.restored = nil
        try driver.sync()
        driver.replyIndex()
        #expect(driver.contentRequests.isEmpty)
        driver.masterVersion = MasterVersion(7)
        driver.rows = [Driver.row(1, version: 2), Driver.row(2)]
        driver.finish()
        #expect(driver.contentRequests.isEmpty && driver.fileUploads.isEmpty, "the index was only outdated")

        driver = try restored()
        driver.restored = nil
        try driver.sync()
        driver.replyIndex()
        driver.replyIndex()
        #expect(driver.contentRequests.map(\.file) == [Driver.file(1)])
    }
    // Found by the simulation: the changes of others were deleted, or a commit contained changes staged before.
    @Test(
        "A change that may have been committed is not sent again to a restored server that has reached its version",
        arguments: [ServerCapabilities.withoutBatches, .all])
    func lostCommit(capabilities: ServerCapabilities) throws {
        var driver = try Driver.member(capabilities: capabilities)
        driver.masterVersion = MasterVersion(6)
        try driver.download(1)
        try driver.delete(1)
        try driver.sync()
        driver.replyIndex()
        if !capabilities.batches {
            driver.reply(.uploads([]))
            driver.replyStaged()
        }
        driver.reply(.failed(.unreachable))
        let (deletions, commits) = (driver.uploadDeletions.count, driver.commits.count)

        driver.restored = (RestoreMark("first")!, MasterVersion(5))
        try driver.sync()
        for _ in 1...3 { driver.replyIndex() }
        driver.replyFile("theirs")

        #expect(driver.contentConflicts.map(\.conflictType) == [.uploadDeletion])
        #expect(driver.uploadDeletions.count == deletions && driver.commits.count == commits)
    }

    // Found by the simulation: the server had staged other changes at the time of the backup.
    @Test("Changes staged before a restoration are staged again, even if the server has lost no other change")
    func stagedBefore() throws {
        var driver = try Driver.member()
        try driver.upload(Driver.attributes(1), "one")
        try driver.upload(Driver.attributes(2), "two")
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.perform(driver.engine.stop())
        driver.replyStaged()
        #expect(!driver.engine.isSyncing && driver.errors.isEmpty)

        driver.restored = (RestoreMark("first")!, driver.masterVersion)
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([Driver.row(1)]))
        #expect(driver.waiting?.request == .discardUploads(Driver.group, [Driver.file(1)]))
        driver.finish()

        #expect(driver.fileUploads.map(\.source.path) == ["one", "one", "two"])
        #expect(driver.commits.count == 1 && !driver.engine.uploadsPending)
    }

    // Found by the simulation: the app kept the contents of the upload that it had dropped.
    @Test("If the deletion that an app awaits is lost with a restoration, the app receives the file")
    func lostDeletion() throws {
        var driver = try Driver.member()
        try driver.download(1)
        try driver.upload(Driver.attributes(1), "mine")
        let backup = driver.masterVersion
        driver.masterVersion = backup.next
        driver.rows = [Driver.row(1, deleted: true)]
        try driver.sync()
        driver.replyIndex()
        driver.answer([Driver.file(1): .rejectDownloadDeletion(.removeContentUpload)])

        driver.restored = (RestoreMark("first")!, backup)
        driver.masterVersion = backup
        driver.rows = [Driver.row(1)]
        driver.replyIndex()
        driver.takeAll()
        driver.finish()

        #expect(driver.fileDownloads == [Driver.file(1), Driver.file(1)])
        #expect(driver.deliveries.count == 2 && driver.fileUploads.isEmpty && !driver.engine.isSyncing)
    }
    // Found by the simulation: the app's contents were deleted, and nobody else had them.
    @Test(
        "If the storage has lost a file, the app's newer contents still survive a restoration",
        arguments: [true, false])
    func outOfReach(isDeleted: Bool) throws {
        var driver = try Driver.member()
        driver.rows = [Driver.row(1, version: 2)]
        driver.masterVersion = MasterVersion(7)
        try driver.sync()
        driver.replyIndex()
        driver.takeAll()
        driver.replyIndex()
        try driver.engine.requestDownload(of: Driver.file(1))
        try driver.sync()
        driver.replyIndex()
        driver.reply(.gone(.fileRemovedOrRenamed, appMetaData: nil, .google))
        driver.takeDelivery()
        driver.replyIndex()

        driver.rows = [Driver.row(1, version: 1, deleted: isDeleted)]
        driver.masterVersion = MasterVersion(5)
        driver.restored = (RestoreMark("first")!, MasterVersion(5))
        try driver.sync()
        driver.replyIndex()
        #expect(driver.contentRequests.map(\.version) == [FileVersion(2)])
        driver.supply(Driver.contents("mine"))
        driver.replyIndex()
        if isDeleted {
            driver.answer([Driver.file(1): .rejectDownloadDeletion(.keepContentUpload)])
        } else {
            driver.replyFile("older")
            driver.answer(.rejectContentDownload(.keepContentUploads))
        }
        driver.finish()

        #expect(driver.fileUploads.map(\.source.path) == ["mine"] && driver.deliveries.count == 2)
        #expect(driver.fileUploads.map(\.fileVersion) == [FileVersion(2)] && !driver.engine.uploadsPending)
    }

    @Test("If the app received a file after one restoration, it supplies the file at the next one")
    func suppliedLater() throws {
        var driver = try restoredWithoutSecond()
        driver.rows = [Driver.row(1, version: 2), Driver.row(2)]
        driver.masterVersion = MasterVersion(9)
        try driver.sync()
        driver.replyIndex()
        driver.takeAll()
        driver.replyIndex()
        let requests = driver.contentRequests.count

        driver.rows = [Driver.row(1, version: 2)]
        driver.masterVersion = MasterVersion(6)
        driver.restored = (RestoreMark("second")!, MasterVersion(6))
        try driver.sync()
        driver.replyIndex()

        #expect(driver.contentRequests.dropFirst(requests).map(\.file) == [Driver.file(2)])
    }

    // MARK: Downloads on demand

    @Test("A file that neither a restored server nor the app has is listed when the server has it again")
    func lostByAll() throws {
        var driver = try OnDemandTests.having()
        driver.rows = []
        driver.restored = (RestoreMark("first")!, .initial)
        driver.masterVersion = .initial
        try driver.sync()
        driver.replyIndex()
        driver.supply(.notAvailable)
        driver.finish()
        #expect(driver.errors == [.serverRestored])
        let downloads = driver.fileDownloads.count

        driver.rows = [Driver.row(1)]
        driver.masterVersion = driver.masterVersion.next
        try driver.sync()
        driver.finish()

        #expect(driver.fileDownloads.count == downloads)
        let entry = OnDemandTests.entry(1, driver)
        #expect(entry?.isIndexOnly == true && entry?.fileVersion == .first)
    }

    @Test("A deletion that is queued after a restoration does not hide a version that others have created since")
    func deletedAfterRestoration() throws {
        var driver = try OnDemandTests.listing([Driver.row(1, version: 1), Driver.row(2)])
        try driver.request(2)
        try driver.sync()
        driver.replyIndex()
        driver.takeAll()
        driver.replyIndex()
        // The restored server has lost file 2. The sync ends before it compares the index.
        driver.rows = [Driver.row(1)]
        driver.restored = (RestoreMark("first")!, .initial)
        driver.masterVersion = .initial
        try driver.sync()
        driver.replyIndex()
        driver.relaunch()
        try driver.delete(1)
        driver.rows = [Driver.row(1, version: 1)]
        driver.masterVersion = driver.masterVersion.next

        try driver.sync()
        driver.replyIndex()
        driver.supply(.notAvailable)
        driver.replyIndex()
        driver.replyFile("theirs")

        #expect(driver.contentConflicts.map(\.attributes.fileUUID) == [Driver.file(1)])
        #expect(driver.uploadDeletions.isEmpty)
    }
}
