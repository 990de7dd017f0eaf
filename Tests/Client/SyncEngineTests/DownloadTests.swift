import SyncEngine
import SyncProtocol
import Testing

@Suite("Others' changes")
struct DownloadTests {
    // Found by the simulation: the app kept the file.
    @Test(
        "If a process ends before it records that the app has a file, a deletion by others is delivered nevertheless",
        arguments: [true, false])
    func unrecorded(movesFile: Bool) throws {
        var driver = try Driver.member(maximumTransfers: 3)
        driver.rows = [Driver.row(1), Driver.row(2), Driver.row(3)]
        driver.masterVersion = MasterVersion(2)
        try driver.sync()
        driver.replyIndex()
        driver.replyFile("two", at: 1)
        driver.replyFile("one")
        #expect(driver.deliveries.map { $0.map(\.attributes.fileUUID) } == [[Driver.file(2)]])
        driver.relaunch()
        if movesFile { driver.engine.forgetMissingFiles { $0.path == "two" } }

        driver.masterVersion = MasterVersion(3)
        driver.rows = [Driver.row(1), Driver.row(2, deleted: true), Driver.row(3)]
        try driver.sync()
        while case .downloadFile = driver.waiting?.request { driver.reply(.stale(current: driver.masterVersion)) }
        driver.takeDelivery()
        driver.replyIndex()
        driver.takeAll()

        let deleted = driver.deliveries.flatMap { $0 }.filter { $0.kind == .deletion }
        #expect(deleted.map(\.attributes.fileUUID) == [Driver.file(2)])
        #expect(driver.engine.state.directory[Driver.file(2)]?.deletedLocally == true)
    }

    @Test("A comparison alone reports the downloads to make, and changes nothing")
    func comparisonAlone() throws {
        var driver = try Driver.member()
        try driver.download(1)
        try driver.download(2)
        let before = driver.engine.state
        let rows = [
            Driver.row(1, version: 3), Driver.row(2, deleted: true), Driver.row(3), Driver.row(4, deleted: true),
        ]

        let comparison = driver.engine.comparison(with: rows, of: Driver.group)

        #expect(comparison == IndexComparison(numberContentDownloads: 2, numberDownloadDeletions: 1))
        #expect(driver.engine.state == before)
        #expect(driver.engine.takeChanges().isEmpty)
    }

    @Test("A file known to be deleted is not compared again")
    func knownDeletion() throws {
        var driver = try Driver.member()
        try driver.download(1)
        driver.masterVersion = driver.masterVersion.next
        driver.rows = [Driver.row(1, deleted: true)]
        try driver.sync()
        driver.replyIndex()
        driver.takeAll()
        driver.replyIndex()
        let deliveries = driver.deliveries.count

        driver.masterVersion = driver.masterVersion.next
        try driver.sync()
        driver.replyIndex()

        #expect(driver.deliveries.count == deliveries)
        #expect(driver.engine.state.downloads.isEmpty)
        #expect(!driver.engine.isSyncing)
    }

    @Test("A download is marked while it runs, and no other request is made meanwhile")
    func oneAtATime() throws {
        var driver = try Driver.member()
        try driver.sync()
        driver.rows = [Driver.row(1), Driver.row(2)]
        driver.replyIndex()
        #expect(driver.engine.state.downloads.inOrder.map(\.status) == [.downloading, .notStarted])
        #expect(driver.engine.state.downloadGroups.inOrder.map(\.status) == [.downloading, .notStarted])
        let requests = driver.requests.count

        try driver.sync()

        #expect(driver.requests.count == requests)
        #expect(driver.events.last == .syncDelayed)
        #expect(driver.engine.state.downloads.inOrder.map(\.status) == [.downloading, .notStarted])
    }

    @Test("A group of downloads is complete with its last item")
    func completeGroup() throws {
        var driver = try Driver.member(of: [Driver.row(1)])
        try driver.sync()
        driver.replyIndex()
        driver.replyFile()

        #expect(driver.engine.state.downloadGroups.inOrder.map(\.status) == [.downloaded])
        #expect(driver.engine.state.downloads.inOrder.map(\.status) == [.downloaded])
        driver.takeDelivery()
        #expect(driver.engine.state.downloadGroups.isEmpty)
        #expect(driver.engine.state.downloads.isEmpty)
    }

