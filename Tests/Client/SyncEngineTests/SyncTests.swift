import SyncEngine
import SyncProtocol
import Testing

@Suite("A sync, step by step")
struct SyncTests {
    @Test("With nothing to do, a sync starts and ends once")
    func nothing() throws {
        var driver = try Driver.member()
        let before = driver.events.count
        try driver.sync()
        driver.replyIndex()

        #expect(driver.events.dropFirst(before) == [.syncStarted, .syncDone])
        #expect(driver.engine.state.downloads.isEmpty)
    }

    @Test("A second request during a sync is delayed, then performed", arguments: [true, false])
    func delayed(isGroupOnly: Bool) throws {
        var driver = try Driver.member()
        let before = driver.events.count
        try driver.sync()
        try driver.sync(isGroupOnly ? nil : Driver.group)
        driver.replyIndex()
        driver.replyIndex()

        #expect(
            driver.events.dropFirst(before) == [.syncStarted, .syncDelayed, .syncDone, .syncStarted, .syncDone])
        #expect(!driver.engine.isSyncing)
    }

    @Test("The index is compared with the directory row by row")
    func difference() throws {
        var driver = try Driver.member()
        try driver.download(1)
        try driver.download(2, text: "old")
        try driver.download(3)
        driver.masterVersion = driver.masterVersion.next
        driver.rows = [
            Driver.row(1, version: 1), Driver.row(2, text: 1), Driver.row(3, deleted: true), Driver.row(4),
            Driver.row(5, deleted: true),
        ]
        try driver.sync()
        driver.replyIndex()

        let kinds = driver.engine.state.downloads.inOrder.map { "\($0.fileUUID.rawValue.last!) \($0.kind)" }
        #expect(kinds == ["1 file", "2 appMetaData", "3 deletion", "4 file"])
        #expect(driver.engine.state.directory[Driver.file(5)]?.deletedLocally == true)
        #expect(
            driver.events.last == .willStartDownloads(numberContentDownloads: 3, numberDownloadDeletions: 1))
        #expect(driver.engine.state.directory[Driver.file(1)]?.fileVersion == FileVersion(0))
    }

    @Test("Files of a file group are delivered together, others individually")
    func fileGroups() throws {
        let fileGroup = FileGroupUUID("55555555-0000-4000-8000-000000000001")
        var driver = try Driver.member()
        driver.rows = [Driver.row(1, fileGroup: fileGroup), Driver.row(2), Driver.row(3, fileGroup: fileGroup)]
        try driver.sync()
        driver.replyIndex()
        for _ in 1...2 {
            while case .downloadFile = driver.waiting?.request { driver.replyFile("f\(driver.requests.count)") }
            driver.takeDelivery()
        }

        #expect(driver.deliveries.map(\.count) == [2, 1])
        driver.replyIndex()
        #expect(!driver.engine.isSyncing)
        #expect(driver.engine.sharingGroups.first?.syncNeeded == false)
    }

    @Test("Two files are staged one after the other and committed together")
    func twoUploads() throws {
        var driver = try Driver.member()
        try driver.upload(Driver.attributes(1))
        try driver.upload(Driver.attributes(2, text: "t"))
        try driver.sync()
        #expect(driver.engine.uploadsPending)
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.replyStaged()
        #expect(driver.engine.state.directory[Driver.file(1)]?.fileVersion == nil)
        driver.replyStaged()
        driver.reply(.committed(numberUploadsTransferred: 2))

        #expect(!driver.engine.uploadsPending)
        #expect(driver.events.contains(.contentUploadsCompleted(numberOfFiles: 2)))
        #expect(
            driver.events.contains(
                .willStartUploads(
                    numberContentUploads: 2, numberUploadDeletions: 0, numberSharingGroupOperations: 0)))
        #expect(driver.engine.state.directory[Driver.file(2)]?.appMetaData?.version == .first)
        #expect(driver.engine.state.groups[Driver.group]?.masterVersion == MasterVersion(2))
        #expect(driver.engine.sharingGroups.first?.syncNeeded == false)
    }

    @Test("A stop between two uploads keeps the first one staged")
    func stop() throws {
        var driver = try Driver.member()
        try driver.upload(Driver.attributes(1))
        try driver.upload(Driver.attributes(2))
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.perform(driver.engine.stop())
        try driver.sync()
        driver.replyStaged()
        #expect(driver.events.suffix(2) == [.syncStopping, .syncDone])
        #expect(!driver.engine.isSyncing)

        try driver.sync()
        driver.replyIndex()

        #expect(driver.fileUploads.map(\.fileUUID) == [Driver.file(1), Driver.file(2)])
        driver.replyStaged()
        #expect(driver.commits.count == 1)
    }

    @Test("Stopping without a sync has no effect")
    func stopIdle() throws {
        var driver = try Driver.member()
        let before = driver.actions.count
        driver.perform(driver.engine.stop())
        #expect(driver.actions.count == before)
    }

    @Test("If the master version changed by the time of the commit, everything is staged again with the same versions")
    func staleCommit() throws {
        var driver = try Driver.member()
        try driver.upload(Driver.attributes(1))
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.replyStaged()
        driver.masterVersion = MasterVersion(5)
        driver.reply(.stale(current: MasterVersion(5)))
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.replyStaged()
        driver.reply(.committed(numberUploadsTransferred: 1))

        #expect(driver.fileUploads.map(\.fileVersion) == [.first, .first])
        #expect(driver.commits.map(\.masterVersion) == [MasterVersion(1), MasterVersion(5)])
        #expect(driver.engine.state.directory[Driver.file(1)]?.fileVersion == .first)
    }

    @Test("Endless changes by others delay the sync, then end it with an error; a later sync recovers")
    func livelock() throws {
        var driver = try Driver.member()
        try driver.upload(Driver.attributes(1))
        try driver.sync()
        var waits = 0
        while driver.engine.isSyncing {
            if let token = driver.asked {
                driver.asked = nil
                waits += 1
                driver.perform(driver.engine.handle(.waited(token), at: Driver.now))
            }
            driver.replyIndex()
            if case .getUploads = driver.waiting?.request { driver.reply(.uploads([])) }
            driver.masterVersion = driver.masterVersion.next
            driver.reply(.stale(current: driver.masterVersion))
        }

        #expect(waits == SyncStateMachine.maximumRestarts - SyncStateMachine.restartsWithoutWaiting)
        #expect(driver.errors == [.tooManyRestarts])
        #expect(driver.engine.uploadsPending)
    }

    @Test("Downloaded files are not fetched again after the master version changed")
    func keptBytes() throws {
        let fileGroup = FileGroupUUID("55555555-0000-4000-8000-000000000001")
        var driver = try Driver.member()
        driver.rows = [Driver.row(1, fileGroup: fileGroup), Driver.row(2, fileGroup: fileGroup)]
        try driver.sync()
        driver.replyIndex()
        driver.replyFile("first")
        driver.masterVersion = MasterVersion(9)
        driver.reply(.stale(current: MasterVersion(9)))
        #expect(driver.engine.state.downloads.isEmpty)
        driver.replyIndex()

        #expect(
            driver.waiting?.request
                == .downloadFile(
                    Driver.file(2), .first, nil, masterVersion: MasterVersion(9), sharingGroupUUID: Driver.group))
        driver.replyFile("second")
        #expect(driver.deliveries.last?.count == 2)
        #expect(driver.engine.state.transfers.isEmpty)
    }

    @Test("An unacknowledged delivery is repeated before anything else")
    func redelivery() throws {
        var driver = try Driver.member()
        driver.rows = [Driver.row(1)]
        try driver.sync()
        driver.replyIndex()
        driver.replyFile()
        driver.relaunch()
        try driver.sync()

        #expect(driver.deliveries.count == 2)
        #expect(driver.requests.filter { if case .downloadFile = $0 { true } else { false } }.count == 1)
    }

    @Test("A staged change unknown to the client is withdrawn before a commit")
    func unknownStaged() throws {
        var driver = try Driver.member()
        try driver.upload(Driver.attributes(1))
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([Driver.row(2, version: 4)]))

        #expect(driver.waiting?.request == .discardUploads(Driver.group, [Driver.file(2)]))
        driver.reply(.done)
        driver.reply(.uploads([]))
        #expect(driver.fileUploads.count == 1)
    }

    @Test("A staged upload of another version does not count as the client's")
    func otherVersionStaged() throws {
        var driver = try Driver.member()
        try driver.upload(Driver.attributes(1))
        try driver.upload(Driver.attributes(2))
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.replyStaged()
        driver.relaunch()
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([Driver.row(1, version: 3)]))
        driver.reply(.done)
        driver.reply(.uploads([]))

        #expect(driver.fileUploads.last?.fileUUID == Driver.file(1))
    }

    @Test("The client reports a server without DiscardUploads")
    func cannotWithdraw() throws {
        var driver = try Driver.member(capabilities: .none)
        try driver.upload(Driver.attributes(1))
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([Driver.row(2, version: 4)]))

        #expect(driver.errors == [.stagedChangesCannotBeWithdrawn])
        #expect(driver.engine.uploadsPending)
    }

    @Test("An upload without a storage waits, and is not committed alone")
    func refusedUpload() throws {
        var driver = try Driver.member()
        try driver.upload(Driver.attributes(1))
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.reply(.gone(.authTokenExpiredOrRevoked, appMetaData: nil, nil))

        #expect(driver.commits.isEmpty)
        #expect(driver.engine.uploadsPending && !driver.engine.isSyncing)
        #expect(driver.events.contains { if case .singleFileUploadWaiting = $0 { true } else { false } })
        #expect(!driver.events.contains { if case .singleFileUploadComplete = $0 { true } else { false } })
    }

    @Test(
        "Every failure ends the sync with one error, and a later sync continues",
        arguments: [
            RequestFailure.unreachable, .serverDown(message: "closed"), .refused(status: 500, code: "internal"),
            .signInRequired,
        ])
    func failures(failure: RequestFailure) throws {
        var driver = try Driver.member()
        try driver.upload(Driver.attributes(1))
        try driver.sync()
        driver.replyIndex()
        driver.reply(.failed(failure))

        #expect(!driver.engine.isSyncing)
        #expect(driver.errors.count == 1)
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.replyStaged()
        driver.reply(.committed(numberUploadsTransferred: 1))
        #expect(!driver.engine.uploadsPending)
    }

    @Test("A server that is too old blocks all syncs")
    func tooOld() throws {
        var driver = try Driver.member()
        try driver.sync()
        driver.reply(.failed(.serverTooOld))
        let requests = driver.requests.count
        try driver.sync()

        #expect(driver.errors == [.badServerVersion, .badServerVersion])
        #expect(driver.requests.count == requests)
        #expect(!driver.engine.isSyncing)
    }

    @Test("A newly created group survives a list of groups that does not contain it yet")
    func createdGroup() throws {
        var driver = try Driver.member()
        let group = SharingGroupUUID("11111111-0000-4000-8000-000000000002")!
        driver.perform(try driver.engine.createSharingGroup(group, name: "New", at: Driver.now))
        try driver.sync(nil)
        driver.replyIndex()
        #expect(driver.engine.sharingGroups.count == 2)

        try driver.sync(group)
        #expect(driver.waiting?.request == .createSharingGroup(group, name: "New"))
        driver.reply(.done)

        #expect(!driver.engine.uploadsPending)
        #expect(driver.commits.isEmpty)
    }

    @Test("After a lost reply, the list shows that a group was created, and others' changes in it since")
    func listedCreation() throws {
        var driver = try Driver.member()
        let group = SharingGroupUUID("11111111-0000-4000-8000-000000000002")!
        driver.perform(try driver.engine.createSharingGroup(group, name: "New", at: Driver.now))
        try driver.sync(group)
        driver.reply(.failed(.unreachable))
        driver.groups.append(group)
        driver.masterVersion = MasterVersion(7)

        try driver.sync(nil)
        driver.replyIndex()

        #expect(driver.engine.sharingGroups.first { $0.sharingGroupUUID == group }?.syncNeeded == true)
        try driver.sync(group)
        driver.replyIndex()
        driver.reply(.uploads([]))
        #expect(driver.commits.isEmpty)
        #expect(!driver.engine.uploadsPending)
        #expect(driver.engine.sharingGroups.allSatisfy { $0.sharingGroupUUID != group || !$0.syncNeeded })
    }

    @Test("A list does not create a group that is not closed yet")
    func listedBeforeCreation() throws {
        var driver = try Driver.member()
        let group = SharingGroupUUID("11111111-0000-4000-8000-000000000002")!
        driver.perform(try driver.engine.createSharingGroup(group, name: "New", at: Driver.now))
        driver.groups.append(group)

        try driver.sync(nil)
        driver.replyIndex()

        #expect(driver.engine.state.violations().isEmpty)
        try driver.sync(group)
        #expect(driver.waiting?.request == .createSharingGroup(group, name: "New"))
    }

    @Test("A group that is no longer listed is lost: its queues are dead, and reported once")
    func lostGroup() throws {
        var driver = try Driver.member()
        try driver.upload(Driver.attributes(1))
        try driver.sync()
        driver.reply(.failed(.refused(status: 404, code: "group_unknown")))

        #expect(driver.errors == [.notAMember])
        #expect(driver.engine.sharingGroups.isEmpty)
        #expect(!driver.engine.uploadsPending)
        #expect(refusal { try driver.sync() } == .notAMember)
    }

    @Test(
        "A reset is rejected during a sync; otherwise it leaves nothing behind", arguments: [ResetType.tracking, .all])
    func reset(type: ResetType) throws {
        var driver = try Driver.member()
        try driver.download(1)
        try driver.upload(Driver.attributes(2))
        try driver.sync()
        #expect(refusal { _ = try driver.engine.reset(type, at: Driver.now) } == .syncIsOperating)
        driver.reply(.failed(.unreachable))
        driver.perform(try driver.engine.reset(type, at: Driver.now))

        #expect(driver.engine.state.items.isEmpty)
        #expect(driver.engine.state.directory.count == (type == .all ? 0 : 1))
        #expect(driver.engine.state.groups.count == (type == .all ? 0 : 1))
    }

    @Test("The app's files are compared with the directory")
    func consistency() throws {
        var driver = try Driver.member()
        try driver.download(1)
        try driver.download(2)

        let results = driver.engine.localConsistencyCheck(clientFiles: [Driver.file(1), Driver.file(3)])

        #expect(results?.clientMissingNotDeleted == [Driver.file(2)])
        #expect(results?.directoryMissing == [Driver.file(3)])
    }
}

