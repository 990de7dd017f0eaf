/// What the library does now, for spinners and progress bars.
public enum SyncStatus: Sendable, Hashable {
    /// Nothing.
    case idle
    /// It looks for changes.
    case checking
    /// Changes of others come in.
    case downloading(done: Int, total: Int)
    /// Changes of the app go out.
    case uploading(done: Int, total: Int)
    /// The last sync failed, and the next one will as well unless the app or the person does something.
    case blocked(SyncError)
}

/// How far the bytes of one file are.
public struct FileTransfer: Sendable, Hashable {
    /// Which way they go.
    public enum Direction: Sendable, Hashable {
        case upload, download
    }

    /// The file.
    public let fileUUID: FileUUID
    /// Which way.
    public let direction: Direction
    /// Bytes that went or came so far; begins anew if the request is repeated.
    public let completedBytes: Int64
    /// Bytes in all; nil if nobody said so.
    public let totalBytes: Int64?
}

/// What a sync did.
public struct SyncReport: Sendable, Hashable {
    /// What was delivered to the app, and taken.
    public var delivered: [DownloadOperation] = []
    /// Contents and texts that others can see now.
    public var uploaded = 0
    /// Deletions that others can see now.
    public var deleted = 0
    /// Uploads that the server refused because the contents would be out of reach.
    public var gone: [SyncAttributes] = []
    /// Uploads that were set aside, since they would fail for ever; each names its file.
    public var failed: [SyncError] = []
    /// Changes that wait for something that a sync alone does not bring, such as a file that is out of reach.
    public var skipped = 0
    /// How often changes by others made it begin anew.
    public var restarts = 0
    /// Whether it ended early because of ``SyncServer/stopSync()``.
    public var wasStopped = false
    /// Whether it ended early because a conflict has no answer yet.
    public var wasDeferred = false
}
