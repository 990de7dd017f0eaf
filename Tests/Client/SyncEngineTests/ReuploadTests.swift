import SyncEngine
import SyncProtocol
import Testing

@Suite("Uploading files again after an account switch")
struct ReuploadTests {
    @Test("A confirmed switch uploads all files again, asks whether any still wait, and finishes")
    func wholeSwitch() throws {
        var driver = try Driver.switching(1, 2)
        driver.replyIndex()
        #expect(driver.reuploads.map(\.fileUUID) == [Driver.file(1)])
        #expect(driver.waitingReupload?.switchID == Driver.switchID)
        #expect(driver.waitingReupload?.cloudStorageType == .dropbox)
        driver.reply(.reuploaded(.stored(bytes: 10)))
        driver.reply(.reuploaded(.alreadyStored))

        #expect(
            driver.events.suffix(3) == [
                .accountSwitchProgress(done: 1, total: 2, bytes: 10),
                .accountSwitchProgress(done: 2, total: 2, bytes: 10), .syncDone,
            ])
        #expect(driver.waiting?.request == .settleAccountSwitch(Driver.switchID))
        driver.reply(.accountSwitchSettled(numberAwaiting: 0))

        #expect(driver.events.last == .accountSwitchFinished)
        #expect(driver.engine.account?.phase == nil && driver.engine.account?.switchID == nil)
        #expect(driver.engine.state.reuploads.isEmpty)
        #expect(driver.engine.state.directory[Driver.file(1)]?.fileVersion == .first)
        #expect(driver.commits.isEmpty)
    }

    @Test("While files wait on other devices, the switch continues, and its state is requested after the next sync")
    func filesElsewhere() throws {
        var driver = try Driver.switching(1)
        driver.replyIndex()
        driver.reply(.reuploaded(.stored(bytes: 1)))

        driver.reply(.accountSwitchSettled(numberAwaiting: 3))
        #expect(driver.engine.account?.phase == .reuploading)
        driver.rows = [Driver.row(1)]
        try driver.sync()
        driver.replyIndex()

        #expect(driver.waiting?.request == .settleAccountSwitch(Driver.switchID))
    }

    @Test("Files of one file group are uploaded one after the other")
    func fileGroups() throws {
        let (first, second) = (Driver.fileGroup(1), Driver.fileGroup(2))
        var driver = try Driver.switching(1, 2, 3, 4, fileGroups: [1: first, 2: second, 3: first, 4: second])
        driver.replyIndex()
        for _ in 0..<4 { driver.reply(.reuploaded(.stored(bytes: 1))) }

        #expect(driver.reuploads.map(\.fileUUID) == [1, 3, 2, 4].map(Driver.file))
    }

    @Test("After the process ends, the next one resumes without a request from the app")
    func relaunch() throws {
        var driver = try Driver.switching(1, 2)
        driver.replyIndex()
        driver.reply(.reuploaded(.stored(bytes: 1)))
        driver.rows = [Driver.row(1), Driver.row(2, awaits: true)]

        driver.relaunch()
        driver.perform(driver.engine.resumePendingUploads(at: Driver.now))
        driver.replyIndex()

        #expect(driver.reuploads.map(\.fileUUID) == [1, 2, 2].map(Driver.file))
        driver.reply(.reuploaded(.stored(bytes: 1)))
        #expect(driver.events.contains(.accountSwitchProgress(done: 2, total: 2, bytes: 2)))
    }

    @Test("A confirmation whose reply was lost is recognised by the epoch")
    func lostConfirmation() throws {
        var driver = try Driver.member()
        try driver.engine.adopt(Driver.reported(0))
        try driver.download(1)
        driver.engine.noteProposal(Driver.switchID, isConfirmed: false)
        _ = try driver.engine.noteConfirmation()
        driver.perform([])
        driver.relaunch()
        #expect(driver.engine.account?.phase == .confirming)

        try driver.engine.adopt(Driver.reported(1))
        driver.perform([])

        #expect(driver.engine.account?.phase == .reuploading)
        #expect(driver.engine.account?.switchID == Driver.switchID)
    }

    @Test("Another device's switch replaces a proposal")
    func overtaken() throws {
        var driver = try Driver.member()
        try driver.engine.adopt(Driver.reported(0))
        driver.engine.noteProposal(Driver.switchID, isConfirmed: false)

        try driver.engine.adopt(Driver.reported(1))
        driver.perform([])

        #expect(driver.engine.account?.phase == nil && driver.engine.account?.switchID == nil)
    }

    @Test("A switch without files finishes immediately")
    func withoutFiles() throws {
        var driver = try Driver.member()
        try driver.engine.adopt(Driver.reported(0))
        driver.confirm(awaiting: 0)

        #expect(driver.events.last == .accountSwitchFinished)
        #expect(driver.engine.account?.epoch == AccountEpoch(1) && driver.engine.account?.phase == nil)
    }

    @Test(
        "Files that the app does not have or the server rejects block no others, and are requested again when resumed",
        arguments: [
            (ServerReply.reuploaded(.notAvailable), ReuploadItem.Status.unavailable),
            (.failed(.localFile), .unavailable), (.reuploaded(.differentVersion), .superseded),
            (.failed(.refused(status: 422, code: "content_mismatch")), .superseded),
            (.failed(.refused(status: 409, code: "reupload_by_owner_only")), .failed),
            (.gone(.userRemoved, appMetaData: nil, nil), .failed),
        ])
    func others(reply: ServerReply, status: ReuploadItem.Status) throws {
        var driver = try Driver.switching(1, 2)
        driver.replyIndex()
        driver.reply(reply)
        driver.reply(.reuploaded(.stored(bytes: 1)))

        #expect(driver.engine.state.reuploads[Driver.file(1)]?.status == status)
        #expect(driver.engine.state.reuploads[Driver.file(2)]?.status == .done)
        driver.reply(.accountSwitchSettled(numberAwaiting: 1))
        driver.rows = [Driver.row(1, awaits: true), Driver.row(2)]
        driver.perform(driver.engine.resumeReuploads(at: Driver.now))
        driver.replyIndex()
        #expect(driver.reuploads.map(\.fileUUID) == [1, 2, 1].map(Driver.file))
    }

    @Test(
        "A full or closed storage ends the sync with a remedy, and the files keep waiting",
        arguments: [
            (
                ServerReply.failed(.refused(status: 507, code: "cloud_quota_exceeded")), SyncError.Code.storageFull,
                SyncError.Recovery.freeSpace
            ),
            (.gone(.authTokenExpiredOrRevoked, appMetaData: nil, nil), .storageUnauthorized, .signInAgain),
        ])
    func storageFails(reply: ServerReply, code: SyncError.Code, recovery: SyncError.Recovery) throws {
        var driver = try Driver.switching(1, 2)
        driver.replyIndex()
        driver.reply(reply)

        #expect(driver.errors.last == code && SyncError(code).recovery == recovery)
        #expect(!driver.engine.isSyncing)
        #expect(driver.engine.state.reuploads.rows(at: .status(.pending)).count == 2)
    }

    @Test(
        "After five server failures for a file, the others are uploaded; lost connections never count")
    func failingServer() throws {
        var driver = try Driver.switching(1, 2)
        driver.replyIndex()
        for _ in 0..<9 {
            driver.reply(.failed(.unreachable))
            try driver.sync()
            driver.replyIndex()
        }
        for _ in 0..<4 {
            driver.reply(.failed(.refused(status: 500, code: nil)))
            #expect(!driver.engine.isSyncing)
            try driver.sync()
            driver.replyIndex()
        }
        #expect(driver.engine.state.reuploads[Driver.file(1)]?.status == .uploading)
        driver.reply(.failed(.refused(status: 500, code: nil)))

        #expect(driver.engine.state.reuploads[Driver.file(1)]?.status == .failed)
        #expect(driver.reuploads.last?.fileUUID == Driver.file(2) && driver.engine.isSyncing)
    }

    @Test("A pause starts no further uploads; downloads and ordinary uploads continue")
    func pause() throws {
        var driver = try Driver.switching(1, 2)
        driver.replyIndex()
        driver.engine.pauseReuploads()
        driver.perform([])
        driver.reply(.reuploaded(.stored(bytes: 1)))
        #expect(!driver.engine.isSyncing && driver.outstanding.isEmpty)

        driver.rows = [Driver.row(1), Driver.row(2, awaits: true), Driver.row(3)]
        try driver.sync()
        driver.replyIndex()
        driver.takeAll()
        driver.replyIndex()
        #expect(driver.fileDownloads.last == Driver.file(3))
        #expect(driver.reuploads.count == 1 && !driver.engine.isSyncing)

        driver.perform(driver.engine.resumeReuploads(at: Driver.now))
        driver.replyIndex()
        #expect(driver.reuploads.last?.fileUUID == Driver.file(2))
    }

    @Test("While a second switch is proposed, and after its withdrawal, the first one continues and finishes")
    func furtherProposal() throws {
        var driver = try Driver.switching(1, 2)
        driver.replyIndex()
        driver.engine.noteProposal(Driver.furtherSwitchID, isConfirmed: false)
        driver.perform([])
        #expect(driver.engine.account?.switchID == Driver.furtherSwitchID)
        driver.reply(.reuploaded(.stored(bytes: 1)))
        #expect(driver.waitingReupload?.switchID == Driver.switchID)
        driver.relaunch()

        driver.perform(driver.engine.endProposal(at: Driver.now))
        #expect(driver.engine.account?.phase == .reuploading && driver.engine.account?.switchID == Driver.switchID)
        driver.rows = [Driver.row(1), Driver.row(2, awaits: true)]
        driver.replyIndex()
        driver.reply(.reuploaded(.stored(bytes: 1)))
        #expect(driver.waiting?.request == .settleAccountSwitch(Driver.switchID))
        driver.reply(.accountSwitchSettled(numberAwaiting: 0))
        #expect(driver.engine.account?.phase == nil)
    }

    @Test("A switch that finishes while a second one is proposed leaves the proposal")
    func endsDuringProposal() throws {
        var driver = try Driver.switching(1)
        driver.engine.noteProposal(Driver.furtherSwitchID, isConfirmed: false)
        driver.perform([])
        driver.replyIndex()
        driver.reply(.reuploaded(.stored(bytes: 1)))
        driver.reply(.accountSwitchSettled(numberAwaiting: 0))

        #expect(driver.events.last == .accountSwitchFinished)
        #expect(driver.engine.account?.phase == .proposed)
        #expect(driver.engine.account?.switchID == Driver.furtherSwitchID)
        #expect(driver.engine.account?.formerSwitchID == nil)
        driver.perform(driver.engine.endProposal(at: Driver.now))
        #expect(driver.engine.account?.phase == nil && driver.engine.account?.switchID == nil)
    }

    @Test("The end of a switch does not end a second one that was carried out meanwhile")
    func lateSettlement() throws {
        var driver = try Driver.switching(1)
        driver.replyIndex()
        driver.reply(.reuploaded(.stored(bytes: 1)))
        #expect(driver.waiting?.request == .settleAccountSwitch(Driver.switchID))
        driver.engine.noteProposal(Driver.furtherSwitchID, isConfirmed: false)
        _ = try driver.engine.noteConfirmation()
        // The reply to the confirmation is lost; the new epoch is learned before the other reply arrives.
        try driver.engine.adopt(Driver.reported(2))
        driver.perform([])

        driver.reply(.accountSwitchSettled(numberAwaiting: 0))

        #expect(driver.engine.account?.phase == .reuploading)
        #expect(driver.engine.account?.switchID == Driver.furtherSwitchID)
    }

    @Test("Confirming a second switch ends the first one")
    func furtherConfirmation() throws {
        var driver = try Driver.switching(1)
        driver.engine.noteProposal(Driver.furtherSwitchID, isConfirmed: false)
        _ = try driver.engine.noteConfirmation()
        driver.perform(driver.engine.noteConfirmed(AccountEpoch(2), numberAwaiting: 1, at: Driver.now))

        #expect(driver.engine.account?.phase == .reuploading)
        #expect(driver.engine.account?.switchID == Driver.furtherSwitchID)
        #expect(driver.engine.account?.formerSwitchID == nil)
    }

    @Test("Waiting files come before the group's ordinary uploads")
    func order() throws {
        var driver = try Driver.switching(1)
        try driver.upload(Driver.attributes(5))
        driver.perform(try driver.engine.sync(SyncRequest(sharingGroupUUID: Driver.group), at: Driver.now))
        driver.replyIndex()
        #expect(driver.fileUploads.isEmpty && driver.reuploads.count == 1)
        driver.reply(.reuploaded(.stored(bytes: 1)))
        driver.reply(.uploads([]))

        #expect(driver.fileUploads.map(\.fileUUID) == [Driver.file(5)])
    }

    @Test("Others' files, and files of which the device has an older version, are left to other devices")
    func notOurs() throws {
        var driver = try Driver.switching(1, 2)
        driver.rows = [
            Driver.row(1, owner: Driver.otherUser, awaits: true), Driver.row(2, version: 1, awaits: true),
        ]
        driver.replyIndex()
        driver.reply(.gone(.authTokenExpiredOrRevoked, appMetaData: nil, .dropbox, awaitsReupload: true))
        driver.takeDelivery()
        driver.replyIndex()

        #expect(driver.reuploads.isEmpty)
        #expect(driver.engine.state.directory[Driver.file(2)]?.isAwaited == true)
    }

    @Test("A device that may write only later then uploads waiting files, even if the index does not repeat them")
    func permissionLater() throws {
        var driver = try Driver.switching(1)
        driver.permission = .read
        driver.replyIndex()
        #expect(driver.reuploads.isEmpty && !driver.engine.isSyncing)
        driver.reply(.accountSwitchSettled(numberAwaiting: 1))

        driver.permission = .admin
        driver.rows = []
        try driver.sync()
        driver.replyIndex()

        #expect(driver.reuploads.map(\.fileUUID) == [Driver.file(1)])
    }

    @Test("A file that somebody else restored is not uploaded")
    func broughtBack() throws {
        var driver = try Driver.switching(1, 2)
        driver.replyIndex()
        driver.reply(.failed(.unreachable))
        driver.rows = [Driver.row(1), Driver.row(2, awaits: true)]
        try driver.sync()
        driver.replyIndex()

        #expect(driver.reuploads.map(\.fileUUID) == [Driver.file(1), Driver.file(2)])
        #expect(driver.engine.state.reuploads[Driver.file(1)] == nil)
    }
}