@Suite("A commit whose reply was lost")
struct LostCommitTests {
    private func lost(_ capabilities: ServerCapabilities) throws -> Driver {
        var driver = try Driver.member(capabilities: capabilities)
        try driver.upload(Driver.attributes(1))
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.replyStaged()
        driver.reply(.failed(.unreachable))
        driver.relaunch(capabilities: capabilities)
        try driver.sync()
        if capabilities.commitID { driver.replyIndex() }
        return driver
    }

    @Test("A commit is repeated unchanged if the server recognises it")
    func replay() throws {
        var driver = try lost(.withoutBatches)

        #expect(driver.commits.count == 2)
        #expect(driver.commits.first == driver.commits.last)
        driver.reply(.committed(numberUploadsTransferred: 1))
        #expect(!driver.engine.uploadsPending)
        #expect(driver.engine.state.directory[Driver.file(1)]?.fileVersion == .first)
    }

    @Test(
        "The commit is found in the index, without downloading or asking about our own file", arguments: [true, false])
    func detection(hasExtensions: Bool) throws {
        var driver = try lost(hasExtensions ? .withoutBatches : .none)
        driver.masterVersion = MasterVersion(2)
        driver.rows = [Driver.row(1, device: Driver.device)]
        if hasExtensions { driver.reply(.stale(current: MasterVersion(2))) }
        driver.replyIndex()

        #expect(driver.contentConflicts.isEmpty)
        #expect(driver.deliveries.isEmpty)
        #expect(driver.fileUploads.count == 1)
        #expect(!driver.engine.uploadsPending)
        #expect(!driver.engine.isSyncing)
    }

    @Test("The commit is sent again if it did not take place")
    func notCommitted() throws {
        var driver = try lost(.none)
        driver.replyIndex()
        driver.reply(.uploads([Driver.row(1, device: Driver.device)]))
        driver.reply(.committed(numberUploadsTransferred: 1))
        #expect(driver.commits.count == 1 || driver.fileUploads.count == 2)
    }

    @Test("A commit that contained less than was staged does not count as complete")
    func partial() throws {
        var driver = try lost(.withoutBatches)
        driver.reply(.committed(numberUploadsTransferred: 0))
        driver.masterVersion = MasterVersion(2)
        driver.replyIndex()
        driver.reply(.uploads([]))

        #expect(driver.fileUploads.count == 2)
        #expect(driver.engine.uploadsPending)
    }
}
