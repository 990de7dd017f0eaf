/// The library's current activity, for spinners and progress bars.
public enum SyncStatus: Sendable, Hashable {
    /// No sync is active.
    case idle
    /// Checking for changes.
    case checking
    /// Downloading changes made by others.
    case downloading(done: Int, total: Int)
    /// Uploading the app's changes.
    case uploading(done: Int, total: Int)
    /// The app or the user must take action: the last sync failed, or it left changes behind that wait or were set
    /// aside (``PendingReport/blocked`` counts them). Contains the first reason.
    case blocked(SyncError)
}

/// The progress of one file's transfer.
public struct FileTransfer: Sendable, Hashable {
    /// The direction of a transfer.
    public enum Direction: Sendable, Hashable {
        case upload, download
    }

    /// The file.
    public let fileUUID: FileUUID
    /// The direction.
    public let direction: Direction
    /// Bytes transferred so far; never less than reported before, even if the request is retried.
    public let completedBytes: Int64
    /// The total number of bytes; nil if unknown.
    public let totalBytes: Int64?
}

/// The results of a sync.
public struct SyncReport: Sendable, Hashable {
    /// Downloads that were delivered to the app, and acknowledged.
    public var delivered: [DownloadOperation] = []
    /// The number of contents and texts that are now visible to others.
    public var uploaded = 0
    /// The number of deletions that are now visible to others.
    public var deleted = 0
    /// Changes of the group that wait for a storage, or for the permission to write; each names its file and the owner
    /// of the storage. The next sync retries them.
    public var waiting: [SyncError] = []
    /// Changes that were set aside because they would always fail; each names its file.
    public var failed: [SyncError] = []
    /// Files that this sync has restored, after others had deleted them or a restored server had lost them
    /// (``SyncEvent/filesRestored(_:)``).
    public var restored: [FileUUID] = []
    /// Whether this sync detected that the server was restored from a backup older than this device's data
    /// (``SyncEvent/serverRestored(_:)``).
    public var serverWasRestored = false
    /// The number of changes that a sync alone cannot send, for example because the file is out of reach.
    public var skipped = 0
    /// The number of restarts because of changes by others.
    public var restarts = 0
    /// Whether it ended early because of ``SyncServer/stopSync()``.
    public var wasStopped = false
    /// Whether it ended early because a conflict has no answer yet.
    public var wasDeferred = false
}
