package import SyncProtocol

/// Downloads that are delivered together: those of one file group, or a single one.
package struct DownloadGroup: TableRow {
    /// The progress of a group.
    package enum Status: String, Sendable {
        case notStarted, downloading, downloaded
    }

    /// The group of downloads.
    package let id: RowID<DownloadGroup>
    /// The sharing group.
    package let sharingGroupUUID: SharingGroupUUID
    /// The file group; nil for a file without one.
    package let fileGroupUUID: FileGroupUUID?
    /// The progress of the group; when downloaded, it can be delivered.
    package var status = Status.notStarted
    /// The master version of the index that listed it.
    package let masterVersion: MasterVersion
    /// The highest priority of its downloads.
    package var priority = DownloadPriority.low

    /// Creates a group without completed downloads.
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

    /// Index keys of the table.
    package enum IndexKey: Hashable, Sendable {
        /// Groups of downloads of a sharing group.
        case group(SharingGroupUUID)
        /// Groups of downloads of a sharing group that are not started, by priority.
        case notStarted(SharingGroupUUID, DownloadPriority)
        /// Groups of downloads of a sharing group that are started but not complete.
        case downloading(SharingGroupUUID)
        /// Groups of downloads of a sharing group that can be delivered.
        case downloaded(SharingGroupUUID)
        /// Started groups of downloads of all sharing groups.
        case begun
    }

    package var indexKeys: [IndexKey] {
        switch status {
        case .notStarted: [.group(sharingGroupUUID), .notStarted(sharingGroupUUID, priority)]
        case .downloading: [.group(sharingGroupUUID), .downloading(sharingGroupUUID), .begun]
        case .downloaded: [.group(sharingGroupUUID), .downloaded(sharingGroupUUID), .begun]
        }
    }
}

