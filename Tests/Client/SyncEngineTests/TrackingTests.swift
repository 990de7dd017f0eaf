import SyncEngine
import SyncProtocol
import Testing

@Suite("Client tracking")
struct TrackingTests {
    @Test("Queues are closed in order, and the oldest is sent first")
    func queues() throws {
        var driver = try Driver.member()
        #expect(driver.engine.state.queues.isEmpty)
        #expect(driver.engine.groupOfOldestClosedQueue == nil)

        try driver.upload(Driver.attributes(1))
        let open = try #require(driver.engine.state.openQueue(of: Driver.group))
        #expect(driver.engine.state.items(in: open.id).map(\.fileUUID) == [Driver.file(1)])
        #expect(driver.engine.state.closedQueues().isEmpty)
        try driver.sync()
        try driver.upload(Driver.attributes(2))
        try driver.sync()
        #expect(driver.engine.state.closedQueues().first?.id == open.id)
        #expect(driver.engine.state.closedQueues().count == 2)
        #expect(driver.engine.groupOfOldestClosedQueue == Driver.group)
        #expect(driver.engine.state.openQueue(of: Driver.group) == nil)

        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.replyStaged()
        driver.reply(.committed(numberUploadsTransferred: 1))

        #expect(driver.engine.state.queues[open.id] == nil)
        let remaining = driver.engine.state.closedQueues().flatMap { driver.engine.state.items(in: $0.id) }
        #expect(remaining.map(\.fileUUID) == [Driver.file(2)])
    }

    @Test("A launch removes changes without a queue, and their copies")
    func leftovers() throws {
        var driver = try Driver.member()
        let location = LocalFileLocation(base: .library, path: "copy")
        driver.perform(
            try driver.engine.upload(
                UploadSource(location: location, isOwned: true), Driver.attributes(1), at: Driver.now))
        try driver.sync()
        let queue = try #require(driver.engine.state.closedQueues().first)
        driver.stored.queues[queue.id] = nil
        _ = driver.stored.takeChanges()

        driver.relaunch()

        #expect(driver.engine.state.items.isEmpty)
        #expect(
            driver.actions.contains { if case .removeFile(location) = $0 { true } else { false } })
    }
}
