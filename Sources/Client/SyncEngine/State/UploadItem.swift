package import SyncProtocol

/// A pending change.
package struct UploadItem: TableRow {
    /// The kinds of changes.
    package enum Kind: String, Sendable {
        case file, appMetaData, deletion, groupCreate, groupUpdate, groupRemoveUser
    }

    /// The progress of an item.
    package enum Status: String, Sendable {
        /// Waiting.
        case notStarted
        /// Sent with the commit.
        case delayed
        /// Its request is in progress.
        case uploading
        /// Staged on the server.
        case uploaded
    }

    /// The item's id; later items have greater ids.
    package private(set) var id: RowID<UploadItem>
    /// Its queue; changes only if the item is set aside or queued again.
    package internal(set) var queueID: RowID<UploadQueue>
    /// The kind of change.
    package let kind: Kind
    /// The progress of the item.
    package var status = Status.notStarted
    /// The group.
    package let sharingGroupUUID: SharingGroupUUID
    /// The file; nil for operations on the group.
    package let fileUUID: FileUUID?
    /// The file group that a new file belongs to.
    package var fileGroupUUID: FileGroupUUID?
    /// The type of the contents.
    package var mimeType: MIMEType?
    /// The version with which it was staged; for a deletion, the deleted version.
    package var stagedFileVersion: FileVersion?
    /// The new text.
    package var appMetaData: String?
    /// The version with which the text was staged.
    package var stagedAppMetaDataVersion: AppMetaDataVersion?
    /// The location of the contents.
    package var source: LocalFileLocation?
    /// Whether the library owns the file, and removes it with the item.
    package var ownsFile = false
    /// Size when it was queued, in bytes.
    package var fileSize: Int64?
    /// Modification time when it was queued, in seconds since 1970.
    package var fileModified: Double?
    /// Whether it undeletes a deleted file.
    package var uploadUndeletion = false
    /// The group's new name.
    package var newGroupName: String?
    /// The number of failed requests for it.
    package var attempts: Int32 = 0
    /// The error of the last failed request, or of the last sync that could not send it.
    package var lastError: StoredSyncError?

    /// Creates a newly queued change.
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

    /// Index keys of the table.
    package enum IndexKey: Hashable, Sendable {
        /// Items of a queue.
        case queue(RowID<UploadQueue>)
        /// Waiting items of a queue.
        case waiting(RowID<UploadQueue>)
        /// Changes to a file.
        case file(FileUUID)
        /// Removals of the user from a sharing group.
        case leaving(SharingGroupUUID)
        /// Items in progress, or sent with a commit.
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

    /// Whether it changes the contents or the text of a file.
    package var isContent: Bool { kind == .file || kind == .appMetaData }

    /// Whether it is staged, and takes part in the commit.
    package var isStaged: Bool { status == .uploaded && fileUUID != nil }

    /// Why the last sync did not send it, with its file; nil if no sync has tried.
    package var failure: SyncError? {
        guard var error = lastError?.error else { return nil }
        error.fileUUID = fileUUID
        error.sharingGroupUUID = sharingGroupUUID
        return error
    }

    /// The same change as if queued now: after all others, and never sent.
    func requeued(as id: RowID<UploadItem>, in queue: RowID<UploadQueue>) -> UploadItem {
        var item = self
        item.id = id
        item.queueID = queue
        item.attempts = 0
        item.lastError = nil
        item.uploadUndeletion = false
        return item
    }

    /// Resets it to an unsent item.
    mutating func resetStaging() {
        status = .notStarted
        stagedFileVersion = nil
        stagedAppMetaDataVersion = nil
    }
}

/// Changes that become visible to others together.
package struct UploadQueue: TableRow {
    /// The state of a queue in its life cycle.
    package enum State: String, Sendable {
        /// Accepts further changes to its group, which has at most one such queue.
        case open
        /// Waits for its turn to be sent.
        case closed
        /// Its group was lost, or the server refuses its contents. Sent only if the app queues it again, or the user
        /// becomes a member of the group again.
        case dead
    }

    /// The queue.
    package let id: RowID<UploadQueue>
    /// The queue's state in its life cycle.
    package var state = State.open
    /// The sequence number among the closed queues; nil while open. Waiting changes that were separated from their
    /// queue keep its number.
    package var closedSequence: Int64?
    /// The group of all its items.
    package let sharingGroupUUID: SharingGroupUUID
    /// The push notification text for the other members when it is committed.
    package var pushNotificationMessage: String?
    /// The batch in which it is being sent; nil if it is not being sent, or not as a batch.
    package var batchUUID: BatchUUID?
    /// The id of the commit that was sent, while its outcome is unknown. The commit of a batch counts as sent once all
    /// of its changes have been sent.
    package var commitID: CommitID?
    /// The master version that this commit, or the changes in the batch, named.
    package var commitVersion: MasterVersion?
    /// When it was opened.
    package let createdAt: WireDate

    /// An empty open queue of a group.
    package init(id: RowID<UploadQueue>, sharingGroupUUID: SharingGroupUUID, createdAt: WireDate) {
        self.id = id
        self.sharingGroupUUID = sharingGroupUUID
        self.createdAt = createdAt
    }

    package var key: RowID<UploadQueue> { id }

    package var indexKeys: [State] { [state] }
}
