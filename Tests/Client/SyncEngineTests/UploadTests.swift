import SyncEngine
import SyncProtocol
import Testing

@Suite("Uploads and deletions combined with others")
struct UploadTests {
    @Test("If the master version changes between two uploads, both are sent with the new one and committed together")
    func staleUpload() throws {
        var driver = try Driver.member()
        try driver.upload(Driver.attributes(1))
        try driver.upload(Driver.attributes(2))
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.replyStaged()
        driver.masterVersion = MasterVersion(7)
        driver.reply(.stale(current: MasterVersion(7)))
        driver.replyIndex()
        driver.reply(.uploads([Driver.row(1, device: Driver.device)]))
        driver.reply(.done)
        driver.reply(.uploads([]))
        driver.replyStaged()
        driver.replyStaged()
        driver.reply(.committed(numberUploadsTransferred: 2))

        let single = driver.events.filter { if case .singleFileUploadComplete = $0 { true } else { false } }
        #expect(single.count == 3)
        #expect(driver.events.contains(.contentUploadsCompleted(numberOfFiles: 2)))
        #expect(driver.commits.map(\.masterVersion) == [MasterVersion(7)])
        #expect([1, 2].allSatisfy { driver.engine.state.directory[Driver.file($0)]?.fileVersion == .first })
    }

    @Test("If the master version changes at a deletion, its upload is also repeated, and both count once")
    func staleDeletion() throws {
        var driver = try Driver.member()
        try driver.download(1)
        try driver.upload(Driver.attributes(2))
        try driver.delete(1)
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.replyStaged()
        driver.masterVersion = MasterVersion(7)
        driver.reply(.stale(current: MasterVersion(7)))
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.replyStaged()
        driver.replyStaged()
        driver.reply(.committed(numberUploadsTransferred: 2))

        #expect(driver.fileUploads.count == 2)
        #expect(driver.uploadDeletions.count == 2)
        #expect(driver.events.filter { $0 == .contentUploadsCompleted(numberOfFiles: 1) }.count == 1)
        #expect(driver.events.filter { $0 == .uploadDeletionsCompleted(numberOfFiles: 1) }.count == 1)
        #expect(driver.engine.state.directory[Driver.file(1)]?.deletedLocally == true)
    }

    @Test(
        "An unavailable file's deletion is staged again if it was staged for an older version",
        arguments: [false, true])
    func outdatedDeletion(isRelaunched: Bool) throws {
        var driver = try Driver.member()
        driver.rows = [Driver.row(1)]
        driver.masterVersion = driver.masterVersion.next
        try driver.sync()
        driver.replyIndex()
        driver.reply(.gone(.fileRemovedOrRenamed, appMetaData: nil, .google))
        driver.takeDelivery()
        driver.replyIndex()
        try driver.delete(1)
        try driver.upload(Driver.attributes(2))
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.replyStaged()
        driver.reply(.failed(.unreachable))
        if isRelaunched { driver.relaunch() }

        driver.rows = [Driver.row(1, version: 1)]
        driver.masterVersion = driver.masterVersion.next
        try driver.sync()
        driver.replyIndex()
        if case .getUploads = driver.waiting?.request {
            driver.reply(.uploads([Driver.row(1, version: 0, deleted: true)]))
            driver.reply(.done)
            driver.reply(.uploads([]))
        }

        #expect(
            driver.waiting?.request
                == .uploadDeletion(
                    Driver.file(1), FileVersion(1), masterVersion: driver.masterVersion,
                    sharingGroupUUID: Driver.group))
    }

    @Test("An upload and a deletion, closed one after the other, happen in that order")
    func uploadThenDeletion() throws {
        var driver = try Driver.member()
        try driver.upload(Driver.attributes(1))
        try driver.sync()
        try driver.delete(1)
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.replyStaged()
        driver.masterVersion = driver.masterVersion.next
        driver.reply(.committed(numberUploadsTransferred: 1))
        driver.replyIndex()
        #expect(driver.uploadDeletions == [Driver.file(1)])
        driver.replyStaged()
        driver.reply(.committed(numberUploadsTransferred: 1))

        #expect(driver.events.contains(.contentUploadsCompleted(numberOfFiles: 1)))
        #expect(driver.events.contains(.uploadDeletionsCompleted(numberOfFiles: 1)))
        #expect(driver.engine.state.directory[Driver.file(1)]?.deletedLocally == true)
        #expect(!driver.engine.uploadsPending)
    }

    @Test(
        "Two deletions in one sync are both committed, whether queued separately or together", arguments: [true, false])
    func deletions(atOnce: Bool) throws {
        var driver = try Driver.member()
        try driver.download(1)
        try driver.download(2)
        if atOnce {
            try driver.delete(1, 2)
        } else {
            try driver.delete(1)
            try driver.delete(2)
        }
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.replyStaged()
        driver.replyStaged()
        driver.reply(.committed(numberUploadsTransferred: 2))

        #expect(driver.commits.map(\.numberOfDeletions) == [2])
        #expect(driver.events.contains(.uploadDeletionsCompleted(numberOfFiles: 2)))
        #expect([1, 2].allSatisfy { driver.engine.state.directory[Driver.file($0)]?.deletedLocally == true })
    }

    @Test("Accepting drops both queued versions")
    func acceptDropsTwoVersions() throws {
        var driver = try Driver.member()
        try driver.download(1)
        try driver.upload(Driver.attributes(1), "second")
        try driver.sync()
        try driver.upload(Driver.attributes(1), "third")
        try driver.sync()
        driver.masterVersion = driver.masterVersion.next
        driver.rows = [Driver.row(1, version: 1)]
        driver.replyIndex()
        driver.replyFile("theirs")
        #expect(driver.contentConflicts.map(\.conflictType) == [.contentUpload(.file)])
        driver.answer(.acceptContentDownload)
        driver.takeDelivery()
        while driver.engine.isSyncing { driver.replyIndex() }

        #expect(driver.fileUploads.isEmpty)
        #expect(driver.engine.state.items.isEmpty)
        #expect(!driver.engine.uploadsPending)
        #expect(driver.deliveries.last?.map(\.fileVersion) == [FileVersion(1)])
    }
}
