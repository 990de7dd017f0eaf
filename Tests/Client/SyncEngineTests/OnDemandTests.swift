import SyncEngine
import SyncProtocol
import Testing

@Suite("Downloads on demand")
struct OnDemandTests {
    /// A member of a group whose files are downloaded on demand.
    static func listing(_ rows: [FileInfo], maximumTransfers: Int = 1) throws -> Driver {
        var driver = try Driver.member(maximumTransfers: maximumTransfers)
        try driver.engine.setDownloadPolicy(.onDemand, of: Driver.group)
        driver.perform([])
        driver.rows = rows
        driver.masterVersion = driver.masterVersion.next
        try driver.sync()
        driver.replyIndex()
        return driver
    }

    /// A device that has a file that it requested.
    static func having(_ number: Int = 1) throws -> Driver {
        var driver = try listing([Driver.row(number)])
        try driver.request(number)
        try driver.sync()
        driver.replyIndex()
        driver.replyFile()
        driver.takeDelivery(bytes: 100)
        driver.replyIndex()
        return driver
    }

    static func entry(_ number: Int, _ driver: Driver) -> DirectoryEntry? {
        driver.engine.state.directory[Driver.file(number)]
    }

    @Test("Files are listed with their attributes and texts, without contents")
    func listed() throws {
        var driver = try Self.listing([Driver.row(1, version: 3), Driver.row(2, text: 0), Driver.row(3, deleted: true)])

        driver.takeAll(texts: [Driver.file(2): "sea"])
        driver.replyIndex()

        #expect(driver.fileDownloads.isEmpty && !driver.engine.isSyncing)
        let first = try driver.engine.attributes(of: Driver.file(1))
        #expect(first.isIndexOnly && !first.isRequested && first.mimeType == MIMEType("text/plain"))
        #expect(Self.entry(1, driver)?.fileVersion == FileVersion(3))
        let second = try driver.engine.attributes(of: Driver.file(2))
        #expect(second.isIndexOnly && second.appMetaData == "sea")
        #expect(driver.engine.state.groups[Driver.group]?.indexedVersion == driver.masterVersion)
        #expect(driver.engine.localConsistencyCheck(clientFiles: []).map(\.clientMissingNotDeleted) == [])
    }

    @Test("A requested file is delivered in its newest version, without the whole index, even after a relaunch")
    func requested() throws {
        var driver = try Self.listing([Driver.row(1), Driver.row(2)])
        try driver.request(1)
        #expect(try driver.engine.attributes(of: Driver.file(1)).isRequested)
        driver.relaunch()
        let known = driver.masterVersion
        driver.rows = []

        try driver.sync()
        #expect(driver.waiting?.request == .index(.init(sharingGroupUUID: Driver.group, since: known)))
        driver.replyIndex()
        driver.replyFile()
        driver.takeDelivery(bytes: 7)
        driver.replyIndex()

        #expect(driver.fileDownloads == [Driver.file(1)])
        #expect(driver.deliveries.count == 1)
        let entry = try #require(Self.entry(1, driver))
        #expect(!entry.isIndexOnly && !entry.forceDownload && entry.contentBytes == 7 && entry.usedAt == Driver.now)
        #expect(Self.entry(2, driver)?.isIndexOnly == true)
    }

    @Test("Later versions of a file are downloaded only if the app has it; deletions always arrive")
    func laterVersions() throws {
        var driver = try Self.having(1)
        driver.rows = [Driver.row(1, version: 1), Driver.row(2)]
        driver.masterVersion = driver.masterVersion.next
        try driver.sync()
        driver.replyIndex()
        driver.takeAll()
        driver.replyIndex()
        #expect(driver.fileDownloads == [Driver.file(1), Driver.file(1)])

        driver.rows = [Driver.row(1, version: 2, deleted: true), Driver.row(2, version: 1, deleted: true)]
        driver.masterVersion = driver.masterVersion.next
        try driver.sync()
        driver.replyIndex()
        driver.takeAll()
        driver.replyIndex()

        #expect(driver.fileDownloads.count == 2)
        #expect(driver.deliveries.suffix(2).flatMap { $0 }.map(\.kind) == [.deletion, .deletion])
        #expect(driver.engine.state.directory.all.allSatisfy { $0.deletedLocally && !$0.isIndexOnly })
    }

    @Test("If contents of a listed file were set aside, others' contents are delivered before a retry replaces them")
    func setAside() throws {
        var driver = try Self.listing([Driver.row(1)])
        try driver.upload(Driver.attributes(1), "large")
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.reply(.failed(.refused(status: 413, code: "body_too_large")))
        driver.finish()
        #expect(driver.engine.changesSetAside(of: Driver.file(1)).count == 1)
        driver.rows = [Driver.row(1, version: 1)]
        driver.masterVersion = driver.masterVersion.next

        try driver.sync()
        driver.replyIndex()
        driver.takeAll()
        driver.replyIndex()

        #expect(driver.fileDownloads == [Driver.file(1)])
        #expect(Self.entry(1, driver)?.fileVersion == FileVersion(1) && Self.entry(1, driver)?.isIndexOnly == false)
    }

