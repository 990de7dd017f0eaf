import SyncEngine
import SyncProtocol
import Testing

@Suite("Switches of accounts")
struct AccountSwitchTests {
    private static let identity = UserAppID("66666666-0000-4000-8000-000000000001")!
    private static let other = UserAppID("66666666-0000-4000-8000-000000000002")!
    private static let switchID = AccountSwitchID("77777777-0000-4000-8000-000000000001")!

    private static let furtherSwitchID = AccountSwitchID("77777777-0000-4000-8000-000000000002")!

    private static func reported(_ epoch: Int64, _ id: UserAppID = identity) -> AccountIdentity {
        AccountIdentity(userAppId: id, accountEpoch: AccountEpoch(epoch), deviceGrant: nil)
    }

    /// A device with files of the user's, whose switch is confirmed; the sync that follows asks for the index.
    private static func switching(
        _ numbers: Int..., fileGroups: [Int: FileGroupUUID] = [:], transfers: Int = 1, isMovedByServer: Bool = false
    ) throws -> Driver {
        var driver = try Driver.member(maximumTransfers: transfers)
        try driver.engine.adopt(reported(0))
        driver.perform([])
        driver.rows = numbers.map { Driver.row($0, fileGroup: fileGroups[$0]) }
        try driver.sync()
        driver.replyIndex()
        driver.takeAll()
        driver.replyIndex()
        driver.confirm(isMovedByServer: isMovedByServer)
        driver.rows = numbers.map { Driver.row($0, fileGroup: fileGroups[$0], awaits: true) }
        driver.masterVersion = driver.masterVersion.next
        return driver
    }

    // MARK: Who is signed in

    @Test("The same identity with the same epoch changes nothing")
    func sameAccount() throws {
        var driver = try Driver.member()
        try driver.download(1)
        try driver.engine.adopt(Self.reported(3))
        driver.perform([])
        let before = driver.engine.state

        try driver.engine.adopt(Self.reported(3))

        #expect(driver.engine.state == before)
        #expect(driver.engine.account?.epoch == AccountEpoch(3))
    }

    @Test("A greater epoch is adopted: the index is read anew, versions stay, and nothing is downloaded")
    func anotherDeviceSwitched() throws {
        var driver = try Driver.member()
        try driver.engine.adopt(Self.reported(0))
        try driver.download(1)
        let deliveries = driver.deliveries.count

        try driver.engine.adopt(Self.reported(1))
        driver.perform([])
        driver.rows = [Driver.row(1, awaits: true)]
        driver.masterVersion = driver.masterVersion.next
        try driver.sync()
        #expect(driver.waiting?.request == .index(.init(sharingGroupUUID: Driver.group, since: nil)))
        driver.replyIndex()

        let entry = try #require(driver.engine.state.directory[Driver.file(1)])
        #expect(entry.cloudStorageType == .dropbox && entry.awaitingReupload && entry.fileVersion == .first)
        #expect(driver.deliveries.count == deliveries)
        #expect(driver.engine.account?.phase == nil)
    }

    @Test("Another identity, or a smaller epoch, is refused, and nothing changes")
    func refused() throws {
        var driver = try Driver.member()
        try driver.engine.adopt(Self.reported(3))
        driver.perform([])
        let before = driver.engine.state

        #expect(refusal { try driver.engine.adopt(Self.reported(3, Self.other)) } == .differentUser)
        #expect(refusal { try driver.engine.adopt(Self.reported(2)) } == .serverRestored)
        #expect(driver.engine.state == before)
    }

    @Test("A retired account ends the sync, names the account to sign in with, and keeps what is queued")
    func retired() throws {
        var driver = try Driver.member()
        try driver.download(1)
        try driver.upload(Driver.attributes(1))
        try driver.sync()

        driver.reply(.failed(.accountRetired(.dropbox)))

        let error = driver.actions.compactMap { if case .reportError(let error) = $0 { error } else { nil } }.last
        #expect(error?.code == .signedOutRemotely && error?.activeAccountType == .dropbox)
        #expect(error?.recovery == .signInAgain)
        #expect(driver.engine.uploadsPending && driver.engine.state.directory[Driver.file(1)] != nil)
        #expect(driver.engine.blockingError == nil, "signing in helps")
    }

