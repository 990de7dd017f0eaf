import SyncEngine
import SyncProtocol
import Testing

@Suite("Uploads that fail permanently")
struct SetAsideTests {
    /// Two files in one queue, the first of which is permanently rejected.
    private func refused(
        _ failure: RequestFailure = .refused(status: 413, code: "body_too_large"), text: String? = nil
    ) throws -> Driver {
        var driver = try Driver.member()
        try driver.upload(Driver.attributes(1, text: text), "large")
        try driver.upload(Driver.attributes(2), "small")
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.reply(.failed(failure))
        return driver
    }

    /// A file on the server, with a change that is set aside.
    private func refusedChange() throws -> Driver {
        var driver = try Driver.member()
        try driver.download(1)
        try driver.upload(Driver.attributes(1), "large")
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.reply(.failed(.refused(status: 413, code: "body_too_large")))
        finish(&driver)
        return driver
    }

    /// Answers all requests until everything is committed.
    private func finish(_ driver: inout Driver) { driver.finish() }

    private func failures(_ driver: Driver) -> [SyncError] {
        driver.events.compactMap { if case .singleFileUploadFailed(_, let error) = $0 { error } else { nil } }
    }

    @Test(
        "The rest of the queue is committed without it, and the app receives the reason",
        arguments: [
            RequestFailure.refused(status: 413, code: "body_too_large"), .refused(status: 413, code: nil),
            .refused(status: 409, code: "mime_type_changed"), .localFile,
        ])
    func others(failure: RequestFailure) throws {
        var driver = try refused(failure)
        finish(&driver)

        #expect(driver.commits.count == 1 && driver.fileUploads.map(\.fileUUID) == [Driver.file(1), Driver.file(2)])
        #expect(!driver.engine.uploadsPending && !driver.engine.isSyncing && driver.errors.isEmpty)
        let error = try #require(failures(driver).first)
        #expect(failures(driver).count == 1 && error.fileUUID == Driver.file(1))
        #expect(error.code == (failure == .localFile ? .fileManagerError : .requestRefused))
        #expect(driver.engine.changesSetAside(of: Driver.file(1)).map(\.attempts) == [1])
    }

    @Test("An earlier attempt that is still staged is withdrawn before the commit")
    func stagedBefore() throws {
        var driver = try refused()
        guard case .getUploads = driver.waiting?.request else {
            Issue.record("expected a request for the staged changes")
            return
        }
        driver.reply(.uploads([Driver.row(1)]))
        #expect(driver.waiting?.request == .discardUploads(Driver.group, [Driver.file(1)]))
    }

    @Test("The change survives the process, is sent when the app retries it, and leaves nothing behind")
    func retried() throws {
        var driver = try refused(text: "text")
        finish(&driver)
        driver.relaunch()
        driver.perform(
            try driver.engine.retryUpload(of: Driver.file(1), at: Driver.now) { _ in
                UploadSource(location: LocalFileLocation(base: .documents, path: "large"), isOwned: false, size: 7)
            })
        #expect(driver.engine.changesSetAside(of: Driver.file(1)).isEmpty)
        try driver.sync()
        finish(&driver)

        let upload = try #require(driver.fileUploads.last)
        #expect(upload.fileUUID == Driver.file(1) && upload.appMetaData?.contents == "text" && upload.fileSize == 7)
        #expect(driver.commits.count == 2 && driver.engine.state.items.isEmpty)
    }

