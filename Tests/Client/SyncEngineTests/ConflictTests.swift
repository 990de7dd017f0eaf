import SyncEngine
import SyncProtocol
import Testing

/// The pending local work of a case.
enum LocalWork: String, CaseIterable, Sendable {
    case nothing, file, fileWithText, text, deletion, contentAndDeletion
}

/// The change by another device.
enum ServerChange: String, CaseIterable, Sendable {
    case file, fileWithText, text
}

@Suite("Conflicts")
struct ConflictTests {
    /// A device with local work on file 1 that conflicts with a change by another device; the download is complete.
    private func clash(_ local: LocalWork, _ change: ServerChange) throws -> Driver {
        var driver = try Driver.member()
        try driver.download(1, text: "old")
        try queue(local, &driver)
        driver.masterVersion = driver.masterVersion.next
        driver.rows = [
            Driver.row(1, version: change == .text ? 0 : 1, text: change == .file ? 0 : 1)
        ]
        try driver.sync()
        driver.replyIndex()
        if change == .text {
            driver.reply(.appMetaDataDownloaded("theirs"))
        } else {
            driver.replyFile("theirs", text: change == .file ? "old" : "theirs")
        }
        return driver
    }

    private func queue(_ local: LocalWork, _ driver: inout Driver) throws {
        switch local {
        case .nothing: break
        case .file: try driver.upload(Driver.attributes(1))
        case .fileWithText: try driver.upload(Driver.attributes(1, text: "mine"))
        case .text: try driver.uploadText(Driver.attributes(1, text: "mine"))
        case .deletion: try driver.delete(1)
        case .contentAndDeletion:
            // Closed before the deletion, so both are pending. The sync fails.
            try driver.upload(Driver.attributes(1))
            try driver.sync()
            driver.reply(.failed(.unreachable))
            try driver.delete(1)
        }
    }

    private static let types: [LocalWork: ConflictingClientOperation] = [
        .file: .contentUpload(.file), .fileWithText: .contentUpload(.both), .text: .contentUpload(.appMetaData),
        .deletion: .uploadDeletion, .contentAndDeletion: .both,
    ]

