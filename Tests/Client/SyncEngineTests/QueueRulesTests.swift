import SyncEngine
import SyncProtocol
import Testing

@Suite("Rules for queueing")
struct QueueRulesTests {
    let fileGroup = FileGroupUUID("55555555-0000-4000-8000-000000000001")

    @Test("An upload without a MIME type is rejected, and changes nothing")
    func noMimeType() throws {
        var driver = try Driver.member()
        let before = driver.engine.state
        var attributes = Driver.attributes(1)
        attributes.mimeType = nil

        #expect(refusal { try driver.upload(attributes) } == .noMimeType)
        #expect(driver.engine.state == before)
    }

    @Test("If a file is uploaded twice before a sync, the last upload counts")
    func replacement() throws {
        var driver = try Driver.member()

        try driver.upload(Driver.attributes(1), "first")
        try driver.upload(Driver.attributes(1), "second")

        #expect(driver.engine.state.items.inOrder.compactMap(\.source?.path) == ["second"])
        #expect(!driver.engine.uploadsPending)
    }

    @Test("If a file and its metadata are uploaded before a sync, the last upload counts", arguments: [true, false])
    func textAndFile(textLast: Bool) throws {
        var driver = try Driver.member()
        try driver.download(1)

        if textLast { try driver.upload(Driver.attributes(1)) }
        try driver.uploadText(Driver.attributes(1, text: "a"))
        if !textLast { try driver.upload(Driver.attributes(1)) }

        #expect(driver.engine.state.items.inOrder.map(\.kind) == [textLast ? .appMetaData : .file])
    }

    @Test("The next version keeps the MIME type and file group")
    func nextVersion() throws {
        var driver = try Driver.member()
        try driver.upload(Driver.attributes(1))
        try driver.upload(Driver.attributes(2, fileGroup: fileGroup))
        let other = FileGroupUUID("55555555-0000-4000-8000-000000000002")

        #expect(refusal { try driver.upload(Driver.attributes(1, mimeType: "image/jpeg")) } == .mimeTypeOfFileChanged)
        #expect(refusal { try driver.upload(Driver.attributes(1, fileGroup: fileGroup)) } == .fileGroupUUIDChanged)
        #expect(refusal { try driver.upload(Driver.attributes(2, fileGroup: other)) } == .fileGroupUUIDChanged)
        #expect(refusal { try driver.upload(Driver.attributes(2)) } == nil)
        #expect(refusal { try driver.upload(Driver.attributes(2, fileGroup: fileGroup)) } == nil)
    }

    @Test("Many uploads in one call are queued as if one after another")
    func uploadsTogether() throws {
        var (together, single) = (try Driver.member(), try Driver.member())
        let files = [1, 2, 1, 3].enumerated().map { (Driver.source("up\($0)"), Driver.attributes($1)) }

        together.perform(try together.engine.upload(files, at: Driver.now))
        for (source, attributes) in files {
            single.perform(try single.engine.upload(source, attributes, at: Driver.now))
        }

        #expect(together.engine.state == single.engine.state)
        #expect(together.engine.state.items.inOrder.compactMap(\.source?.path) == ["up1", "up2", "up3"])
    }

    @Test("If one of many uploads is refused, none is queued, and the error names the file")
    func refusedTogether() throws {
        var driver = try Driver.member(groups: [Driver.group, Driver.otherGroup])
        try driver.download(9)
        try driver.delete(9)
        try driver.upload(Driver.attributes(8))
        let before = driver.engine.state
        var (untyped, elsewhere) = (Driver.attributes(2), Driver.attributes(1))
        untyped.mimeType = nil
        elsewhere.sharingGroupUUID = Driver.otherGroup
        let refused: [(SyncAttributes, SyncError.Code)] = [
            (untyped, .noMimeType), (elsewhere, .sharingGroupUUIDInconsistent),
            (Driver.attributes(9), .fileQueuedForDeletion),
            (Driver.attributes(8, mimeType: "image/jpeg"), .mimeTypeOfFileChanged),
            (Driver.attributes(1, mimeType: "image/jpeg"), .mimeTypeOfFileChanged),
            (Driver.attributes(1, fileGroup: fileGroup), .fileGroupUUIDChanged),
        ]
        for (attributes, code) in refused {
            let files = [Driver.attributes(1), attributes, Driver.attributes(3)].map { (Driver.source("up"), $0) }
            let error = #expect(throws: SyncError.self) { try driver.engine.upload(files, at: Driver.now) }
            #expect(error?.code == code && error?.fileUUID == attributes.fileUUID)
            #expect(driver.engine.state == before && driver.engine.takeChanges().isEmpty)
        }
    }

