import SyncEngine
import SyncProtocol
import Testing

@Suite("Files that the server moves after an account switch")
struct ServerMoveTests {
    @Test("While the server moves files, the device leaves them alone; it uploads only the remaining ones")
    func serverMoves() throws {
        var driver = try Driver.switching(1, 2, isMovedByServer: true)
        driver.replyIndex()
        #expect(driver.waiting?.request == .askForServerMove(Driver.switchID))
        driver.reply(.serverMove(isUnderWay: true))
        #expect(driver.reuploads.isEmpty && driver.waiting?.request == .settleAccountSwitch(Driver.switchID))
        driver.reply(.accountSwitchSettled(numberAwaiting: 2))
        #expect(!driver.engine.isSyncing)
        driver.relaunch()

        // Files moved by the server do not raise the master version.
        driver.rows = [Driver.row(1), Driver.row(2, awaits: true)]
        try driver.sync()
        #expect(driver.waiting?.request == .index(.init(sharingGroupUUID: Driver.group, since: nil)))
        driver.replyIndex()
        #expect(driver.waiting?.request == .askForServerMove(Driver.switchID))
        driver.reply(.serverMove(isUnderWay: false))

        #expect(driver.reuploads.map(\.fileUUID) == [Driver.file(2)])
        driver.reply(.reuploaded(.stored(bytes: 1)))
        driver.reply(.accountSwitchSettled(numberAwaiting: 0))
        #expect(driver.engine.account?.phase == nil)
    }

    @Test("Once the app learns that the server has stopped, the device continues automatically")
    func serverStops() throws {
        var driver = try Driver.switching(1, isMovedByServer: true)
        driver.replyIndex()
        driver.reply(.serverMove(isUnderWay: true))
        driver.reply(.accountSwitchSettled(numberAwaiting: 1))

        #expect(driver.engine.noteServerMove(isUnderWay: true, at: Driver.now).isEmpty)
        driver.perform(driver.engine.noteServerMove(isUnderWay: false, at: Driver.now))
        driver.replyIndex()

        #expect(driver.reuploads.map(\.fileUUID) == [Driver.file(1)])
    }

    @Test("A file downloaded from the former storage still waits, and is uploaded again from here")
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
        var driver = try Driver.switching(1, 2, isMovedByServer: true)
        driver.replyIndex()
        driver.reply(.serverMove(isUnderWay: nil))
        #expect(driver.reuploads.map(\.fileUUID) == [Driver.file(1)])
        driver.reply(.failed(.unreachable))

        try driver.sync()
        driver.replyIndex()

        #expect(driver.waiting?.request == .askForServerMove(Driver.switchID))
    }

    @Test(
        "Another device, and one that lost the confirmation's reply, also ask; older servers move nothing"
    )
    func othersAsk() throws {
        var driver = try Driver.member()
        try driver.engine.adopt(Driver.reported(0))
        try driver.download(1)
        try driver.engine.adopt(Driver.reported(1))
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
}