    @Test(
        "Each kind of local work conflicts with each change of contents", arguments: LocalWork.allCases,
        ServerChange.allCases)
    func kinds(local: LocalWork, change: ServerChange) throws {
        let driver = try clash(local, change)

        guard let type = Self.types[local] else {
            #expect(driver.contentConflicts.isEmpty)
            #expect(driver.deliveries.count == 2)
            return
        }
        let location = LocalFileLocation(base: .library, path: "theirs")
        #expect(driver.contentConflicts.map(\.conflictType) == [type])
        #expect(
            driver.contentConflicts.first?.download
                == (change == .file ? .file(location) : change == .text ? .appMetaData : .both(location)))
        #expect(driver.contentConflicts.first?.attributes.fileUUID == Driver.file(1))
        #expect(driver.contentConflicts.first?.attributes.mimeType == MIMEType("text/plain"))
        #expect(driver.deliveries.count == 1)
    }

    @Test(
        "Accepting drops the local work and delivers the change",
        arguments: LocalWork.allCases.dropFirst(), ServerChange.allCases)
    func accept(local: LocalWork, change: ServerChange) throws {
        var driver = try clash(local, change)

        driver.answer(.acceptContentDownload)
        driver.takeDelivery()
        driver.replyIndex()

        #expect(driver.deliveries.count == 2)
        #expect(driver.engine.state.items.isEmpty)
        #expect(driver.fileUploads.isEmpty)
        #expect(!driver.engine.isSyncing)
        #expect(driver.engine.state.directory[Driver.file(1)]?.fileVersion == FileVersion(change == .text ? 0 : 1))
    }

    @Test("Rejecting keeps exactly what the app asks to keep", arguments: LocalWork.allCases.dropFirst(), 0...3)
    func reject(local: LocalWork, bits: Int) throws {
        var driver = try clash(local, .file)
        let kept = UploadResolution(rawValue: bits)
        let before = driver.engine.state.items.inOrder.map(\.kind)

        driver.answer(.rejectContentDownload(kept))

        let expected = before.filter { kind in
            kept.contains(kind == .deletion ? .keepUploadDeletions : .keepContentUploads)
        }
        #expect(driver.deliveries.count == 1)
        #expect(driver.engine.state.items.inOrder.map(\.kind) == expected)
        #expect(driver.engine.state.directory[Driver.file(1)]?.fileVersion == FileVersion(1))
    }

    @Test("Kept uploads are sent as the version after the rejected one, followed by the deletion")
    func keptVersions() throws {
        var driver = try clash(.contentAndDeletion, .file)
        driver.answer(.rejectContentDownload(.keepAll))
        driver.replyIndex()
        driver.reply(.uploads([]))

        #expect(driver.fileUploads.map(\.fileVersion) == [FileVersion(2)])
        driver.replyStaged()
        driver.reply(.committed(numberUploadsTransferred: 1))
        driver.masterVersion = driver.masterVersion.next
        driver.rows = [Driver.row(1, version: 2, text: 0, device: Driver.device)]
        driver.replyIndex()
        #expect(
            driver.waiting?.request
                == .uploadDeletion(
                    Driver.file(1), FileVersion(2), masterVersion: driver.masterVersion,
                    sharingGroupUUID: Driver.group))
    }

    @Test("An upload queued while the app decides survives the removal of all uploads")
    func queuedWhileAsked() throws {
        var driver = try clash(.file, .file)
        try driver.upload(Driver.attributes(1), "merged")
        driver.answer(.rejectContentDownload(.removeAll))

        #expect(driver.engine.state.items.inOrder.compactMap(\.source?.path) == ["merged"])
        #expect(driver.errors.isEmpty)
    }

    @Test("Without an answer the sync ends, and the next one asks again")
    func deferred() throws {
        var driver = try clash(.file, .file)
        driver.answer(nil)
        #expect(!driver.engine.isSyncing)
        #expect(driver.engine.uploadsPending)

        try driver.sync()

        #expect(driver.contentConflicts.count == 2)
        #expect(driver.deliveries.count == 1)
    }

    @Test("After a relaunch, an open question is repeated and an answered one is not", arguments: [true, false])
    func relaunch(isAnswered: Bool) throws {
        var driver = try clash(.file, .file)
        if isAnswered { driver.answer(.acceptContentDownload) }

        driver.relaunch()
        try driver.sync()

        #expect(driver.contentConflicts.count == (isAnswered ? 1 : 2))
        #expect(driver.deliveries.count == (isAnswered ? 3 : 1))
        #expect(driver.engine.state.items.count == 1)
    }

    @Test("An unavailable file raises no conflict, and its uploads wait")
    func gone() throws {
        var driver = try Driver.member()
        try driver.download(1)
        try driver.upload(Driver.attributes(1))
        driver.masterVersion = driver.masterVersion.next
        driver.rows = [Driver.row(1, version: 1)]
        try driver.sync()
        driver.replyIndex()
        driver.reply(.gone(.fileRemovedOrRenamed, appMetaData: nil, .google))
        #expect(driver.deliveries.last?.map(\.kind) == [.fileGone])
        driver.takeDelivery()
        driver.replyIndex()

        #expect(driver.contentConflicts.isEmpty)
        #expect(driver.fileUploads.isEmpty)
        #expect(driver.engine.uploadsPending)
        #expect(!driver.engine.isSyncing)
        #expect(refusal { try driver.upload(Driver.attributes(1)) } == .fileIsGone)

        try driver.sync(reAttemptGone: true)
        driver.replyIndex()
        driver.replyFile("back")
        #expect(driver.contentConflicts.count == 1)
    }

    @Test("An unavailable file can be deleted, with its pending uploads")
    func deleteGone() throws {
        var driver = try Driver.member()
        driver.rows = [Driver.row(1, version: 3)]
        try driver.sync()
        driver.replyIndex()
        driver.reply(.gone(.authTokenExpiredOrRevoked, appMetaData: nil, .google))
        driver.takeDelivery()
        driver.replyIndex()

        try driver.delete(1)
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))

        #expect(
            driver.waiting?.request
                == .uploadDeletion(
                    Driver.file(1), FileVersion(3), masterVersion: driver.masterVersion,
                    sharingGroupUUID: Driver.group))
    }

    @Test("Uploads closed before their file became unavailable do not block its deletion")
    func deleteGoneWithClosedUploads() throws {
        var driver = try Driver.member()
        try driver.download(1)
        try driver.upload(Driver.attributes(1))
        try driver.upload(Driver.attributes(2), "other")
        driver.masterVersion = driver.masterVersion.next
        driver.rows = [Driver.row(1, version: 1)]
        try driver.sync()
        driver.replyIndex()
        driver.reply(.gone(.fileRemovedOrRenamed, appMetaData: nil, .google))
        driver.takeDelivery()
        driver.finish()
        #expect(!driver.engine.isSyncing && driver.fileUploads.map(\.fileUUID) == [Driver.file(2)])
        #expect(driver.waits.map(\.code) == [.fileIsGone])

        try driver.delete(1)
        #expect(driver.engine.state.pendingItems(of: Driver.file(1)).map(\.kind) == [.deletion])
        try driver.sync()
        driver.finish()

        #expect(driver.fileUploads.count == 1 && driver.uploadDeletions == [Driver.file(1)])
    }
}

