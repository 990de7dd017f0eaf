package import SyncProtocol

/// A client's whole persistent state: the contents of its store, as one value in memory.
///
/// Each event changes it once; ``takeChanges()`` then returns the rows that the store must write, in one transaction,
/// before any resulting action is performed.
package struct ClientState: Sendable, Equatable {
    /// The greatest id that each table has assigned to a row.
    package struct LastIDs: Sendable, Equatable {
        package var queue: Int64 = 0
        package var item: Int64 = 0
        package var downloadGroup: Int64 = 0
        package var download: Int64 = 0
        package var transfer: Int64 = 0

        /// No ids have been assigned.
        package init() {}
    }

    /// The sharing groups.
    package var groups = Table<SharingEntry>()
    /// The last known state of each file.
    package var directory = Table<DirectoryEntry>()
    /// Open, closed and dead queues.
    package var queues = Table<UploadQueue>()
    /// The items in the queues.
    package var items = Table<UploadItem>()
    /// Pending downloads by file group.
    package var downloadGroups = Table<DownloadGroup>()
    /// Pending downloads.
    package var downloads = Table<DownloadItem>()
    /// Finished downloads that have not been used yet.
    package var transfers = Table<TransferCacheEntry>()
    /// The identity that the store belongs to; at most one row.
    package var account = Table<AccountState>()
    /// Files that this device uploads again after a switch of accounts.
    package var reuploads = Table<ReuploadItem>()
    /// The last assigned row ids.
    package var lastIDs = LastIDs()

    /// The state of a new client: empty.
    package init() {}

    /// Equal if all rows are; ids of rows that were never stored do not matter.
    package static func == (left: Self, right: Self) -> Bool {
        left.groups == right.groups && left.directory == right.directory && left.queues == right.queues
            && left.items == right.items && left.downloadGroups == right.downloadGroups
            && left.downloads == right.downloads && left.transfers == right.transfers
            && left.account == right.account && left.reuploads == right.reuploads
    }
}

/// The changes that one event makes to each table.
package struct StateChanges: Sendable {
    package var groups: [RowChange<SharingEntry>] = []
    package var directory: [RowChange<DirectoryEntry>] = []
    package var queues: [RowChange<UploadQueue>] = []
    package var items: [RowChange<UploadItem>] = []
    package var downloadGroups: [RowChange<DownloadGroup>] = []
    package var downloads: [RowChange<DownloadItem>] = []
    package var transfers: [RowChange<TransferCacheEntry>] = []
    package var account: [RowChange<AccountState>] = []
    package var reuploads: [RowChange<ReuploadItem>] = []

    /// Whether nothing changed.
    package var isEmpty: Bool {
        groups.isEmpty && directory.isEmpty && queues.isEmpty && items.isEmpty && downloadGroups.isEmpty
            && downloads.isEmpty && transfers.isEmpty && account.isEmpty && reuploads.isEmpty
    }
}

extension ClientState {
    /// The rows that changed since the last call.
    package mutating func takeChanges() -> StateChanges {
        StateChanges(
            groups: groups.takeChanges(), directory: directory.takeChanges(), queues: queues.takeChanges(),
            items: items.takeChanges(), downloadGroups: downloadGroups.takeChanges(),
            downloads: downloads.takeChanges(), transfers: transfers.takeChanges(), account: account.takeChanges(),
            reuploads: reuploads.takeChanges())
    }

