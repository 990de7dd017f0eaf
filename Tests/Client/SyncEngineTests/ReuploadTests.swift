import SyncEngine
import SyncProtocol
import Testing

@Suite("Uploading again after a switch of accounts")
struct ReuploadTests {
    @Test("A confirmed switch uploads all files again, asks whether any still waits, and is over")
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

    @Test("While files wait elsewhere, the switch goes on, and is asked about after the next sync")
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

    @Test("A process that ends takes up where it was, without a request by the app")
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

    @Test("A switch of another device's takes the place of a proposal")
    func overtaken() throws {
        var driver = try Driver.member()
        try driver.engine.adopt(Driver.reported(0))
        driver.engine.noteProposal(Driver.switchID, isConfirmed: false)

        try driver.engine.adopt(Driver.reported(1))
        driver.perform([])

        #expect(driver.engine.account?.phase == nil && driver.engine.account?.switchID == nil)
    }

    @Test("A switch without files is over at once")
    func withoutFiles() throws {
        var driver = try Driver.member()
        try driver.engine.adopt(Driver.reported(0))
        driver.confirm(awaiting: 0)

        #expect(driver.events.last == .accountSwitchFinished)
        #expect(driver.engine.account?.epoch == AccountEpoch(1) && driver.engine.account?.phase == nil)
    }

    @Test(
        "What the app lacks or the server refuses does not keep the others, and is asked for again when resumed",
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
        "A storage that is full or closed ends the sync with what helps, and the files go on waiting",
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
        "A failing server is tried five times for a file, then the others are uploaded; a lost connection never counts")
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

    @Test("A pause starts no further uploads, downloads and ordinary uploads go on")
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

    @Test("While a further switch is proposed, and after it was withdrawn, the one before goes on and ends by itself")
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

    @Test("A switch that ends while a further one is proposed leaves the proposal")
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

    @Test("What the server says of a switch ends no further one that was carried out meanwhile")
    func lateSettlement() throws {
        var driver = try Driver.switching(1)
        driver.replyIndex()
        driver.reply(.reuploaded(.stored(bytes: 1)))
        #expect(driver.waiting?.request == .settleAccountSwitch(Driver.switchID))
        driver.engine.noteProposal(Driver.furtherSwitchID, isConfirmed: false)
        _ = try driver.engine.noteConfirmation()
        // The reply to the confirmation is lost; that it was carried out becomes known before the other reply.
        try driver.engine.adopt(Driver.reported(2))
        driver.perform([])

        driver.reply(.accountSwitchSettled(numberAwaiting: 0))

        #expect(driver.engine.account?.phase == .reuploading)
        #expect(driver.engine.account?.switchID == Driver.furtherSwitchID)
    }

    @Test("The confirmation of a further switch ends the one before")
    func furtherConfirmation() throws {
        var driver = try Driver.switching(1)
        driver.engine.noteProposal(Driver.furtherSwitchID, isConfirmed: false)
        _ = try driver.engine.noteConfirmation()
        driver.perform(driver.engine.noteConfirmed(AccountEpoch(2), numberAwaiting: 1, at: Driver.now))

        #expect(driver.engine.account?.phase == .reuploading)
        #expect(driver.engine.account?.switchID == Driver.furtherSwitchID)
        #expect(driver.engine.account?.formerSwitchID == nil)
    }

    @Test("Files that wait come before ordinary uploads of the group")
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

    @Test("Files of others, and files of which the device has an older version, are left to others")
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

    @Test("Whoever may write only later uploads then what waits, although the index does not list it again")
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

    @Test("A file that somebody else brought back is not uploaded")
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