@Suite("Conflicts with deletions by others")
struct DeletionConflictTests {
    private func clash(
        _ queue: (inout Driver) throws -> Void, fileGroup: FileGroupUUID? = nil, files: ClosedRange<Int> = 1...1
    ) throws -> Driver {
        var driver = try Driver.member()
        driver.rows = files.map { Driver.row($0, fileGroup: fileGroup) }
        try driver.sync()
        driver.replyIndex()
        for number in files { driver.replyFile("down\(number)") }
        driver.takeDelivery()
        driver.replyIndex()
        try queue(&driver)
        driver.masterVersion = driver.masterVersion.next
        driver.rows = files.map { Driver.row($0, deleted: true, fileGroup: fileGroup) }
        try driver.sync()
        driver.replyIndex()
        return driver
    }

    @Test("Without local changes a deletion is delivered")
    func delivered() throws {
        let driver = try clash { _ in }
        #expect(driver.deliveries.last?.map(\.kind) == [.deletion])
        #expect(driver.deletionConflicts.isEmpty)
    }

    @Test(
        "A deletion that the app has queued as well raises no conflict and is not delivered", arguments: [false, true])
    func bothDelete(withUpload: Bool) throws {
        var driver = try clash { driver in
            if withUpload {
                try driver.upload(Driver.attributes(1))
                try driver.sync()
                driver.reply(.failed(.unreachable))
            }
            try driver.delete(1)
        }
        driver.replyIndex()

        #expect(driver.deletionConflicts.isEmpty)
        #expect(driver.deliveries.count == 1)
        #expect(driver.engine.state.items.isEmpty)
        #expect(driver.engine.state.directory[Driver.file(1)]?.deletedLocally == true)
        #expect(!driver.engine.isSyncing)
    }

    @Test("Accepting drops the upload and delivers the deletion")
    func accept() throws {
        var driver = try clash { try $0.upload(Driver.attributes(1)) }
        #expect(driver.deletionConflicts.map(\.conflictType) == [.contentUpload(.file)])

        driver.answer([Driver.file(1): .acceptDownloadDeletion])

        #expect(driver.deliveries.last?.map(\.kind) == [.deletion])
        driver.takeDelivery()
        driver.replyIndex()
        #expect(driver.engine.state.items.isEmpty)
    }

    @Test("Keeping restores the file as the next version")
    func keep() throws {
        var driver = try clash { try $0.upload(Driver.attributes(1)) }
        driver.answer([Driver.file(1): .rejectDownloadDeletion(.keepContentUpload)])
        driver.replyIndex()
        driver.reply(.uploads([]))

        #expect(driver.deliveries.count == 1)
        #expect(driver.fileUploads.map(\.undeleteServerFile) == [true])
        #expect(driver.fileUploads.map(\.fileVersion) == [FileVersion(1)])
        driver.replyStaged()
        driver.reply(.committed(numberUploadsTransferred: 1))
        #expect(driver.engine.state.directory[Driver.file(1)]?.deletedOnServer == false)
    }

