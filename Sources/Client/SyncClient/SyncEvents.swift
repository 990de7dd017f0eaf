import SyncEngine
import SyncProtocol
import Synchronization

/// Which events a stream delivers.
public struct EventDesired: OptionSet, Sendable, Hashable {
    /// The bits, one per kind of event.
    public let rawValue: Int

    /// Creates a set of kinds from their bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    public static let willStartDownloads = Self(rawValue: 1 << 0)
    public static let willStartUploads = Self(rawValue: 1 << 1)
    public static let singleFileUploadComplete = Self(rawValue: 1 << 2)
    public static let singleFileUploadWaiting = Self(rawValue: 1 << 3)
    public static let singleAppMetaDataUploadComplete = Self(rawValue: 1 << 4)
    public static let singleUploadDeletionComplete = Self(rawValue: 1 << 5)
    public static let contentUploadsCompleted = Self(rawValue: 1 << 6)
    public static let uploadDeletionsCompleted = Self(rawValue: 1 << 7)
    public static let sharingGroupUploadOperationCompleted = Self(rawValue: 1 << 8)
    public static let sharingGroupOwningUserRemoved = Self(rawValue: 1 << 9)
    public static let syncDelayed = Self(rawValue: 1 << 10)
    public static let syncStarted = Self(rawValue: 1 << 11)
    public static let syncDone = Self(rawValue: 1 << 12)
    public static let syncStopping = Self(rawValue: 1 << 13)
    public static let serverDown = Self(rawValue: 1 << 14)
    public static let refreshingCredentials = Self(rawValue: 1 << 15)
    public static let minimumIOSClientVersion = Self(rawValue: 1 << 16)
    public static let singleFileUploadFailed = Self(rawValue: 1 << 17)
    public static let accountSwitchProgress = Self(rawValue: 1 << 18)
    public static let accountSwitchFinished = Self(rawValue: 1 << 19)
    public static let filesRestored = Self(rawValue: 1 << 20)
    public static let serverRestored = Self(rawValue: 1 << 21)

    /// The events that most apps show.
    public static let defaults: Self = [
        .singleFileUploadComplete, .singleUploadDeletionComplete, .contentUploadsCompleted, .uploadDeletionsCompleted,
        .singleFileUploadFailed, .singleFileUploadWaiting, .filesRestored, .serverRestored, .accountSwitchProgress,
        .accountSwitchFinished,
    ]
    /// All kinds of events.
    public static let all = Self(rawValue: (1 << 22) - 1)
}

extension SyncEvent {
    /// The kind of the event.
    public var kind: EventDesired {
        switch self {
        case .willStartDownloads: .willStartDownloads
        case .willStartUploads: .willStartUploads
        case .singleFileUploadComplete: .singleFileUploadComplete
        case .singleFileUploadWaiting: .singleFileUploadWaiting
        case .filesRestored: .filesRestored
        case .serverRestored: .serverRestored
        case .singleFileUploadFailed: .singleFileUploadFailed
        case .singleAppMetaDataUploadComplete: .singleAppMetaDataUploadComplete
        case .singleUploadDeletionComplete: .singleUploadDeletionComplete
        case .contentUploadsCompleted: .contentUploadsCompleted
        case .uploadDeletionsCompleted: .uploadDeletionsCompleted
        case .sharingGroupUploadOperationCompleted: .sharingGroupUploadOperationCompleted
        case .sharingGroupOwningUserRemoved: .sharingGroupOwningUserRemoved
        case .syncDelayed: .syncDelayed
        case .syncStarted: .syncStarted
        case .syncDone: .syncDone
        case .syncStopping: .syncStopping
        case .accountSwitchProgress: .accountSwitchProgress
        case .accountSwitchFinished: .accountSwitchFinished
        case .serverDown: .serverDown
        case .refreshingCredentials: .refreshingCredentials
        case .minimumIOSClientVersion: .minimumIOSClientVersion
        }
    }
}

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
    /// The group's changes that wait for storage, or for permission to write; each names its file and the owner of the
    /// storage. The next sync retries them.
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

/// The files of a group: the current ones, then the files after each change. Ends with the library. A slow reader
/// receives only the newest state.
public struct FileChanges: AsyncSequence, Sendable {
    let changes: AsyncStream<ChangedFiles>
    let files: @Sendable () -> [SyncAttributes]

    /// Waits for changes.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var changes: AsyncStream<ChangedFiles>.Iterator
        fileprivate let files: @Sendable () -> [SyncAttributes]
        fileprivate var last: [SyncAttributes]?

        /// The files after the next change that an app can see; nil once the library is closed.
        public mutating func next() async -> [SyncAttributes]? {
            while await changes.next() != nil {
                let now = files()
                guard now != last else { continue }
                last = now
                return now
            }
            return nil
        }
    }

    /// Starts an observation; a second one shares the changes with the first.
    public func makeAsyncIterator() -> Iterator {
        Iterator(changes: changes.makeAsyncIterator(), files: files)
    }
}

/// The groups whose files have changed.
struct ChangedFiles: Sendable {
    /// Nil if any group's may have.
    private var groups: Set<SharingGroupUUID>?

    /// Changes in any group.
    init() {}

    init(_ changes: StateChanges) {
        var groups: Set<SharingGroupUUID> = []
        for change in changes.directory {
            // The group of a removed row is not known any more.
            guard case .put(let row) = change else { return }
            groups.insert(row.sharingGroupUUID)
        }
        self.groups = groups
    }

    func mayConcern(_ group: SharingGroupUUID) -> Bool { groups?.contains(group) ?? true }
}

/// Sends each element to any number of streams.
final class Broadcast<Element: Sendable>: Sendable {
    private struct Subscriber: Sendable {
        let continuation: AsyncStream<Element>.Continuation
        let isWanted: @Sendable (Element) -> Bool
    }

    private struct State {
        var next = 0
        var subscribers: [Int: Subscriber] = [:]
        var isFinished = false
    }

    private let state = Mutex(State())

    /// A stream of the elements sent from now on, which finishes with the library.
    /// - Parameters:
    ///   - first: The first element of the stream.
    ///   - isWanted: Which of the later elements it delivers.
    func stream(
        _ bufferingPolicy: AsyncStream<Element>.Continuation.BufferingPolicy = .unbounded, first: Element? = nil,
        where isWanted: @escaping @Sendable (Element) -> Bool = { _ in true }
    ) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: bufferingPolicy)
        if let first { continuation.yield(first) }
        let number: Int? = state.withLock { state in
            guard !state.isFinished else { return nil }
            state.next += 1
            state.subscribers[state.next] = Subscriber(continuation: continuation, isWanted: isWanted)
            return state.next
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { $0.subscribers[number] = nil }
        }
        return stream
    }

    func send(_ element: Element) {
        // Outside the lock, which the termination of a stream acquires.
        let subscribers = state.withLock { Array($0.subscribers.values) }
        for subscriber in subscribers where subscriber.isWanted(element) { subscriber.continuation.yield(element) }
    }

    func finish() {
        let subscribers = state.withLock { state in
            state.isFinished = true
            defer { state.subscribers = [:] }
            return Array(state.subscribers.values)
        }
        for subscriber in subscribers { subscriber.continuation.finish() }
    }
}