    @Test("Requests with a higher priority are downloaded first, even if they are made during the sync")
    func priorities() throws {
        var driver = try Self.listing((1...4).map { Driver.row($0) })
        for number in 1...3 { try driver.request(number, number == 3 ? .high : .low) }
        try driver.sync()
        driver.replyIndex()
        try driver.request(2, .normal)
        try driver.request(4)

        driver.takeAll()
        driver.replyIndex()
        driver.takeAll()
        driver.replyIndex()

        #expect(driver.fileDownloads == [3, 2, 1, 4].map { Driver.file($0) })
        #expect(!driver.engine.isSyncing)
    }

    @Test("Automatic downloads deliver the rest, without the whole index")
    func switchToAutomatic() throws {
        var driver = try Self.having(1)
        driver.rows = [Driver.row(2)]
        driver.masterVersion = driver.masterVersion.next
        try driver.sync()
        driver.replyIndex()
        driver.rows = []

        try driver.engine.setDownloadPolicy(.automatic, of: Driver.group)
        driver.perform([])
        driver.relaunch()
        try driver.sync()
        driver.replyIndex()
        driver.takeAll()
        driver.replyIndex()

        #expect(driver.fileDownloads == [Driver.file(1), Driver.file(2)])
        #expect(driver.engine.state.directory.all.allSatisfy { !$0.isIndexOnly })
        #expect(driver.engine.sharingGroups.map(\.downloadPolicy) == [.automatic])
        #expect(driver.engine.state.groups[Driver.group]?.downloadsRest == false)
    }

    @Test("After a switch to downloads on demand, the next download ends those that nobody requested")
    func switchDuringDownloads() throws {
        var driver = try Driver.member(of: (1...3).map { Driver.row($0) })
        try driver.sync()
        driver.replyIndex()
        try driver.engine.setDownloadPolicy(.onDemand, of: Driver.group)
        driver.perform([])

        driver.replyFile()
        driver.takeDelivery()
        driver.replyIndex()

        #expect(driver.fileDownloads == [Driver.file(1)])
        #expect(driver.engine.state.downloads.isEmpty && !driver.engine.isSyncing)
        #expect([1, 2, 3].map { Self.entry($0, driver)?.isIndexOnly } == [false, true, true])
    }

    @Test("A queued change to contents conflicts with a newer version, as in other groups; a text does not")
    func conflicts() throws {
        var driver = try Self.listing([Driver.row(1), Driver.row(2), Driver.row(3)])
        try driver.upload(Driver.attributes(1))
        try driver.delete(2)
        try driver.uploadText(Driver.attributes(3, text: "mine"))
        driver.rows = (1...3).map { Driver.row($0, version: 1) }
        driver.masterVersion = driver.masterVersion.next

        try driver.sync()
        driver.replyIndex()
        for _ in 1...2 {
            driver.replyFile()
            driver.answer(.rejectContentDownload(.keepAll))
        }
        driver.finish()

        #expect(driver.fileDownloads == [Driver.file(1), Driver.file(2)])
        #expect(driver.contentConflicts.count == 2)
        #expect(driver.fileUploads.last?.fileVersion == FileVersion(2))
        #expect(driver.uploadDeletions == [Driver.file(2)])
        #expect([1, 3].map { Self.entry($0, driver)?.isIndexOnly } == [false, true])
        #expect(Self.entry(3, driver)?.appMetaData?.contents == "mine")
        #expect(driver.errors.isEmpty)
    }

    @Test(
        "A conflict is resolved once: an app that keeps its changes has the contents from the conflict",
        arguments: [DownloadPolicy.automatic, .onDemand], [UploadItem.Kind.file, .appMetaData, .deletion])
    func conflictsOnce(policy: DownloadPolicy, kind: UploadItem.Kind) throws {
        var driver = try Self.listing([Driver.row(1)])
        switch kind {
        case .file: try driver.upload(Driver.attributes(1))
        case .deletion: try driver.delete(1)
        default: try driver.uploadText(Driver.attributes(1, text: "mine"))
        }
        if policy == .onDemand { try driver.request(1) }
        try driver.engine.setDownloadPolicy(policy, of: Driver.group)
        driver.perform([])

        try driver.sync()
        driver.replyIndex()
        driver.replyFile()
        driver.answer(.rejectContentDownload(.keepAll))
        driver.finish()

        #expect(driver.contentConflicts.count == 1 && driver.fileDownloads.count == 1 && !driver.engine.isSyncing)
        #expect(driver.fileUploads.count + driver.uploadDeletions.count == (kind == .appMetaData ? 0 : 1))
        #expect(Self.entry(1, driver).map { $0.isIndexOnly || $0.forceDownload } == false)
    }