    @Test("A complete reset removes all tracking of a downloaded file")
    func reset() throws {
        var driver = try Driver.member()
        try driver.download(1, text: "t")
        #expect(try driver.engine.attributes(of: Driver.file(1)).appMetaData == "t")

        driver.perform(try driver.engine.reset(.all, at: Driver.now))

        #expect(
            refusal { _ = try driver.engine.attributes(of: Driver.file(1)) } == .getAttributesForUnknownFile)
        #expect(driver.stored.directory.isEmpty)
    }

    @Test("Metadata are delivered with their version; without a version there are none", arguments: [nil, "a text"])
    func text(text: String?) throws {
        var driver = try Driver.member()
        try driver.download(1, text: text)

        let entry = try #require(driver.engine.state.directory[Driver.file(1)])

        #expect(entry.appMetaData == text.map { AppMetaData(version: .first, contents: $0) })
        #expect(driver.deliveries.last?.first?.attributes.appMetaData == text)
    }

    @Test("Versions of a file are delivered in commit order, each once")
    func versions() throws {
        var driver = try Driver.member()
        for version in Int32(0)...3 {
            driver.masterVersion = driver.masterVersion.next
            driver.rows = [Driver.row(1, version: version)]
            try driver.sync()
            driver.replyIndex()
            driver.takeAll()
            driver.replyIndex()
            try driver.sync()
            driver.replyIndex()
        }

        #expect(driver.deliveries.flatMap { $0 }.map(\.fileVersion.rawValue) == [0, 1, 2, 3])
        #expect(driver.engine.state.directory[Driver.file(1)]?.fileVersion == FileVersion(3))
    }

    @Test("A later version's deletion is delivered once")
    func deletionOfLaterVersion() throws {
        var driver = try Driver.member()
        try driver.download(1)
        driver.masterVersion = driver.masterVersion.next
        driver.rows = [Driver.row(1, version: 4, deleted: true)]
        for _ in 1...2 {
            try driver.sync()
            driver.replyIndex()
            driver.takeAll()
            if driver.waiting != nil { driver.replyIndex() }
        }

        #expect(driver.deliveries.dropFirst().flatMap { $0 }.map(\.kind) == [.deletion])
        #expect(driver.engine.state.directory[Driver.file(1)]?.deletedLocally == true)
    }
}

@Suite("File groups are delivered as a whole")
struct FileGroupDeliveryTests {
    /// A member who downloads files 1 to `count`.
    private func member(files count: Int, text: Bool = false, fileGroup: FileGroupUUID?) throws -> Driver {
        var driver = try Driver.member()
        driver.rows = (1...count).map { Driver.row($0, text: text ? 0 : nil, fileGroup: fileGroup) }
        driver.masterVersion = driver.masterVersion.next
        try driver.sync()
        driver.replyIndex()
        driver.takeAll(texts: Dictionary(uniqueKeysWithValues: (1...count).map { (Driver.file($0), "old \($0)") }))
        driver.replyIndex()
        return driver
    }

    @Test(
        "Deletions are delivered together within a file group, and individually without one", arguments: [1, 2],
        [true, false])
    func deletions(count: Int, isGrouped: Bool) throws {
        let fileGroup = isGrouped ? Driver.fileGroup(1) : nil
        var driver = try member(files: count, fileGroup: fileGroup)
        let before = driver.deliveries.count
        driver.rows = (1...count).map { Driver.row($0, deleted: true, fileGroup: fileGroup) }
        driver.masterVersion = driver.masterVersion.next
        try driver.sync()
        driver.replyIndex()
        driver.takeAll()

        let deliveries = driver.deliveries.dropFirst(before)
        #expect(deliveries.map(\.count) == (isGrouped ? [count] : Array(repeating: 1, count: count)))
        #expect(deliveries.flatMap { $0 }.allSatisfy { $0.kind == .deletion })
    }

    @Test("Changed metadata are delivered together, each with its file", arguments: [1, 2])
    func texts(count: Int) throws {
        var driver = try member(files: 2, text: true, fileGroup: Driver.fileGroup(1))
        driver.rows = (1...count).map { Driver.row($0, text: 1, fileGroup: Driver.fileGroup(1)) }
        driver.masterVersion = driver.masterVersion.next
        try driver.sync()
        driver.replyIndex()
        driver.takeAll(texts: [Driver.file(1): "new 1", Driver.file(2): "new 2"])

        let delivery = try #require(driver.deliveries.last)
        #expect(delivery.map(\.kind) == Array(repeating: .appMetaData, count: count))
        #expect(delivery.map(\.attributes.appMetaData) == (1...count).map { "new \($0)" })
        let texts = (1...2).map { driver.engine.state.directory[Driver.file($0)]?.appMetaData?.contents }
        #expect(texts == ["new 1", count == 2 ? "new 2" : "old 2"])
    }

