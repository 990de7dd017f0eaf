import SyncEngine
import SyncProtocol
import Testing

@Suite("Syncs that are stopped and resumed")
struct StopTests {
    private func stop(_ driver: inout Driver) {
        driver.perform(driver.engine.stop())
    }

    @Test("A stop right after the start prevents an upload; a later sync sends it")
    func beforeUpload() throws {
        var driver = try Driver.member()
        try driver.upload(Driver.attributes(1))
        try driver.sync()
        stop(&driver)
        driver.replyIndex()
        #expect(!driver.engine.isSyncing)
        #expect(driver.fileUploads.isEmpty)

        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.replyStaged()
        driver.reply(.committed(numberUploadsTransferred: 1))

        #expect(driver.fileUploads.count == 1)
        #expect(!driver.engine.uploadsPending)
    }

    @Test("After a stop before or between two downloads, the next sync fetches only the rest")
    func downloads() throws {
        var driver = try Driver.member(of: [Driver.row(1), Driver.row(2)])
        try driver.sync()
        stop(&driver)
        driver.replyIndex()
        #expect(driver.fileDownloads.isEmpty)

        try driver.sync()
        driver.replyFile("one")
        stop(&driver)
        driver.takeDelivery()
        #expect(!driver.engine.isSyncing)
        #expect(driver.fileDownloads == [Driver.file(1)])

        try driver.sync()
        driver.takeAll()
        driver.replyIndex()

        #expect(driver.fileDownloads == [Driver.file(1), Driver.file(2)])
        #expect(driver.deliveries.flatMap { $0 }.map(\.attributes.fileUUID) == [Driver.file(1), Driver.file(2)])
        #expect(driver.engine.state.downloads.isEmpty)
    }

    @Test("After a stop between two deletions, only the second one is sent")
    func deletions() throws {
        var driver = try Driver.member()
        try driver.download(1)
        try driver.download(2)
        try driver.delete(1, 2)
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))
        stop(&driver)
        driver.replyStaged()
        #expect(!driver.engine.isSyncing)

        try driver.sync()
        driver.replyIndex()
        driver.replyStaged()
        driver.reply(.committed(numberUploadsTransferred: 2))

        #expect(driver.uploadDeletions == [Driver.file(1), Driver.file(2)])
        #expect(driver.events.contains(.uploadDeletionsCompleted(numberOfFiles: 2)))
        #expect([1, 2].allSatisfy { driver.engine.state.directory[Driver.file($0)]?.deletedLocally == true })
    }

    @Test("Two stops and two resumptions lose nothing")
    func twice() throws {
        var driver = try Driver.member(of: [Driver.row(1)])
        try driver.upload(Driver.attributes(2))
        try driver.upload(Driver.attributes(3))
        try driver.sync()
        driver.replyIndex()
        stop(&driver)
        driver.replyFile()
        #expect(!driver.engine.isSyncing)
        try driver.sync()
        driver.takeDelivery()
        driver.replyIndex()
        driver.reply(.uploads([]))
        stop(&driver)
        driver.replyStaged()
        #expect(!driver.engine.isSyncing)
        try driver.sync()
        driver.replyIndex()
        driver.replyStaged()
        driver.reply(.committed(numberUploadsTransferred: 2))

        #expect(driver.deliveries.count == 1)
        #expect(driver.fileDownloads == [Driver.file(1)])
        #expect(driver.fileUploads.map(\.fileUUID) == [Driver.file(2), Driver.file(3)])
        #expect(driver.commits.count == 1)
        #expect(!driver.engine.uploadsPending)
    }

    @Test("A file deleted by others after a stop is never delivered, and leaves nothing behind")
    func deletedMeanwhile() throws {
        var driver = try Driver.member(of: [Driver.row(1), Driver.row(2)])
        try driver.sync()
        driver.replyIndex()
        driver.replyFile()
        stop(&driver)
        driver.takeDelivery()
        driver.masterVersion = driver.masterVersion.next
        driver.rows = [Driver.row(1), Driver.row(2, deleted: true)]
        try driver.sync()
        driver.reply(.stale(current: driver.masterVersion))
        driver.replyIndex()

        #expect(!driver.engine.isSyncing)
        #expect(driver.deliveries.flatMap { $0 }.map(\.attributes.fileUUID) == [Driver.file(1)])
        #expect(driver.engine.state.downloads.isEmpty)
        #expect(driver.engine.state.downloadGroups.isEmpty)
        #expect(driver.engine.state.directory[Driver.file(2)]?.deletedLocally == true)
    }

    @Test("A stopped sync of one group does not send its staged changes again after another group was synced")
    func otherGroup() throws {
        var driver = try Driver.member(groups: [Driver.group, Driver.otherGroup])
        try driver.upload(Driver.attributes(1))
        try driver.upload(Driver.attributes(2))
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))
        stop(&driver)
        driver.replyStaged()
        try driver.upload(Driver.attributes(3, group: Driver.otherGroup))
        try driver.sync(Driver.otherGroup)
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.replyStaged()
        driver.reply(.committed(numberUploadsTransferred: 1))
        // A closed queue is sent without a request.
        driver.replyIndex()
        driver.replyStaged()
        driver.reply(.committed(numberUploadsTransferred: 2))

        #expect(driver.fileUploads.map(\.fileUUID) == [1, 3, 2].map(Driver.file))
        #expect(driver.commits.map(\.sharingGroupUUID) == [Driver.otherGroup, Driver.group])
        #expect(!driver.engine.uploadsPending)
    }
}
