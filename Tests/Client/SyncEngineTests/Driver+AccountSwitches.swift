import SyncEngine
import SyncProtocol

// Devices of a person who switches accounts.
extension Driver {
    static let identity = UserAppID("66666666-0000-4000-8000-000000000001")!
    static let otherIdentity = UserAppID("66666666-0000-4000-8000-000000000002")!
    static let switchID = AccountSwitchID("77777777-0000-4000-8000-000000000001")!
    static let furtherSwitchID = AccountSwitchID("77777777-0000-4000-8000-000000000002")!

    static func reported(_ epoch: Int64, _ id: UserAppID = identity) -> AccountIdentity {
        AccountIdentity(userAppId: id, accountEpoch: AccountEpoch(epoch), deviceGrant: nil)
    }

    /// A device with the user's files and a confirmed switch; the following sync requests the index.
    static func switching(
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

    /// Proposes and confirms a switch.
    mutating func confirm(awaiting: Int64 = 1, isMovedByServer: Bool = false) {
        engine.noteProposal(Self.switchID, isConfirmed: false)
        _ = try? engine.noteConfirmation()
        perform(
            engine.noteConfirmed(
                AccountEpoch(1), numberAwaiting: awaiting, isMovedByServer: isMovedByServer, at: Self.now))
    }

    /// The files requested to be uploaded again, in order.
    var reuploads: [SyncAttributes] {
        requests.compactMap { if case .reuploadFile(let upload) = $0 { upload.attributes } else { nil } }
    }

    var waitingReupload: FileReupload? {
        if case .reuploadFile(let upload) = waiting?.request { upload } else { nil }
    }
}