    @Test("A server that was restored blocks all syncs")
    func restored() throws {
        var driver = try Driver.member()
        try driver.sync()
        driver.reply(.failed(.serverRestored))
        let requests = driver.requests.count

        try driver.sync()

        #expect(driver.errors.suffix(2) == [.serverRestored, .serverRestored])
        #expect(driver.requests.count == requests)
    }

    // MARK: Files that wait

    @Test("A file that waits is delivered as out of reach, and by itself once the server has it again")
    func automaticRetry() throws {
        var driver = try Driver.member()
        driver.rows = [Driver.row(1, owner: Driver.otherUser, awaits: true)]
        try driver.sync()
        driver.replyIndex()
        driver.reply(
            .gone(.authTokenExpiredOrRevoked, appMetaData: nil, .dropbox, awaitsReupload: true))
        let operation = try #require(driver.deliveries.last?.first)
        #expect(operation.kind == .fileGone && operation.attributes.awaitingReupload)
        driver.takeDelivery()
        driver.replyIndex()
        #expect(!driver.engine.isSyncing)

        // It still waits.
        try driver.sync()
        #expect(driver.waiting?.request == .index(.init(sharingGroupUUID: Driver.group, since: nil)))
        driver.replyIndex()
        #expect(!driver.engine.isSyncing && driver.deliveries.count == 1)
        driver.relaunch()
        // The server has it again, which does not raise the master version.
        driver.rows = [Driver.row(1, owner: Driver.otherUser)]
        try driver.sync()
        driver.replyIndex()
        driver.replyFile()

        let delivered = try #require(driver.deliveries.last?.first)
        #expect(driver.deliveries.count == 2)
        #expect(!delivered.attributes.awaitingReupload && delivered.attributes.gone == nil)
        driver.takeDelivery()
        driver.replyIndex()
        #expect(driver.engine.state.directory[Driver.file(1)]?.goneReason == nil)
    }

    @Test("A file that the owner gave up becomes out of reach for good")
    func givenUp() throws {
        var driver = try Driver.member()
        driver.rows = [Driver.row(1, owner: Driver.otherUser, awaits: true)]
        try driver.sync()
        driver.replyIndex()
        driver.reply(.gone(.authTokenExpiredOrRevoked, appMetaData: nil, .dropbox, awaitsReupload: true))
        driver.takeDelivery()
        driver.replyIndex()
        driver.rows = [Driver.row(1, owner: Driver.otherUser)]

        try driver.sync()
        driver.replyIndex()
        driver.reply(.gone(.fileRemovedOrRenamed, appMetaData: nil, .dropbox))
        driver.takeDelivery()
        driver.replyIndex()
        try driver.sync()
        driver.replyIndex()

        #expect(driver.deliveries.count == 2 && !driver.engine.isSyncing)
        let entry = try #require(driver.engine.state.directory[Driver.file(1)])
        #expect(entry.goneReason == .fileRemovedOrRenamed && !entry.awaitingReupload)
    }

    @Test("Whoever has a file that waits may upload its next version")
    func nextVersion() throws {
        var driver = try Driver.member()
        driver.rows = [Driver.row(1, owner: Driver.otherUser)]
        try driver.sync()
        driver.replyIndex()
        driver.takeAll()
        driver.replyIndex()
        driver.rows = [Driver.row(1, owner: Driver.otherUser, awaits: true)]
        try driver.upload(Driver.attributes(1))
        try driver.sync()
        driver.replyIndex()
        driver.reply(.uploads([]))

        #expect(driver.fileUploads.last?.fileVersion == FileVersion(1))
        #expect(driver.fileUploads.last?.cloudStorageType == .dropbox)
    }

    // MARK: Uploading again

    @Test("A confirmed switch uploads all files again, asks whether any still waits, and is over")
    func wholeSwitch() throws {
        var driver = try Self.switching(1, 2)
        driver.replyIndex()
        #expect(driver.reuploads.map(\.fileUUID) == [Driver.file(1)])
        #expect(driver.waitingReupload?.switchID == Self.switchID)
        #expect(driver.waitingReupload?.cloudStorageType == .dropbox)
        driver.reply(.reuploaded(.stored(bytes: 10)))
        driver.reply(.reuploaded(.alreadyStored))

        #expect(
            driver.events.suffix(3) == [
                .accountSwitchProgress(done: 1, total: 2, bytes: 10),
                .accountSwitchProgress(done: 2, total: 2, bytes: 10), .syncDone,
            ])
        #expect(driver.waiting?.request == .settleAccountSwitch(Self.switchID))
        driver.reply(.accountSwitchSettled(numberAwaiting: 0))

