import SyncEngine
import SyncProtocol
import Testing

@Suite("Eviction")
struct EvictionTests {
    @Test("An evicted file is not downloaded again until it is requested; its deletion arrives")
    func evicted() throws {
        var driver = try OnDemandTests.having(1)
        driver.perform(try driver.engine.evict(Driver.file(1)))
        driver.relaunch()
        #expect(try driver.engine.attributes(of: Driver.file(1)).isIndexOnly)
        #expect(
            driver.engine.localConsistencyCheck(clientFiles: [Driver.file(1)])?.clientHasEvicted == [Driver.file(1)])
        driver.rows = [Driver.row(1, version: 1)]
        driver.masterVersion = driver.masterVersion.next
        try driver.sync()
        driver.replyIndex()
        #expect(driver.fileDownloads.count == 1 && !driver.engine.isSyncing)
        #expect(OnDemandTests.entry(1, driver)?.fileVersion == FileVersion(1))

        try driver.request(1)
        try driver.sync()
        driver.replyIndex()
        driver.replyFile()
        driver.takeDelivery()
        driver.replyIndex()

        #expect(driver.deliveries.last?.first?.fileVersion == FileVersion(1))
        #expect(OnDemandTests.entry(1, driver)?.isIndexOnly == false)
    }

    @Test("Contents that the server does not have, or that are about to change, are never evicted")
    func notEvictable() throws {
        func evict(_ driver: Driver) -> SyncError.Code? {
            var driver = driver
            #expect(driver.engine.evict(of: nil, keeping: 0).files.isEmpty)
            return refusal { _ = try driver.engine.evict(Driver.file(1)) }
        }
        let having = try OnDemandTests.having(1)
        var new = having
        try new.upload(Driver.attributes(2), size: 5)
        #expect(refusal { _ = try new.engine.evict(Driver.file(2)) } == .contentsNotEvictable)
        var changed = having
        try changed.upload(Driver.attributes(1), size: 5)
        #expect(evict(changed) == .contentsNotEvictable)
        var texted = having
        try texted.uploadText(Driver.attributes(1, text: "t"))
        #expect(evict(texted) == .contentsNotEvictable)
        var requested = having
        try requested.request(1)
        #expect(evict(requested) == .contentsNotEvictable)
        var automatic = having
        try automatic.engine.setDownloadPolicy(.automatic, of: Driver.group)
        #expect(evict(automatic) == .contentsNotEvictable)
        var replaced = having
        replaced.rows = [Driver.row(1, version: 1)]
        replaced.masterVersion = replaced.masterVersion.next
        try replaced.sync()
        replaced.replyIndex()
        #expect(evict(replaced) == .contentsNotEvictable)
        var awaited = having
        awaited.rows = [Driver.row(1, owner: Driver.otherUser, awaits: true)]
        awaited.masterVersion = awaited.masterVersion.next
        try awaited.sync()
        awaited.replyIndex()
        #expect(evict(awaited) == .contentsNotEvictable)
        var deleted = having
        try deleted.delete(1)
        #expect(evict(deleted) == .contentsNotEvictable)
        var taken = try OnDemandTests.listing([Driver.row(1)])
        try taken.request(1)
        try taken.sync()
        taken.replyIndex()
        #expect(evict(taken) == nil)
        taken.replyFile()
        #expect(taken.asked != nil)
        #expect(evict(taken) == .contentsNotEvictable)
        var listed = try OnDemandTests.listing([Driver.row(1)])
        #expect(evict(listed) == nil)
        try listed.upload(Driver.attributes(1), size: 5)
        #expect(evict(listed) == .contentsNotEvictable)
    }

    @Test("The least recently used contents are evicted until the rest fits into the budget")
    func budget() throws {
        var driver = try OnDemandTests.listing((1...3).map { Driver.row($0) })
        for number in 1...3 { try driver.request(number) }
        try driver.sync()
        driver.replyIndex()
        for number in 1...3 {
            driver.replyFile("down\(number)")
            driver.takeDelivery(bytes: 100)
        }
        driver.replyIndex()
        try driver.upload(Driver.attributes(4), size: 50)
        try driver.sync()
        driver.finish()
        let later = WireDate(secondsSince1970: Driver.now.secondsSince1970 + 60)
        try driver.engine.noteUse(of: Driver.file(1), bytes: nil, at: later)
        try driver.engine.noteUse(of: Driver.file(2), bytes: 120, at: later)
        driver.perform([])
        driver.relaunch()

        // 100, 120, 100 and 50 bytes; the third and the fourth file were used first.
        var all = driver
        #expect(all.engine.evict(of: nil, keeping: 370).files.isEmpty)
        #expect(all.engine.evict(of: Driver.otherGroup, keeping: 0).files.isEmpty)
        #expect(all.engine.evict(of: Driver.group, keeping: 250).files == [3, 4].map { Driver.file($0) })
        #expect(all.engine.evict(of: Driver.group, keeping: 250).files.isEmpty)
        #expect(driver.engine.evict(of: nil, keeping: 0).files == [3, 4, 1, 2].map { Driver.file($0) })
        driver.perform([])
        #expect(driver.engine.state.directory.all.allSatisfy { $0.isIndexOnly && $0.contentBytes == nil })
    }
}
