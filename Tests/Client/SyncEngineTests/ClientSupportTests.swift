import SyncEngine
import SyncProtocol
import Testing

@Suite("Engine functions used by the library's class")
struct ClientSupportTests {
    private static let merged = UploadSource(location: LocalFileLocation(base: .library, path: "merged"), isOwned: true)

    /// A client that is asked about a download that conflicts with its own upload.
    private func asked() throws -> Driver {
        var driver = try Driver.member()
        try driver.download(1)
        try driver.upload(Driver.attributes(1, text: "mine"), "mine")
        driver.rows[0] = Driver.row(1, version: 1)
        driver.masterVersion = MasterVersion(9)
        try driver.sync()
        driver.replyIndex()
        driver.replyFile("theirs")
        return driver
    }

    private func merge(_ driver: inout Driver, _ token: EngineToken, text: String? = nil) throws {
        let actions = driver.engine.mergeConflict(token, Self.merged, appMetaData: text, at: Driver.now)
        driver.perform(try #require(actions))
    }

    @Test("A merge drops the local upload and queues the merged file in one step, without a sync by the app")
    func merge() throws {
        var driver = try asked()
        #expect(driver.engine.pendingContent(of: Driver.file(1)).file?.path == "mine")
        #expect(driver.engine.pendingContent(of: Driver.file(1)).appMetaData == "mine")
        let token = try #require(driver.asked)

        try merge(&driver, token, text: "both")
        driver.replyIndex()
        if case .getUploads = driver.waiting?.request { driver.reply(.uploads([])) }

        #expect(driver.deliveries.count == 1, "only the first version")
        #expect(driver.fileUploads.map(\.source.path) == ["merged"])
        #expect(driver.fileUploads.map(\.fileVersion) == [FileVersion(2)])
        #expect(driver.fileUploads.first?.appMetaData?.contents == "both")
        // The question is answered: a second merge changes nothing.
        let second = driver.engine.mergeConflict(token, Self.merged, appMetaData: nil, at: Driver.now)
        #expect(second == nil)
    }

    @Test("Changes that the app queues during the merge are sent after the merged file")
    func queuedWhileMerging() throws {
        var driver = try asked()
        try driver.upload(Driver.attributes(2), "open")
        try driver.upload(Driver.attributes(1), "newer")
        let token = try #require(driver.asked)
        try merge(&driver, token)

        try driver.sync()

        let order = driver.engine.state.closedQueues().map { queue in
            driver.engine.state.items(in: queue.id).compactMap(\.source?.path)
        }
        #expect(order == [["merged"], ["open", "newer"]])
    }

    @Test("A merge survives the end of the process")
    func mergeThenRelaunch() throws {
        var driver = try asked()
        let token = try #require(driver.asked)
        try merge(&driver, token)

        driver.relaunch()

        #expect(driver.engine.uploadsPending)
        #expect(driver.engine.pendingContent(of: Driver.file(1)).file?.path == "merged")
    }

    @Test("Closed queues are sent without closing the open one; without any, or during a sync, nothing happens")
    func resume() throws {
        var driver = try Driver.member()
        let before = driver.engine.resumePendingUploads(at: Driver.now)
        #expect(before.isEmpty)
        try driver.upload(Driver.attributes(1), "closed")
        try driver.engine.closeQueue(of: Driver.group, at: Driver.now)
        #expect(driver.engine.uploadsPending && !driver.engine.isSyncing)
        try driver.upload(Driver.attributes(2), "open")

        driver.perform(driver.engine.resumePendingUploads(at: Driver.now))
        #expect(driver.engine.isSyncing)
        let during = driver.engine.resumePendingUploads(at: Driver.now)
        #expect(during.isEmpty)
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.replyStaged()
        driver.reply(.committed(numberUploadsTransferred: 1))

        #expect(driver.fileUploads.map(\.source.path) == ["closed"])
        #expect(!driver.engine.isSyncing && !driver.engine.uploadsPending)
    }

    @Test("Downloads that the app has moved away are fetched again; others are delivered as they are")
    func missingFiles() throws {
        var driver = try Driver.member(of: [Driver.row(1), Driver.row(2)])
        try driver.sync()
        driver.replyIndex()
        driver.replyFile("one")
        let token = try #require(driver.asked)
        driver.perform(driver.engine.handle(.delivered(token, taken: false), at: Driver.now))
        #expect(driver.errors == [.deliveryRefused])

        driver.engine.forgetMissingFiles { $0.path == "one" }
        driver.perform([])
        try driver.sync()

        guard case .downloadFile(let file, _, _, _, _) = driver.waiting?.request else {
            Issue.record("expected a download")
            return
        }
        #expect(file == Driver.file(1))
    }

    @Test("While syncs are blocked, each fails with the same error, and queued changes are kept")
    func blocked() throws {
        var driver = try Driver.member()
        try driver.upload(Driver.attributes(1))
        driver.engine.block(with: SyncError(.differentUser))

        try driver.sync()
        #expect(driver.errors == [.differentUser] && driver.waiting == nil && driver.engine.uploadsPending)
        let resumed = driver.engine.resumePendingUploads(at: Driver.now)
        #expect(resumed.isEmpty)

        driver.engine.block(with: nil)
        try driver.sync()
        #expect(driver.waiting != nil)
    }

    @Test("A different user than expected ends the sync, and blocks the following ones")
    func differentUser() throws {
        var driver = try Driver.member()
        try driver.sync()
        driver.reply(.failed(.differentUser))
        try driver.sync()
        #expect(driver.errors == [.differentUser, .differentUser] && driver.waiting == nil)
        #expect(SyncError(.differentUser).recovery == .signInAgain)
    }

    @Test("A new user's group is available immediately, without a sync")
    func ownGroup() throws {
        var driver = Driver()
        driver.engine.addOwnGroup(Driver.group, name: "Family")
        driver.perform([])
        #expect(driver.engine.sharingGroups.map(\.permission) == [.admin])
        #expect(driver.engine.sharingGroups.map(\.syncNeeded) == [false])
    }

    @Test(
        "Contents that arrived while no process ran are used in their turn; those of another version are not",
        arguments: [0, 1])
    func unattendedDownload(version: Int32) throws {
        var driver = try Driver.member(of: [Driver.row(1, version: 1)])
        let kept = LocalFileLocation(base: .library, path: "kept")
        let arrived = ServerReply.FileDownload(
            location: kept, appMetaData: nil, cloudStorageType: .google, contentsChanged: false)
        for _ in 0..<2 {
            driver.perform(
                driver.engine.keepDownload(arrived, of: Driver.file(1), FileVersion(version), nil, at: Driver.now))
        }

        try driver.sync()
        driver.replyIndex()

        if version == 1 {
            #expect(driver.deliveries.first?.first?.kind == .file(kept, contentsChanged: false))
        } else {
            guard case .downloadFile = driver.waiting?.request else {
                Issue.record("expected a download")
                return
            }
        }
    }

    @Test("Unused downloads are kept for five days")
    func oldTransfers() throws {
        var driver = try Driver.member()
        let arrived = ServerReply.FileDownload(
            location: LocalFileLocation(base: .library, path: "kept"), appMetaData: nil, cloudStorageType: .google,
            contentsChanged: false)
        driver.perform(driver.engine.keepDownload(arrived, of: Driver.file(1), .first, nil, at: Driver.now))
        let days = { (count: Int64) in WireDate(secondsSince1970: Driver.now.secondsSince1970 + count * 86_400) }

        driver.perform(driver.engine.launch(at: days(5)))
        #expect(driver.engine.state.transfers.count == 1)
        driver.perform(driver.engine.launch(at: days(6)))
        #expect(driver.engine.state.transfers.isEmpty)
        #expect(
            driver.actions.contains {
                if case .removeFile(arrived.location) = $0 { true } else { false }
            })
    }

    @Test(
        "An upload that arrived while no process ran is not sent again if the server has it", arguments: [true, false])
    func unattendedUpload(isStaged: Bool) throws {
        var driver = try Driver.member()
        try driver.upload(Driver.attributes(1))
        try driver.engine.closeQueue(of: Driver.group, at: Driver.now)
        driver.perform([])
        driver.relaunch()
        // Another version, or one with metadata, would be a different upload.
        driver.perform(driver.engine.noteStaged(Driver.file(1), FileVersion(1), nil))
        driver.perform(driver.engine.noteStaged(Driver.file(1), .first, .first))
        #expect(driver.engine.state.items.all.allSatisfy { $0.status == .notStarted })
        driver.perform(driver.engine.noteStaged(Driver.file(1), .first, nil))

        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads(isStaged ? [Driver.row(1, device: Driver.device)] : []))

        #expect(driver.fileUploads.count == (isStaged ? 0 : 1))
        #expect(driver.commits.count == (isStaged ? 1 : 0))
    }
}
