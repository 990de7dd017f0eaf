package import SyncProtocol

/// The identity that owns the store, and the account switch that this device has begun.
package struct AccountState: TableRow {
    /// The phase of the switch.
    package enum Phase: String, Sendable {
        /// The server has received the proposal, but nothing has changed yet.
        case proposed
        /// The confirmation may have been sent: the server may have carried it out.
        case confirming
        /// The server has carried it out, and files are uploaded again.
        case reuploading
    }

    /// The identity.
    package let userAppID: UserAppID
    /// The number of account switches of the identity, as last reported.
    package var epoch: AccountEpoch
    /// The switch that this device has begun or joined; nil if none.
    package var switchID: AccountSwitchID?
    /// The phase of the switch, or nil.
    package var phase: Phase?
    /// The earlier switch whose uploads are not complete, while another one is proposed; nil if none.
    package var formerSwitchID: AccountSwitchID?
    /// Whether the server itself may be moving the files; then this device asks it before it uploads any of them again.
    package var mayBeMovedByServer = false
    /// Whether the app has paused the uploads.
    package var isPaused = false
    /// The number of bytes that this device has uploaded again.
    package var reuploadedBytes: Int64 = 0

    /// Creates the state of an identity that is not switching.
    package init(userAppID: UserAppID, epoch: AccountEpoch) {
        self.userAppID = userAppID
        self.epoch = epoch
    }

    /// The switch that the server has carried out, and whose files are being uploaded again; nil if none.
    package var reuploadingSwitchID: AccountSwitchID? { phase == .reuploading ? switchID : formerSwitchID }

    /// The key of the only row.
    package static let only = RowID<AccountState>(1)

    package var key: RowID<AccountState> { Self.only }
}

/// A committed version that this device uploads again, because its owner has switched accounts.
package struct ReuploadItem: TableRow {
    /// The progress of an item.
    package enum Status: String, Sendable {
        /// Waiting for its turn.
        case pending
        /// The library is asking the app for the contents, or uploading them.
        case uploading
        /// The server has the bytes again.
        case done
        /// The app does not have the contents; another device may.
        case unavailable
        /// The app has different contents: an upload of the next version also ends the wait.
        case superseded
        /// The server refuses the contents.
        case failed
    }

    /// The file.
    package let fileUUID: FileUUID
    /// The file's sharing group.
    package let sharingGroupUUID: SharingGroupUUID
    /// The file's file group; files of one are uploaded together.
    package let fileGroupUUID: FileGroupUUID?
    /// The version.
    package let fileVersion: FileVersion
    /// The progress of the item.
    package var status = Status.pending
    /// The number of failed requests for it.
    package var attempts: Int32 = 0
    /// The error of the last failed request.
    package var lastError: String?

    /// Creates an item that has not been uploaded.
    package init(
        fileUUID: FileUUID, sharingGroupUUID: SharingGroupUUID, fileGroupUUID: FileGroupUUID?, fileVersion: FileVersion
    ) {
        self.fileUUID = fileUUID
        self.sharingGroupUUID = sharingGroupUUID
        self.fileGroupUUID = fileGroupUUID
        self.fileVersion = fileVersion
    }

    package var key: FileUUID { fileUUID }

    /// Index keys of the table.
    package enum IndexKey: Hashable, Sendable {
        /// Waiting items of a sharing group.
        case waiting(SharingGroupUUID)
        /// Waiting items of a file group.
        case waitingTogether(FileGroupUUID)
        /// Items with a status.
        case status(Status)
    }

    package var indexKeys: [IndexKey] {
        guard status == .pending else { return [.status(status)] }
        return [.status(status), .waiting(sharingGroupUUID)] + (fileGroupUUID.map { [.waitingTogether($0)] } ?? [])
    }
}