    @Test("A new version, metadata and a deletion in one file group are one delivery")
    func mixed() throws {
        var driver = try member(files: 3, text: true, fileGroup: Driver.fileGroup(1))
        let before = driver.deliveries.count
        driver.rows = [
            Driver.row(1, version: 1, text: 0, fileGroup: Driver.fileGroup(1)),
            Driver.row(2, text: 1, fileGroup: Driver.fileGroup(1)),
            Driver.row(3, deleted: true, text: 0, fileGroup: Driver.fileGroup(1)),
        ]
        driver.masterVersion = driver.masterVersion.next
        try driver.sync()
        driver.replyIndex()
        driver.takeAll(texts: [Driver.file(1): "old 1", Driver.file(2): "new 2"])

        #expect(driver.deliveries.count == before + 1)
        let kinds = driver.deliveries.last?.map { operation in
            switch operation.kind {
            case .file: "file"
            case .appMetaData: "text"
            case .deletion: "deletion"
            case .fileGone: "gone"
            }
        }
        #expect(kinds == ["file", "text", "deletion"])
    }

    @Test("Ten files of a file group are delivered once, as a whole")
    func tenFiles() throws {
        let driver = try member(files: 10, fileGroup: Driver.fileGroup(1))

        #expect(driver.deliveries.map(\.count) == [10])
        #expect(Set(driver.deliveries[0].map(\.attributes.fileUUID)).count == 10)
    }

    @Test("A text and an image of one file group each have their own contents, unchanged in the cloud")
    func textAndImage() throws {
        var driver = try Driver.member()
        var image = Driver.row(2, fileGroup: Driver.fileGroup(1))
        image.mimeType = MIMEType("image/jpeg")
        driver.rows = [Driver.row(1, fileGroup: Driver.fileGroup(1)), image]
        try driver.sync()
        driver.replyIndex()
        driver.replyFile("text")
        driver.replyFile("image")

        let delivery = try #require(driver.deliveries.last)
        #expect(
            delivery.map(\.kind) == [
                .file(LocalFileLocation(base: .library, path: "text"), contentsChanged: false),
                .file(LocalFileLocation(base: .library, path: "image"), contentsChanged: false),
            ])
        #expect(delivery.map(\.attributes.mimeType) == [MIMEType("text/plain"), MIMEType("image/jpeg")])
    }

    @Test("Files of two sharing groups are not combined, even if they have the same file group")
    func otherSharingGroup() throws {
        let groups = [Driver.group, Driver.otherGroup]
        var driver = try Driver.member(
            of: [
                Driver.row(1, fileGroup: Driver.fileGroup(1)),
                Driver.row(2, fileGroup: Driver.fileGroup(1), group: Driver.otherGroup),
            ], groups: groups)
        for group in groups {
            try driver.sync(group)
            driver.replyIndex()
            driver.reply(.failed(.unreachable))
        }

        let known = driver.engine.state.downloadGroups.inOrder
        #expect(known.map(\.sharingGroupUUID) == groups)
        var state = driver.engine.state
        let stray = try #require(state.downloads.inOrder.first { $0.groupID == known[1].id })
        state.directory.put(DirectoryEntry(fileUUID: stray.fileUUID, sharingGroupUUID: Driver.group))
        #expect(state.violations() == ["download \(stray.id) has a different sharing group from its file"])
    }

    @Test("Downloads join the group of their file group, or start one; without a file group, each has its own")
    func joining() throws {
        var driver = try Driver.member()
        driver.rows = [
            Driver.row(1, fileGroup: Driver.fileGroup(1)), Driver.row(2), Driver.row(3, fileGroup: Driver.fileGroup(1)),
            Driver.row(4), Driver.row(5, fileGroup: Driver.fileGroup(2)),
        ]
        try driver.sync()
        driver.replyIndex()

        let state = driver.engine.state
        let groups = state.downloadGroups.inOrder
        #expect(groups.map(\.fileGroupUUID) == [Driver.fileGroup(1), nil, nil, Driver.fileGroup(2)])
        #expect(
            groups.map { state.downloads(in: $0.id).map(\.fileUUID) } == [
                [Driver.file(1), Driver.file(3)], [Driver.file(2)], [Driver.file(4)], [Driver.file(5)],
            ])
    }
}
