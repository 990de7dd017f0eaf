package import SyncProtocol

/// The identity whose files the store has, and the switch of its account that this device has begun.
package struct AccountState: TableRow {
    /// How far the switch is.
    package enum Phase: String, Sendable {
        /// The server knows of it, and nothing has changed yet.
        case proposed
        /// The confirmation may have been sent: the server may have carried it out.
        case confirming
        /// The server has carried it out, and files are uploaded again.
        case reuploading
    }

    /// The identity.
    package let userAppID: UserAppID
    /// How often the identity has switched accounts, as last reported.
    package var epoch: AccountEpoch
    /// The switch that this device has begun, or joined; nil if there is none.
    package var switchID: AccountSwitchID?
    /// How far it is; nil if there is none.
    package var phase: Phase?
    /// The switch that is carried out and not over yet, while a further one is proposed; nil if there is none.
    package var formerSwitchID: AccountSwitchID?
    /// Whether the server may be moving the files by itself; then it is asked before any of them is uploaded again.
    package var mayBeMovedByServer = false
    /// Whether the app has paused the uploads.
    package var isPaused = false
    /// How much this device has uploaded again, in bytes.
    package var reuploadedBytes: Int64 = 0

    /// Creates the state of an identity that is not switching.
    package init(userAppID: UserAppID, epoch: AccountEpoch) {
        self.userAppID = userAppID
        self.epoch = epoch
    }

    /// The switch that the server has carried out, and whose files are uploaded again; nil if there is none.
    package var reuploadingSwitchID: AccountSwitchID? { phase == .reuploading ? switchID : formerSwitchID }

    /// The key of the only row.
    package static let only = RowID<AccountState>(1)

    package var key: RowID<AccountState> { Self.only }
}