    @Test("Metadata require a file that the server has, or will have by then")
    func textOfUnknownFile() throws {
        var driver = try Driver.member()

        #expect(refusal { try driver.uploadText(Driver.attributes(1, text: "a")) } == .couldNotFindFileUUID)
        try driver.upload(Driver.attributes(1))
        #expect(refusal { try driver.uploadText(Driver.attributes(1, text: "a")) } == .couldNotFindFileUUID)
        try driver.sync()
        #expect(refusal { try driver.uploadText(Driver.attributes(1, text: "a")) } == nil)
        #expect(refusal { try driver.uploadText(Driver.attributes(1)) } == .badAppMetaData)
    }

    @Test("Either all deletions of a call are queued, or none")
    func deletions() throws {
        var driver = try Driver.member()
        try driver.download(1)

        #expect(refusal { try driver.delete(1, 2) } == .deletingUnknownFile)
        #expect(driver.engine.state.items.isEmpty)
        #expect(refusal { try driver.delete(1, 1) } == .fileQueuedForDeletion)
        #expect(driver.engine.state.items.isEmpty)
    }

    @Test("After a file's deletion is queued, nothing else can be queued for it, even after its completion")
    func afterDeletion() throws {
        var driver = try Driver.member()
        try driver.download(1)
        try driver.delete(1)

        #expect(refusal { try driver.upload(Driver.attributes(1)) } == .fileQueuedForDeletion)
        #expect(refusal { try driver.uploadText(Driver.attributes(1, text: "a")) } == .fileQueuedForDeletion)
        #expect(refusal { try driver.delete(1) } == .fileQueuedForDeletion)

        try driver.sync()
        #expect(refusal { try driver.upload(Driver.attributes(1)) } == .fileQueuedForDeletion)
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.replyStaged()
        driver.reply(.committed(numberUploadsTransferred: 1))

        #expect(refusal { try driver.upload(Driver.attributes(1)) } == .fileAlreadyDeleted)
        #expect(refusal { try driver.uploadText(Driver.attributes(1, text: "a")) } == .fileAlreadyDeleted)
        #expect(refusal { try driver.delete(1) } == .fileAlreadyDeleted)
        #expect(driver.events.contains(.uploadDeletionsCompleted(numberOfFiles: 1)))
    }

    @Test("Deleting a file that was never closed leaves nothing to send")
    func deletedBeforeSync() throws {
        var driver = try Driver.member()
        try driver.upload(Driver.attributes(1))

        try driver.delete(1)

        #expect(driver.engine.state.items.isEmpty)
        #expect(driver.engine.state.directory[Driver.file(1)]?.deletedLocally == true)
    }

