package import SyncProtocol

/// Downloads that are delivered together: those of one file group, or a single one.
package struct DownloadGroup: TableRow {
    /// How far a group is.
    package enum Status: String, Sendable {
        case notStarted, downloading, downloaded
    }

    /// The group of downloads.
    package let id: RowID<DownloadGroup>
    /// The sharing group.
    package let sharingGroupUUID: SharingGroupUUID
    /// The file group; nil for a file without one.
    package let fileGroupUUID: FileGroupUUID?
    /// How far it is; downloaded means that it can be delivered.
    package var status = Status.notStarted
    /// The master version of the index from which it comes.
    package let masterVersion: MasterVersion

    /// A group of which nothing is downloaded yet.
    package init(
        id: RowID<DownloadGroup>, sharingGroupUUID: SharingGroupUUID, fileGroupUUID: FileGroupUUID?,
        masterVersion: MasterVersion
    ) {
        self.id = id
        self.sharingGroupUUID = sharingGroupUUID
        self.fileGroupUUID = fileGroupUUID
        self.masterVersion = masterVersion
    }

    package var key: RowID<DownloadGroup> { id }

    /// What is looked for together.
    package enum IndexKey: Hashable, Sendable {
        /// Groups of downloads of a sharing group.
        case group(SharingGroupUUID)
        /// Those of a sharing group that are not begun.
        case notStarted(SharingGroupUUID)
        /// Those of a sharing group that are begun but not complete.
        case downloading(SharingGroupUUID)
        /// Those of a sharing group that can be delivered.
        case downloaded(SharingGroupUUID)
        /// Those of all sharing groups that were begun.
        case begun
    }

    package var indexKeys: [IndexKey] {
        switch status {
        case .notStarted: [.group(sharingGroupUUID), .notStarted(sharingGroupUUID)]
        case .downloading: [.group(sharingGroupUUID), .downloading(sharingGroupUUID), .begun]
        case .downloaded: [.group(sharingGroupUUID), .downloaded(sharingGroupUUID), .begun]
        }
    }
}

/// A change by others that the app does not have yet.
package struct DownloadItem: TableRow {
    /// What changed.
    package enum Kind: String, Sendable {
        case file, appMetaData, deletion
    }

    /// How far an item is.
    package enum Status: String, Sendable {
        case notStarted, downloading, downloaded
    }

    /// The item.
    package let id: RowID<DownloadItem>
    /// Its group.
    package let groupID: RowID<DownloadGroup>
    /// The file.
    package let fileUUID: FileUUID
    /// What changed.
    package let kind: Kind
    /// How far it is; deletions need no transfer.
    package var status = Status.notStarted
    /// Kind of contents.
    package var mimeType: MIMEType?
    /// The server's version of the contents.
    package let fileVersion: FileVersion
    /// The server's version of the text; nil if there is none.
    package var appMetaDataVersion: AppMetaDataVersion?
    /// The text, once downloaded.
    package var appMetaData: String?
    /// The storage in which the file is.
    package var cloudStorageType: CloudStorageType?
    /// When version 0 was uploaded.
    package var creationDate: WireDate?
    /// When the contents were last uploaded.
    package var updateDate: WireDate?
    /// Where the contents are, once downloaded; belongs to the library.
    package var location: LocalFileLocation?
    /// Whether the bytes were changed in the cloud behind the server's back.
    package var contentsChanged = false
    /// Why the contents are out of reach.
    package var goneReason: GoneReason?
    /// The app's answer to a conflict.
    package var resolution: StoredResolution?

    /// A change of which nothing is downloaded yet.
    package init(
        id: RowID<DownloadItem>, groupID: RowID<DownloadGroup>, fileUUID: FileUUID, kind: Kind, fileVersion: FileVersion
    ) {
        self.id = id
        self.groupID = groupID
        self.fileUUID = fileUUID
        self.kind = kind
        self.fileVersion = fileVersion
    }

    /// Whether nothing is to be transferred any more.
    package var isComplete: Bool { kind == .deletion || status == .downloaded }

    package var key: RowID<DownloadItem> { id }

    /// What is looked for together.
    package enum IndexKey: Hashable, Sendable {
        /// Downloads of a group of downloads.
        case group(RowID<DownloadGroup>)
        /// Those that have not arrived.
        case incomplete(RowID<DownloadGroup>)
        /// Those of them that are not under way.
        case waiting(RowID<DownloadGroup>)
        /// The download of a file.
        case file(FileUUID)
        /// What is under way.
        case inFlight
    }

    package var indexKeys: [IndexKey] {
        var keys = [IndexKey.group(groupID), .file(fileUUID)]
        if !isComplete { keys.append(.incomplete(groupID)) }
        if !isComplete, status == .notStarted { keys.append(.waiting(groupID)) }
        if status == .downloading { keys.append(.inFlight) }
        return keys
    }
}