        #expect(driver.events.last == .accountSwitchFinished)
        #expect(driver.engine.account?.phase == nil && driver.engine.account?.switchID == nil)
        #expect(driver.engine.state.reuploads.isEmpty)
        #expect(driver.engine.state.directory[Driver.file(1)]?.fileVersion == .first)
        #expect(driver.commits.isEmpty)
    }

    @Test("While files wait elsewhere, the switch goes on, and is asked about after the next sync")
    func filesElsewhere() throws {
        var driver = try Self.switching(1)
        driver.replyIndex()
        driver.reply(.reuploaded(.stored(bytes: 1)))

        driver.reply(.accountSwitchSettled(numberAwaiting: 3))
        #expect(driver.engine.account?.phase == .reuploading)
        driver.rows = [Driver.row(1)]
        try driver.sync()
        driver.replyIndex()

        #expect(driver.waiting?.request == .settleAccountSwitch(Self.switchID))
    }

    @Test("Files of one file group are uploaded one after the other")
    func fileGroups() throws {
        let (first, second) = (Driver.fileGroup(1), Driver.fileGroup(2))
        var driver = try Self.switching(1, 2, 3, 4, fileGroups: [1: first, 2: second, 3: first, 4: second])
        driver.replyIndex()
        for _ in 0..<4 { driver.reply(.reuploaded(.stored(bytes: 1))) }

        #expect(driver.reuploads.map(\.fileUUID) == [1, 3, 2, 4].map(Driver.file))
    }

    @Test("A process that ends takes up where it was, without a request by the app")
    func relaunch() throws {
        var driver = try Self.switching(1, 2)
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
        try driver.engine.adopt(Self.reported(0))
        try driver.download(1)
        driver.engine.noteProposal(Self.switchID, isConfirmed: false)
        _ = try driver.engine.noteConfirmation()
        driver.perform([])
        driver.relaunch()
        #expect(driver.engine.account?.phase == .confirming)

        try driver.engine.adopt(Self.reported(1))
        driver.perform([])

        #expect(driver.engine.account?.phase == .reuploading)
        #expect(driver.engine.account?.switchID == Self.switchID)
    }

    @Test("A switch of another device's takes the place of a proposal")
    func overtaken() throws {
        var driver = try Driver.member()
        try driver.engine.adopt(Self.reported(0))
        driver.engine.noteProposal(Self.switchID, isConfirmed: false)

        try driver.engine.adopt(Self.reported(1))
        driver.perform([])

        #expect(driver.engine.account?.phase == nil && driver.engine.account?.switchID == nil)
    }

    @Test("A switch without files is over at once")
    func withoutFiles() throws {
        var driver = try Driver.member()
        try driver.engine.adopt(Self.reported(0))
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
        var driver = try Self.switching(1, 2)
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
        var driver = try Self.switching(1, 2)
        driver.replyIndex()
        driver.reply(reply)

        #expect(driver.errors.last == code && SyncError(code).recovery == recovery)
        #expect(!driver.engine.isSyncing)
        #expect(driver.engine.state.reuploads.rows(at: .status(.pending)).count == 2)
    }

    @Test(
        "A failing server is tried five times for a file, then the others are uploaded; a lost connection never counts")
    func failingServer() throws {
        var driver = try Self.switching(1, 2)
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
        var driver = try Self.switching(1, 2)
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
        var driver = try Self.switching(1, 2)
        driver.replyIndex()
        driver.engine.noteProposal(Self.furtherSwitchID, isConfirmed: false)
        driver.perform([])
        #expect(driver.engine.account?.switchID == Self.furtherSwitchID)
        driver.reply(.reuploaded(.stored(bytes: 1)))
        #expect(driver.waitingReupload?.switchID == Self.switchID)
        driver.relaunch()

        driver.perform(driver.engine.endProposal(at: Driver.now))
        #expect(driver.engine.account?.phase == .reuploading && driver.engine.account?.switchID == Self.switchID)
        driver.rows = [Driver.row(1), Driver.row(2, awaits: true)]
        driver.replyIndex()
        driver.reply(.reuploaded(.stored(bytes: 1)))
        #expect(driver.waiting?.request == .settleAccountSwitch(Self.switchID))
        driver.reply(.accountSwitchSettled(numberAwaiting: 0))
        #expect(driver.engine.account?.phase == nil)
    }

    @Test("A switch that ends while a further one is proposed leaves the proposal")
    func endsDuringProposal() throws {
        var driver = try Self.switching(1)
        driver.engine.noteProposal(Self.furtherSwitchID, isConfirmed: false)
        driver.perform([])
        driver.replyIndex()
        driver.reply(.reuploaded(.stored(bytes: 1)))
        driver.reply(.accountSwitchSettled(numberAwaiting: 0))

        #expect(driver.events.last == .accountSwitchFinished)
        #expect(driver.engine.account?.phase == .proposed)
        #expect(driver.engine.account?.switchID == Self.furtherSwitchID)
        #expect(driver.engine.account?.formerSwitchID == nil)
        driver.perform(driver.engine.endProposal(at: Driver.now))
        #expect(driver.engine.account?.phase == nil && driver.engine.account?.switchID == nil)
    }

    @Test("What the server says of a switch ends no further one that was carried out meanwhile")
    func lateSettlement() throws {
        var driver = try Self.switching(1)
        driver.replyIndex()
        driver.reply(.reuploaded(.stored(bytes: 1)))
        #expect(driver.waiting?.request == .settleAccountSwitch(Self.switchID))
        driver.engine.noteProposal(Self.furtherSwitchID, isConfirmed: false)
        _ = try driver.engine.noteConfirmation()
        // The reply to the confirmation is lost; that it was carried out becomes known before the other reply.
        try driver.engine.adopt(Self.reported(2))
        driver.perform([])

        driver.reply(.accountSwitchSettled(numberAwaiting: 0))

        #expect(driver.engine.account?.phase == .reuploading)
        #expect(driver.engine.account?.switchID == Self.furtherSwitchID)
    }

    @Test("The confirmation of a further switch ends the one before")
    func furtherConfirmation() throws {
        var driver = try Self.switching(1)
        driver.engine.noteProposal(Self.furtherSwitchID, isConfirmed: false)
        _ = try driver.engine.noteConfirmation()
        driver.perform(driver.engine.noteConfirmed(AccountEpoch(2), numberAwaiting: 1, at: Driver.now))

        #expect(driver.engine.account?.phase == .reuploading)
        #expect(driver.engine.account?.switchID == Self.furtherSwitchID)
        #expect(driver.engine.account?.formerSwitchID == nil)
    }

    // MARK: Files that the server moves

    @Test("While the server moves the files, they are left to it, and only what it leaves is uploaded")
    func serverMoves() throws {
        var driver = try Self.switching(1, 2, isMovedByServer: true)
        driver.replyIndex()
        #expect(driver.waiting?.request == .askForServerMove(Self.switchID))
        driver.reply(.serverMove(isUnderWay: true))
        #expect(driver.reuploads.isEmpty && driver.waiting?.request == .settleAccountSwitch(Self.switchID))
        driver.reply(.accountSwitchSettled(numberAwaiting: 2))
        #expect(!driver.engine.isSyncing)
        driver.relaunch()

        // What the server has moved does not raise the master version.
        driver.rows = [Driver.row(1), Driver.row(2, awaits: true)]
        try driver.sync()
        #expect(driver.waiting?.request == .index(.init(sharingGroupUUID: Driver.group, since: nil)))
        driver.replyIndex()
        #expect(driver.waiting?.request == .askForServerMove(Self.switchID))
        driver.reply(.serverMove(isUnderWay: false))

        #expect(driver.reuploads.map(\.fileUUID) == [Driver.file(2)])
        driver.reply(.reuploaded(.stored(bytes: 1)))
        driver.reply(.accountSwitchSettled(numberAwaiting: 0))
        #expect(driver.engine.account?.phase == nil)
    }

    @Test("When the app learns that the server has stopped, the device goes on by itself")
    func serverStops() throws {
        var driver = try Self.switching(1, isMovedByServer: true)
        driver.replyIndex()
        driver.reply(.serverMove(isUnderWay: true))
        driver.reply(.accountSwitchSettled(numberAwaiting: 1))

        #expect(driver.engine.noteServerMove(isUnderWay: true, at: Driver.now).isEmpty)
        driver.perform(driver.engine.noteServerMove(isUnderWay: false, at: Driver.now))
        driver.replyIndex()

        #expect(driver.reuploads.map(\.fileUUID) == [Driver.file(1)])
    }

    @Test("A file that is downloaded from the former storage waits all the same, and is uploaded again from here")
    func fromFormerStorage() throws {
        var driver = try Driver.member()
        driver.rows = [Driver.row(1, awaits: true)]
        try driver.sync()
        driver.replyIndex()
        driver.replyFile()
        #expect(driver.deliveries.last?.map(\.kind) != [.fileGone])
        driver.takeDelivery()
        driver.replyIndex()

        #expect(driver.reuploads.map(\.fileUUID) == [Driver.file(1)])
    }

    @Test("While a proposal hides the switch, files are uploaded, and the server is asked again")
    func hiddenMove() throws {
        var driver = try Self.switching(1, 2, isMovedByServer: true)
        driver.replyIndex()
        driver.reply(.serverMove(isUnderWay: nil))
        #expect(driver.reuploads.map(\.fileUUID) == [Driver.file(1)])
        driver.reply(.failed(.unreachable))

        try driver.sync()
        driver.replyIndex()

        #expect(driver.waiting?.request == .askForServerMove(Self.switchID))
    }

    @Test(
        "Another device, and one that lost the reply to the confirmation, ask as well; a server without moves moves none"
    )
    func othersAsk() throws {
        var driver = try Driver.member()
        try driver.engine.adopt(Self.reported(0))
        try driver.download(1)
        try driver.engine.adopt(Self.reported(1))
        driver.perform([])
        driver.rows = [Driver.row(1, awaits: true)]
        driver.masterVersion = driver.masterVersion.next
        try driver.sync()
        driver.replyIndex()
        #expect(driver.waiting?.request == .askForServerMove(nil))

        driver.reply(.failed(.unreachable))
        #expect(driver.errors.last == .networkError && driver.reuploads.isEmpty)
        try driver.sync()
        driver.replyIndex()
        driver.reply(.failed(.refused(status: 404, code: nil)))

        #expect(driver.reuploads.map(\.fileUUID) == [Driver.file(1)])
        #expect(driver.engine.account?.mayBeMovedByServer == false)
    }

    @Test("Files that wait come before ordinary uploads of the group")
    func order() throws {
        var driver = try Self.switching(1)
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
        var driver = try Self.switching(1, 2)
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
        var driver = try Self.switching(1)
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
        var driver = try Self.switching(1, 2)
        driver.replyIndex()
        driver.reply(.failed(.unreachable))
        driver.rows = [Driver.row(1), Driver.row(2, awaits: true)]
        try driver.sync()
        driver.replyIndex()

        #expect(driver.reuploads.map(\.fileUUID) == [Driver.file(1), Driver.file(2)])
        #expect(driver.engine.state.reuploads[Driver.file(1)] == nil)
    }

    @Test("A complete reset forgets the identity, and one of tracking does not")
    func reset() throws {
        var driver = try Self.switching(1)
        driver.replyIndex()
        driver.reply(.failed(.unreachable))

        driver.perform(try driver.engine.reset(.tracking, at: Driver.now))
        #expect(driver.engine.account?.phase == .reuploading && !driver.engine.state.reuploads.isEmpty)
        driver.perform(try driver.engine.reset(.all, at: Driver.now))
        #expect(driver.engine.account == nil && driver.engine.state.reuploads.isEmpty)
    }
}

extension Driver {
    fileprivate static let switchID = AccountSwitchID("77777777-0000-4000-8000-000000000001")!

    /// Proposes and confirms a switch.
    fileprivate mutating func confirm(awaiting: Int64 = 1, isMovedByServer: Bool = false) {
        engine.noteProposal(Self.switchID, isConfirmed: false)
        _ = try? engine.noteConfirmation()
        perform(
            engine.noteConfirmed(
                AccountEpoch(1), numberAwaiting: awaiting, isMovedByServer: isMovedByServer, at: Self.now))
    }

    /// What was to be uploaded again, in order.
    fileprivate var reuploads: [SyncAttributes] {
        requests.compactMap { if case .reuploadFile(let upload) = $0 { upload.attributes } else { nil } }
    }

    fileprivate var waitingReupload: FileReupload? {
        if case .reuploadFile(let upload) = waiting?.request { upload } else { nil }
    }
}