    @Test("Each sharing group has its own queue, which a sync of the group closes")
    func groups() throws {
        var driver = try Driver.member()
        let other = SharingGroupUUID("11111111-0000-4000-8000-000000000002")!
        #expect(refusal { try driver.upload(Driver.attributes(1, group: other)) } == .unknownSharingGroup)
        #expect(refusal { try driver.sync(other) } == .unknownSharingGroup)
        try driver.upload(Driver.attributes(2))
        driver.perform(try driver.engine.createSharingGroup(other, name: nil, at: Driver.now))

        #expect(
            refusal { _ = try driver.engine.createSharingGroup(other, name: nil, at: Driver.now) }
                == .sharingGroupExists)
        try driver.upload(Driver.attributes(1, group: other))
        #expect(driver.engine.state.openGroups == [Driver.group, other])
        try driver.sync(other)
        #expect(driver.engine.state.openGroups == [Driver.group])
        #expect(driver.engine.groupOfOldestClosedQueue == other)
        // A file belongs to one group.
        #expect(refusal { try driver.upload(Driver.attributes(1)) } == .sharingGroupUUIDInconsistent)
        #expect(refusal { try driver.delete(1, 2) } == .sharingGroupUUIDInconsistent)
    }

    @Test("Queued changes and departures block only their own group")
    func independentGroups() throws {
        var driver = try Driver.member(groups: [Driver.group, Driver.otherGroup])
        driver.perform(try driver.engine.removeFromSharingGroup(Driver.otherGroup, at: Driver.now))
        try driver.upload(Driver.attributes(1))
        #expect(
            refusal { _ = try driver.engine.removeFromSharingGroup(Driver.group, at: Driver.now) }
                == .openQueueNotEmpty)

        try driver.sync()
        driver.finish()

        #expect(driver.events.contains(.contentUploadsCompleted(numberOfFiles: 1)))
        #expect(driver.engine.state.openGroups == [Driver.otherGroup])
    }

    @Test("Open queues of several groups survive the process, and are sent one by one")
    func openQueuesAfterRelaunch() throws {
        var driver = try Driver.member(groups: [Driver.group, Driver.otherGroup])
        try driver.upload(Driver.attributes(1))
        try driver.upload(Driver.attributes(2, group: Driver.otherGroup))
        try driver.upload(Driver.attributes(3))
        driver.relaunch()
        #expect(driver.engine.state.openGroups == [Driver.group, Driver.otherGroup])

        try driver.sync(Driver.otherGroup)
        try driver.sync()
        driver.finish()

        #expect(driver.commits.map(\.sharingGroupUUID) == [Driver.otherGroup, Driver.group])
        #expect(driver.engine.state.queues.isEmpty)
    }

    @Test(
        "A sync that fails for a reason specific to its group does not drop the requests or the queues of other groups")
    func failureOfOneGroup() throws {
        let groups = [Driver.group, Driver.otherGroup]
        var driver = try Driver.member(groups: groups)
        for (number, group) in zip([1, 2], groups) { try driver.upload(Driver.attributes(number, group: group)) }
        try driver.sync()
        try driver.sync(Driver.otherGroup)
        try driver.sync()

        driver.reply(.failed(.refused(status: 400, code: nil)))

        // The failed group's second request ends with the first.
        #expect(driver.errors == [.requestRefused])
        #expect(driver.failedSyncs == [Driver.group])
        #expect(driver.engine.isSyncing)
        driver.finish()
        #expect(driver.commits.map(\.sharingGroupUUID) == [Driver.otherGroup])
        #expect(!driver.engine.isSyncing)
        // Its queue waits for the app's next request, or the next launch.
        #expect(driver.engine.groupOfOldestClosedQueue == Driver.group)
        try driver.sync()
        driver.finish()
        #expect(!driver.engine.uploadsPending)
    }

    @Test("A failure that concerns all groups ends all requests")
    func failureOfAllGroups() throws {
        var driver = try Driver.member(groups: [Driver.group, Driver.otherGroup])
        try driver.sync()
        try driver.sync(Driver.otherGroup)

        driver.reply(.failed(.unreachable))

        #expect(driver.errors == [.networkError])
        #expect(driver.failedSyncs.isEmpty && !driver.engine.isSyncing)
    }

    @Test("While leaving a group is queued, nothing else can be queued for it, including a second departure")
    func leaving() throws {
        var driver = try Driver.member()
        driver.perform(try driver.engine.removeFromSharingGroup(Driver.group, at: Driver.now))

        #expect(refusal { _ = try driver.engine.removeFromSharingGroup(Driver.group, at: Driver.now) } == .notAMember)
        #expect(refusal { try driver.upload(Driver.attributes(1)) } == .openQueueNotEmpty)
        #expect(driver.engine.sharingGroups.isEmpty)
        try driver.sync()
        driver.replyIndex()
        #expect(driver.waiting?.request == .removeUserFromSharingGroup(Driver.group, masterVersion: MasterVersion(1)))
        driver.reply(.done)
        #expect(refusal { _ = try driver.engine.removeFromSharingGroup(Driver.group, at: Driver.now) } == .notAMember)
        #expect(refusal { try driver.upload(Driver.attributes(1)) } == .notAMember)
        #expect(!driver.engine.isSyncing)
        #expect(driver.errors.isEmpty)
    }

    @Test("A later name replaces an earlier one that is not closed")
    func names() throws {
        var driver = try Driver.member()
        driver.perform(try driver.engine.updateSharingGroup(Driver.group, newName: "a", at: Driver.now))
        driver.perform(try driver.engine.updateSharingGroup(Driver.group, newName: "b", at: Driver.now))
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))

        #expect(driver.commits.map(\.sharingGroupName) == ["b"])
        driver.reply(.committed(numberUploadsTransferred: 0))
        #expect(driver.engine.sharingGroups.map(\.sharingGroupName) == ["b"])
    }

    @Test("A requested download is performed once, with the same version")
    func wish() throws {
        var driver = try Driver.member()
        try driver.download(1)
        #expect(refusal { try driver.engine.requestDownload(of: Driver.file(2)) } == .couldNotFindFileUUID)
        try driver.engine.requestDownload(of: Driver.file(1))
        try driver.sync()
        #expect(driver.waiting?.request == .index(.init(sharingGroupUUID: Driver.group, since: nil)))
        driver.replyIndex()
        driver.replyFile("again")
        driver.takeDelivery()
        driver.replyIndex()

        #expect(driver.deliveries.count == 2)
        #expect(!driver.engine.isSyncing)
    }
}