    @Test("Metadata alone cannot restore a file")
    func keepText() throws {
        var driver = try clash { try $0.uploadText(Driver.attributes(1, text: "mine")) }
        driver.answer([Driver.file(1): .rejectDownloadDeletion(.keepContentUpload)])

        #expect(driver.errors == [.appMetaDataUploadUndeletionAttempt])
        #expect(driver.deliveries.last?.map(\.kind) == [.deletion])
        driver.takeDelivery()
        driver.replyIndex()
        #expect(driver.engine.state.items.isEmpty)
        #expect(!driver.engine.isSyncing)
    }

    @Test("Removing the upload delivers nothing at first; the deletion is delivered when the index lists it again")
    func remove() throws {
        var driver = try clash { try $0.upload(Driver.attributes(1)) }
        driver.answer([Driver.file(1): .rejectDownloadDeletion(.removeContentUpload)])
        #expect(driver.deliveries.count == 1)

        driver.replyIndex()

        #expect(driver.deletionConflicts.count == 1)
        #expect(driver.deliveries.last?.map(\.kind) == [.deletion])
    }

    @Test("If one file of a file group is kept, the others are restored with the app's contents, in the same commit")
    func fileGroup() throws {
        let fileGroup = FileGroupUUID("55555555-0000-4000-8000-000000000001")
        var driver = try clash({ try $0.upload(Driver.attributes(1)) }, fileGroup: fileGroup, files: 1...2)
        driver.answer([Driver.file(1): .rejectDownloadDeletion(.keepContentUpload)])
        #expect(driver.deliveries.count == 1)
        #expect(driver.engine.localConsistencyCheck(clientFiles: [])?.deletedByOthers != [Driver.file(2)])

        driver.replyIndex()
        #expect(driver.contentRequests.map(\.file) == [Driver.file(2)])
        driver.supply(Driver.contents())
        driver.finish()

        #expect(driver.fileUploads.map(\.fileUUID) == [Driver.file(1), Driver.file(2)])
        #expect(driver.fileUploads.allSatisfy(\.undeleteServerFile) && driver.commits.count == 1)
        #expect(driver.events.contains(.filesRestored([Driver.file(1), Driver.file(2)])))
        #expect(driver.deliveries.count == 1)
    }

    @Test("In a kept file group, a file whose contents the app does not have is also deleted on this device")
    func withoutContents() throws {
        let fileGroup = FileGroupUUID("55555555-0000-4000-8000-000000000001")
        var driver = try clash({ try $0.upload(Driver.attributes(1)) }, fileGroup: fileGroup, files: 1...2)
        driver.answer([Driver.file(1): .rejectDownloadDeletion(.keepContentUpload)])

        driver.replyIndex()
        driver.supply(.notAvailable)
        driver.replyIndex()

        #expect(driver.deliveries.last?.map(\.kind) == [.deletion])
        #expect(driver.deliveries.last?.map(\.attributes.fileUUID) == [Driver.file(2)])
        driver.takeDelivery()
        driver.finish()
        #expect(driver.fileUploads.map(\.fileUUID) == [Driver.file(1)])
        #expect(driver.engine.state.directory[Driver.file(2)]?.deletedLocally == true)
    }

    @Test("An upload dropped for a deletion that is not delivered is restored with the app's contents")
    func givenUp() throws {
        let fileGroup = FileGroupUUID("55555555-0000-4000-8000-000000000001")
        let queue: (inout Driver) throws -> Void = {
            try $0.upload(Driver.attributes(1))
            try $0.upload(Driver.attributes(2, text: "mine"), "given up")
        }
        var driver = try clash(queue, fileGroup: fileGroup, files: 1...2)
        driver.answer([
            Driver.file(1): .rejectDownloadDeletion(.keepContentUpload), Driver.file(2): .acceptDownloadDeletion,
        ])

        driver.replyIndex()
        driver.supply(Driver.contents("kept"))
        driver.finish()

        #expect(driver.fileUploads.map(\.source.path) == ["up", "kept"])
    }
}
