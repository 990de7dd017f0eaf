package import SyncProtocol

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