    /// Applies the changes that another state reported; used by an in-memory store.
    package mutating func apply(_ changes: StateChanges) {
        groups.apply(changes.groups)
        directory.apply(changes.directory)
        queues.apply(changes.queues)
        items.apply(changes.items)
        downloadGroups.apply(changes.downloadGroups)
        downloads.apply(changes.downloads)
        transfers.apply(changes.transfers)
        account.apply(changes.account)
        reuploads.apply(changes.reuploads)
        for case .put(let row) in changes.queues { lastIDs.queue = max(lastIDs.queue, row.id.rawValue) }
        for case .put(let row) in changes.items { lastIDs.item = max(lastIDs.item, row.id.rawValue) }
        for case .put(let row) in changes.downloadGroups {
            lastIDs.downloadGroup = max(lastIDs.downloadGroup, row.id.rawValue)
        }
        for case .put(let row) in changes.downloads { lastIDs.download = max(lastIDs.download, row.id.rawValue) }
        for case .put(let row) in changes.transfers { lastIDs.transfer = max(lastIDs.transfer, row.id.rawValue) }
    }
}

// Ids for new rows.
extension ClientState {
    mutating func nextQueueID() -> RowID<UploadQueue> {
        lastIDs.queue += 1
        return RowID(lastIDs.queue)
    }

    mutating func nextItemID() -> RowID<UploadItem> {
        lastIDs.item += 1
        return RowID(lastIDs.item)
    }

    mutating func nextDownloadGroupID() -> RowID<DownloadGroup> {
        lastIDs.downloadGroup += 1
        return RowID(lastIDs.downloadGroup)
    }

    mutating func nextDownloadID() -> RowID<DownloadItem> {
        lastIDs.download += 1
        return RowID(lastIDs.download)
    }

    mutating func nextTransferID() -> RowID<TransferCacheEntry> {
        lastIDs.transfer += 1
        return RowID(lastIDs.transfer)
    }
}

// Queries that several parts of the engine use.
extension ClientState {
    /// The queue that accepts further changes to a group; nil if none are queued.
    package func openQueue(of group: SharingGroupUUID) -> UploadQueue? {
        queues.rows(at: .open).first { $0.sharingGroupUUID == group }
    }

    /// The groups that have an open queue, in the order in which the queues were opened.
    package var openGroups: [SharingGroupUUID] { queues.rows(at: .open).compactMap(\.sharingGroupUUID) }

    /// The closed queues, of one group or of all, in the order in which they were closed.
    package func closedQueues(of group: SharingGroupUUID? = nil) -> [UploadQueue] {
        queues.rows(at: .closed).filter { group == nil || $0.sharingGroupUUID == group }
            .sorted { ($0.closedSequence ?? 0, $0.id) < ($1.closedSequence ?? 0, $1.id) }
    }

    /// The sequence number for the next queue that is closed.
    var nextClosedSequence: Int64 { (queues.all.compactMap(\.closedSequence).max() ?? 0) + 1 }

    /// The items of a queue, in the order in which they were queued.
    package func items(in queue: RowID<UploadQueue>) -> [UploadItem] {
        items.rows(at: .queue(queue))
    }

    /// The pending changes to a file across all queues that are not dead, oldest first.
    package func pendingItems(of file: FileUUID) -> [UploadItem] {
        items.rows(at: .file(file)).filter { queues[$0.queueID]?.state != .dead }
    }

    /// The pending downloads of one group of downloads.
    package func downloads(in group: RowID<DownloadGroup>) -> [DownloadItem] {
        downloads.rows(at: .group(group))
    }

    /// The pending download of a file.
    package func download(of file: FileUUID) -> DownloadItem? {
        downloads.first(at: .file(file))
    }

    /// The groups of downloads of one sharing group.
    package func downloadGroups(of group: SharingGroupUUID) -> [DownloadGroup] {
        downloadGroups.rows(at: .group(group))
    }

    /// Whether the user is about to leave the group.
    package func isBeingLeft(_ group: SharingGroupUUID) -> Bool {
        items.rows(at: .leaving(group)).contains { queues[$0.queueID]?.state != .dead }
    }

    /// Every file owned by the library that a row refers to.
    package var ownedFiles: [LocalFileLocation] {
        items.all.compactMap { $0.ownsFile ? $0.source : nil } + downloads.all.compactMap(\.location)
            + transfers.all.map(\.location)
    }
}