    @Test("After a discard, a file that never reached the server is unknown again, with its copy removed")
    func discarded() throws {
        var driver = try refused()
        finish(&driver)
        driver.perform(try driver.engine.discardUpload(of: Driver.file(1)))

        #expect(driver.engine.state.directory[Driver.file(1)] == nil)
        #expect(driver.engine.state.items.isEmpty)
        #expect(throws: SyncError.self) { try driver.engine.discardUpload(of: Driver.file(1)) }
        #expect(throws: SyncError.self) {
            _ = try driver.engine.retryUpload(of: Driver.file(1), at: Driver.now) { _ in nil }
        }
    }

    @Test("A new upload or the file's deletion replaces it", arguments: [true, false])
    func replaced(isDeleted: Bool) throws {
        var driver = try refused()
        finish(&driver)
        if isDeleted {
            try driver.delete(1)
            #expect(driver.engine.state.directory[Driver.file(1)]?.deletedLocally == true)
        } else {
            try driver.upload(Driver.attributes(1), "smaller")
        }
        #expect(driver.engine.changesSetAside(of: Driver.file(1)).isEmpty)
        try driver.sync()
        finish(&driver)
        #expect(driver.engine.state.items.isEmpty)
        #expect(driver.fileUploads.count == (isDeleted ? 2 : 3))
    }

    @Test("Newer queued contents replace it, with its metadata; nothing is reported")
    func superseded() throws {
        var driver = try Driver.member()
        try driver.upload(Driver.attributes(1, text: "text"), "large")
        try driver.sync()
        try driver.upload(Driver.attributes(1), "smaller")
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.reply(.failed(.refused(status: 413, code: "body_too_large")))
        finish(&driver)
        #expect(driver.engine.changesSetAside(of: Driver.file(1)).isEmpty && failures(driver).isEmpty)
        try driver.sync()
        finish(&driver)

        let upload = try #require(driver.fileUploads.last)
        #expect(upload.source.path == "smaller" && upload.appMetaData?.contents == "text")
    }

    @Test("Metadata of a file whose contents were rejected are set aside and retried with them")
    func textBehind() throws {
        var driver = try Driver.member()
        try driver.upload(Driver.attributes(1), "large")
        try driver.sync()
        try driver.uploadText(Driver.attributes(1, text: "text"))
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.reply(.failed(.refused(status: 413, code: "body_too_large")))
        finish(&driver)
        try driver.sync()
        finish(&driver)
        #expect(driver.engine.changesSetAside(of: Driver.file(1)).count == 2 && !driver.engine.uploadsPending)

        driver.perform(try driver.engine.retryUpload(of: Driver.file(1), at: Driver.now) { _ in nil })
        try driver.sync()
        finish(&driver)
        #expect(driver.fileUploads.last?.appMetaData?.contents == "text" && driver.engine.state.items.isEmpty)
    }

    @Test("Metadata queued between rejected contents and newer ones are sent with the latter; nothing is reported")
    func textBetween() throws {
        var driver = try Driver.member()
        try driver.upload(Driver.attributes(1, text: "first"), "large")
        try driver.sync()
        try driver.uploadText(Driver.attributes(1, text: "second"))
        try driver.sync()
        try driver.upload(Driver.attributes(1), "smaller")
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.reply(.failed(.refused(status: 413, code: "body_too_large")))
        finish(&driver)

        let upload = try #require(driver.fileUploads.last)
        #expect(upload.source.path == "smaller" && upload.appMetaData?.contents == "second")
        #expect(failures(driver).isEmpty && driver.engine.state.items.isEmpty)
    }

    @Test("When retried, it is the file's last change, with the newest metadata, after a metadata upload in progress")
    func retriedBehindText() throws {
        var driver = try refusedChange()
        try driver.uploadText(Driver.attributes(1, text: "first"))
        try driver.sync()
        try driver.uploadText(Driver.attributes(1, text: "second"))

        driver.perform(try driver.engine.retryUpload(of: Driver.file(1), at: Driver.now) { _ in nil })
        let pending = driver.engine.state.pendingItems(of: Driver.file(1))
        #expect(pending.map(\.kind) == [.appMetaData, .file])
        #expect(pending.map(\.appMetaData) == ["first", "second"])
    }

    @Test("The answer to a conflict does not drop changes queued again since the question")
    func retriedDuringConflict() throws {
        var driver = try refusedChange()
        try driver.uploadText(Driver.attributes(1, text: "mine"))
        driver.rows = [Driver.row(1, version: 1, text: 0)]
        driver.masterVersion = driver.masterVersion.next
        try driver.sync()
        driver.replyIndex()
        driver.replyDownloads(texts: [Driver.file(1): "theirs"])
        #expect(driver.contentConflicts.count == 1)

        driver.perform(try driver.engine.retryUpload(of: Driver.file(1), at: Driver.now) { _ in nil })
        driver.answer(.acceptContentDownload)
        driver.takeDelivery()
        let pending = driver.engine.state.pendingItems(of: Driver.file(1))
        #expect(pending.map(\.source?.path) == ["large"])
    }

    @Test("A rejected upload of a file that has since been deleted is not reported")
    func deletedSince() throws {
        var driver = try Driver.member()
        try driver.upload(Driver.attributes(1), "large")
        try driver.sync()
        try driver.delete(1)
        driver.replyIndex()
        driver.reply(.uploads([]))
        driver.reply(.failed(.refused(status: 413, code: "body_too_large")))
        finish(&driver)
        try driver.sync()
        finish(&driver)
        #expect(failures(driver).isEmpty && driver.engine.state.items.isEmpty && driver.commits.isEmpty)
        #expect(driver.engine.state.directory[Driver.file(1)]?.deletedLocally == true)
    }

    @Test("An upload is not set aside because the store cannot be written")
    func localStore() throws {
        let driver = try refused(.localStore)
        #expect(driver.errors == [.storeError] && driver.engine.uploadsPending && failures(driver).isEmpty)
    }
}
