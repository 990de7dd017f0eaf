package import SyncProtocol

/// Changes that become visible to others together.
package struct UploadQueue: TableRow {
    /// The state of a queue in its life cycle.
    package enum State: String, Sendable {
        /// Accepts further changes. There is exactly one such queue.
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
    /// The group of all its items; nil while it has none.
    package var sharingGroupUUID: SharingGroupUUID?
    /// The push notification text for the other members when it is committed.
    package var pushNotificationMessage: String?
    /// The batch in which it is being sent; nil if it is not being sent, or not as a batch.
    package var batchUUID: BatchUUID?
    /// The id of the commit that was sent, while its outcome is unknown. The commit of a batch counts as sent once all
    /// of its changes have been sent.
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
