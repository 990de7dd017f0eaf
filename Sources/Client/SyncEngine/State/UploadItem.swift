package import SyncProtocol

/// A change that waits to be sent.
package struct UploadItem: TableRow {
    /// What is to be changed.
    package enum Kind: String, Sendable {
        case file, appMetaData, deletion, groupCreate, groupUpdate, groupRemoveUser
    }

    /// How far an item is.
    package enum Status: String, Sendable {
        /// Waits.
        case notStarted
        /// Rides on the commit.
        case delayed
        /// Its request is under way.
        case uploading
        /// Staged on the server, or refused for good.
        case uploaded
    }

    /// The item; a younger one has a greater id.
    package let id: RowID<UploadItem>
    /// Its queue; another one only if it is set aside, or queued again.
    package internal(set) var queueID: RowID<UploadQueue>
    /// What is to be changed.
    package let kind: Kind
    /// How far it is.
    package var status = Status.notStarted
    /// The group.
    package let sharingGroupUUID: SharingGroupUUID
    /// The file; nil for operations on the group.
    package let fileUUID: FileUUID?
    /// The file group that a new file belongs to.
    package var fileGroupUUID: FileGroupUUID?
    /// Kind of contents.
    package var mimeType: MIMEType?
    /// The version with which it was staged; of a deletion, the one that is deleted.
    package var stagedFileVersion: FileVersion?
    /// The new text.
    package var appMetaData: String?
    /// The version with which the text was staged.
    package var stagedAppMetaDataVersion: AppMetaDataVersion?
    /// Where the contents are.
    package var source: LocalFileLocation?
    /// Whether the file belongs to the library, and goes with the item.
    package var ownsFile = false
    /// Size when it was queued, in bytes.
    package var fileSize: Int64?
    /// Time of its last change when it was queued, in seconds since 1970.
    package var fileModified: Double?
    /// Whether it brings a deleted file back.
    package var uploadUndeletion = false
    /// Why it was refused for good.
    package var goneReason: GoneReason?
    /// The group's new name.
    package var newGroupName: String?
    /// How often a request for it failed.
    package var attempts: Int32 = 0
    /// Why it failed last.
    package var lastError: String?

    /// A change that was just queued.
    package init(
        id: RowID<UploadItem>, queueID: RowID<UploadQueue>, kind: Kind, sharingGroupUUID: SharingGroupUUID,
        fileUUID: FileUUID? = nil
    ) {
        self.id = id
        self.queueID = queueID
        self.kind = kind
        self.sharingGroupUUID = sharingGroupUUID
        self.fileUUID = fileUUID
    }

    package var key: RowID<UploadItem> { id }

    /// What is looked for together.
    package enum IndexKey: Hashable, Sendable {
        /// What is in a queue.
        case queue(RowID<UploadQueue>)
        /// What of a queue waits.
        case waiting(RowID<UploadQueue>)
        /// Changes of a file.
        case file(FileUUID)
        /// Removals of the user from a sharing group.
        case leaving(SharingGroupUUID)
        /// What is under way, or rides on a commit.
        case inFlight
    }

    package var indexKeys: [IndexKey] {
        var keys = [IndexKey.queue(queueID)]
        if let fileUUID { keys.append(.file(fileUUID)) }
        if kind == .groupRemoveUser { keys.append(.leaving(sharingGroupUUID)) }
        switch status {
        case .notStarted: keys.append(.waiting(queueID))
        case .uploading, .delayed: keys.append(.inFlight)
        case .uploaded: break
        }
        return keys
    }

    /// Whether it changes contents or text of a file.
    package var isContent: Bool { kind == .file || kind == .appMetaData }

    /// Whether it is staged, and takes part in the commit.
    package var isStaged: Bool { status == .uploaded && goneReason == nil && fileUUID != nil }
}