    @Test("A conflict about a listed file whose changes are all dropped leaves the file listed")
    func conflictDropsAll() throws {
        var driver = try Self.listing([Driver.row(1)])
        try driver.delete(1)
        driver.rows = [Driver.row(1, version: 1)]
        driver.masterVersion = driver.masterVersion.next

        try driver.sync()
        driver.replyIndex()
        driver.replyFile()
        driver.answer(.rejectContentDownload(.removeAll))
        driver.finish()

        #expect(Self.entry(1, driver)?.isIndexOnly == true && driver.fileDownloads.count == 1)
    }

    @Test("A deleted file that others restore while the policy changes is listed, not downloaded")
    func restoredByOthers() throws {
        var driver = try Driver.member()
        try driver.download(1)
        try driver.delete(1)
        try driver.sync()
        driver.finish()
        driver.rows = [Driver.row(1, version: 1)]
        driver.masterVersion = driver.masterVersion.next
        try driver.sync()
        driver.replyIndex()
        driver.reply(.failed(.unreachable))
        try driver.engine.setDownloadPolicy(.onDemand, of: Driver.group)
        driver.perform([])
        let downloads = driver.fileDownloads.count

        try driver.sync()
        driver.finish()

        #expect(driver.fileDownloads.count == downloads)
        #expect(Self.entry(1, driver)?.isIndexOnly == true && Self.entry(1, driver)?.fileVersion == FileVersion(1))
    }

    @Test("A requested file that is out of reach is delivered when it is within reach again")
    func gone() throws {
        var driver = try Self.listing([Driver.row(1)])
        try driver.request(1)
        try driver.sync()
        driver.replyIndex()
        driver.reply(.gone(.fileRemovedOrRenamed, appMetaData: nil, .google, awaitsReupload: false))
        driver.takeDelivery()
        driver.replyIndex()
        #expect(driver.deliveries.last?.map(\.kind) == [.fileGone])
        #expect(Self.entry(1, driver)?.isIndexOnly == false)

        try driver.sync(reAttemptGone: true)
        driver.replyIndex()
        driver.replyFile()
        driver.takeDelivery()
        driver.replyIndex()

        #expect(Self.entry(1, driver)?.goneReason == nil)
    }

    @Test("After a restoration, the texts of listed files are downloaded again, even in the same version")
    func restoredText() throws {
        var driver = try Self.listing([Driver.row(1, text: 1), Driver.row(2, text: 1)])
        driver.takeAll(texts: [Driver.file(1): "old", Driver.file(2): "old"])
        driver.replyIndex()
        try driver.uploadText(Driver.attributes(2, text: "mine"))
        driver.restored = (RestoreMark("first")!, .initial)
        driver.masterVersion = .initial
        try driver.sync()
        driver.replyIndex()
        #expect(try driver.engine.attributes(of: Driver.file(1)).appMetaData == "old")
        driver.takeAll(texts: [Driver.file(1): "new"])
        driver.finish()

        #expect(try driver.engine.attributes(of: Driver.file(1)).appMetaData == "new")
        #expect(Self.entry(1, driver)?.isIndexOnly == true && driver.fileDownloads.isEmpty)
        #expect(driver.contentConflicts.isEmpty, "the queued text replaces one that nobody has changed")
    }

    @Test("A request can be withdrawn")
    func withdrawnRequest() throws {
        var driver = try Self.listing([Driver.row(1)])
        try driver.request(1)
        driver.perform(try driver.engine.evict(Driver.file(1)))

        try driver.sync()
        driver.replyIndex()

        #expect(driver.fileDownloads.isEmpty && !driver.engine.isSyncing)
    }

    @Test("A membership that is renewed keeps the policy")
    func rejoined() throws {
        var driver = try Self.listing([Driver.row(1)])
        driver.groups = []
        try driver.sync(nil)
        driver.replyIndex()
        #expect(driver.engine.sharingGroups.isEmpty)
        driver.groups = [Driver.group]
        driver.rows = [Driver.row(1, version: 1), Driver.row(2)]
        driver.masterVersion = driver.masterVersion.next

        try driver.sync(nil)
        driver.replyIndex()
        try driver.sync()
        driver.replyIndex()

        #expect(driver.fileDownloads.isEmpty && !driver.engine.isSyncing)
        #expect(Self.entry(1, driver)?.fileVersion == FileVersion(1))
    }
}

extension Driver {
    mutating func request(_ number: Int, _ priority: DownloadPriority = .normal) throws {
        try engine.requestDownload(of: Driver.file(number), priority: priority)
        perform([])
    }
}
