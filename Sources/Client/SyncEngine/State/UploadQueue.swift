package import SyncProtocol

/// Changes that become visible to others together.
package struct UploadQueue: TableRow {
    /// Where a queue is in its life.
    package enum State: String, Sendable {
        /// Takes further changes. There is exactly one such queue.
        case open
        /// Waits for its turn to be sent.
        case closed
        /// Its group was lost, or the server refused what is in it for good. Not sent unless the app queues it again.
        case dead
    }

    /// The queue.
    package let id: RowID<UploadQueue>
    /// Where it is in its life.
    package var state = State.open
    /// Counts the closed queues; nil while open.
    package var closedSequence: Int64?
    /// The group of all its items; nil while it has none.
    package var sharingGroupUUID: SharingGroupUUID?
    /// What the other members are told when it is committed.
    package var pushNotificationMessage: String?
    /// The batch as which it is being sent; nil if it is not, or not as one.
    package var batchUUID: BatchUUID?
    /// The id of the commit that was sent, as long as its outcome is not known. That of a batch counts as sent once all of
    /// its changes are on their way.
    package var commitID: CommitID?
    /// The master version that this commit, or the changes of the batch, named.
    package var commitVersion: MasterVersion?
    /// When it was opened.
    package let createdAt: WireDate

    /// An empty open queue.
    package init(id: RowID<UploadQueue>, createdAt: WireDate) {
        self.id = id
        self.createdAt = createdAt
    }

    package var key: RowID<UploadQueue> { id }

    package var indexKeys: [State] { [state] }
}