/// A change by others that the app does not have yet.
package struct DownloadItem: TableRow {
    /// The kind of change.
    package enum Kind: String, Sendable {
        case file, appMetaData, deletion
    }

    /// The progress of an item.
    package enum Status: String, Sendable {
        case notStarted, downloading, downloaded
    }

    /// The item.
    package let id: RowID<DownloadItem>
    /// Its group.
    package let groupID: RowID<DownloadGroup>
    /// The file.
    package let fileUUID: FileUUID
    /// The kind of change.
    package let kind: Kind
    /// The progress of the item; deletions need no transfer.
    package var status = Status.notStarted
    /// The type of the contents.
    package var mimeType: MIMEType?
    /// The server's version of the contents.
    package let fileVersion: FileVersion
    /// The server's version of the text, or nil.
    package var appMetaDataVersion: AppMetaDataVersion?
    /// The text, once downloaded.
    package var appMetaData: String?
    /// The storage that holds the file.
    package var cloudStorageType: CloudStorageType?
    /// When version 0 was uploaded.
    package var creationDate: WireDate?
    /// When the contents were last uploaded.
    package var updateDate: WireDate?
    /// The location of the contents, once downloaded; owned by the library.
    package var location: LocalFileLocation?
    /// Whether the contents were changed in the cloud directly, without the server.
    package var contentsChanged = false
    /// Why the contents are out of reach.
    package var goneReason: GoneReason?
    /// Whether the file waits for its bytes in the owner's current storage: out of reach until they are uploaded again,
    /// or delivered from the former storage.
    package var awaitingReupload = false
    /// The app's answer to a conflict.
    package var resolution: StoredResolution?

    /// Creates a change that is not downloaded yet.
    package init(
        id: RowID<DownloadItem>, groupID: RowID<DownloadGroup>, fileUUID: FileUUID, kind: Kind, fileVersion: FileVersion
    ) {
        self.id = id
        self.groupID = groupID
        self.fileUUID = fileUUID
        self.kind = kind
        self.fileVersion = fileVersion
    }

    /// Whether no transfer remains.
    package var isComplete: Bool { kind == .deletion || status == .downloaded }

    package var key: RowID<DownloadItem> { id }

    /// Index keys of the table.
    package enum IndexKey: Hashable, Sendable {
        /// Downloads of a group of downloads.
        case group(RowID<DownloadGroup>)
        /// Downloads of a group that have not arrived.
        case incomplete(RowID<DownloadGroup>)
        /// Downloads of a group that have not arrived and are not in progress.
        case waiting(RowID<DownloadGroup>)
        /// The download of a file.
        case file(FileUUID)
        /// Downloads in progress.
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

/// The app's answer to a conflict, kept until the delivery.
package struct StoredResolution: Sendable, Equatable {
    /// The answer.
    package enum Answer: Sendable, Equatable {
        case content(ContentDownloadResolution)
        case deletion(DownloadDeletionResolution)
    }

    /// The answer.
    package let answer: Answer
    /// The latest item that existed when the app was asked: the answer does not cover later items.
    package let lastItem: RowID<UploadItem>

    /// Creates a resolution.
    package init(_ answer: Answer, lastItem: RowID<UploadItem>) {
        self.answer = answer
        self.lastItem = lastItem
    }

    /// The stored form: a word, and the id of the latest item.
    package var text: String {
        let word =
            switch answer {
            case .content(.acceptContentDownload): "accept"
            case .content(.rejectContentDownload(let kept)): "reject\(kept.rawValue)"
            case .deletion(.acceptDownloadDeletion): "acceptDeletion"
            case .deletion(.rejectDownloadDeletion(.keepContentUpload)): "keepUpload"
            case .deletion(.rejectDownloadDeletion(.removeContentUpload)): "removeUpload"
            }
        return "\(word) \(lastItem.rawValue)"
    }

    /// Parses the stored form; nil for any other text.
    package init?(text: String) {
        let parts = text.split(separator: " ")
        guard parts.count == 2, let number = Int64(parts[1]) else { return nil }
        lastItem = RowID(number)
        switch parts[0] {
        case "accept": answer = .content(.acceptContentDownload)
        case "acceptDeletion": answer = .deletion(.acceptDownloadDeletion)
        case "keepUpload": answer = .deletion(.rejectDownloadDeletion(.keepContentUpload))
        case "removeUpload": answer = .deletion(.rejectDownloadDeletion(.removeContentUpload))
        default:
            guard parts[0].hasPrefix("reject"), let bits = Int(parts[0].dropFirst(6)), (0...3).contains(bits) else {
                return nil
            }
            answer = .content(.rejectContentDownload(UploadResolution(rawValue: bits)))
        }
    }
}

/// A completed download whose result has not been used yet.
///
/// The contents of a version never change, so they remain valid after a change to the master version, and after a
/// relaunch.
package struct TransferCacheEntry: TableRow {
    /// The information in a reply other than the contents.
    package struct Reply: Sendable, Equatable {
        /// The requested version of the text.
        package var appMetaDataVersion: AppMetaDataVersion?
        /// The text.
        package var appMetaData: String?
        /// The storage that holds the file.
        package var cloudStorageType: CloudStorageType?
        /// Whether the contents were changed in the cloud directly, without the server.
        package var contentsChanged = false

        /// An empty reply.
        package init() {}
    }

    /// The entry.
    package let id: RowID<TransferCacheEntry>
    /// The file.
    package let fileUUID: FileUUID
    /// The version of the contents.
    package let fileVersion: FileVersion
    /// The information in the reply.
    package let reply: Reply
    /// The location of the contents; owned by the library.
    package let location: LocalFileLocation
    /// When it was stored; expired entries are removed.
    package let cachedAt: WireDate

    /// How long an entry is kept, in seconds: five days.
    package static let lifetimeSeconds: Int64 = 5 * 86_400

    /// Creates an entry.
    package init(
        id: RowID<TransferCacheEntry>, fileUUID: FileUUID, fileVersion: FileVersion, reply: Reply,
        location: LocalFileLocation, cachedAt: WireDate
    ) {
        self.id = id
        self.fileUUID = fileUUID
        self.fileVersion = fileVersion
        self.reply = reply
        self.location = location
        self.cachedAt = cachedAt
    }

    package var key: RowID<TransferCacheEntry> { id }

    package var indexKeys: [FileUUID] { [fileUUID] }
}
