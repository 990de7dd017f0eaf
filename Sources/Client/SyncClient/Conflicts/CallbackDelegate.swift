import Synchronization

/// The delegate of the library's predecessor, with answers that may come later and from anywhere. For apps that move over;
/// new ones implement ``SyncServerDelegate``.
///
/// The methods are called one at a time, on no particular thread. Returning from a delivery is its acknowledgement.
public protocol SyncServerCallbackDelegate: AnyObject, Sendable {
    /// Decides about a download that clashes with local work, by ``SyncServerConflict/resolveConflict(resolution:)``.
    func syncServerMustResolveContentDownloadConflict(
        _ downloadContent: ServerContentType, downloadedContentAttributes: SyncAttributes,
        uploadConflict: SyncServerConflict<ContentDownloadResolution>)
    /// Decides about deletions by others that clash with local work; each takes an answer.
    func syncServerMustResolveDownloadDeletionConflicts(
        conflicts: [(downloadDeletion: SyncAttributes, uploadConflict: SyncServerConflict<DownloadDeletionResolution>)])
    /// Takes a file group over.
    func syncServerFileGroupDownloadComplete(group: [DownloadOperation])
    /// Takes a file group over of which at least one file is out of reach.
    func syncServerFileGroupDownloadGone(group: [DownloadOperation])
    /// Learns of groups that others created for the user, changed, or ended.
    func syncServerSharingGroupsDownloaded(created: [SharingGroup], updated: [SharingGroup], deleted: [SharingGroup])
    /// Learns of an error.
    func syncServerErrorOccurred(error: SyncError)
    /// Learns of an event.
    func syncServerEventOccurred(event: SyncEvent)
}

/// A conflict that waits for its answer. Forgotten without one, it is asked about again in a later sync.
public final class SyncServerConflict<Resolution: Sendable>: Sendable {
    /// The local work.
    public let conflictType: ConflictingClientOperation
    private let continuation: Mutex<CheckedContinuation<Resolution?, Never>?>

    init(_ conflictType: ConflictingClientOperation, _ continuation: CheckedContinuation<Resolution?, Never>) {
        self.conflictType = conflictType
        self.continuation = Mutex(continuation)
    }

    deinit { answer(nil) }

    /// Answers; the first answer counts.
    public func resolveConflict(resolution: Resolution) { answer(resolution) }

    private func answer(_ resolution: Resolution?) {
        let waiting = continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        waiting?.resume(returning: resolution)
    }
}

/// Lets a ``SyncServerCallbackDelegate`` work with a ``SyncServer``: the app holds it, and gives it to the library.
public final class CallbackDelegateAdapter: SyncServerDelegate {
    private struct Holder: Sendable {
        weak var delegate: (any SyncServerCallbackDelegate)?
    }

    private let holder: Mutex<Holder>
    private let reading = Mutex<[Task<Void, Never>]>([])

    /// - Parameter delegate: Held weakly.
    public init(_ delegate: any SyncServerCallbackDelegate) {
        holder = Mutex(Holder(delegate: delegate))
    }

    deinit { for task in reading.withLock({ $0 }) { task.cancel() } }

    private var delegate: (any SyncServerCallbackDelegate)? { holder.withLock { $0.delegate } }

    /// Becomes the delegate of a server, and hands its errors and events on.
    public func attach(to server: SyncServer, eventsDesired: EventDesired = .defaults) {
        let (events, errors) = (server.events(eventsDesired), server.errors)
        let tasks = [
            Task { [weak self] in for await event in events { self?.delegate?.syncServerEventOccurred(event: event) } },
            Task { [weak self] in for await error in errors { self?.delegate?.syncServerErrorOccurred(error: error) } },
        ]
        let old = reading.withLock { reading in
            defer { reading = tasks }
            return reading
        }
        for task in old { task.cancel() }
        server.delegate = self
    }

    /// There is nobody to take it: the files come again.
    private struct NoDelegate: Error {}

    private func requireDelegate() throws -> any SyncServerCallbackDelegate {
        guard let delegate else { throw NoDelegate() }
        return delegate
    }

    public func syncServerMustResolveContentDownloadConflict(
        _ downloadContent: ServerContentType, downloadedContentAttributes: SyncAttributes,
        conflictType: ConflictingClientOperation
    ) async -> ContentDownloadResolution? {
        guard let delegate else { return nil }
        return await withCheckedContinuation { continuation in
            delegate.syncServerMustResolveContentDownloadConflict(
                downloadContent, downloadedContentAttributes: downloadedContentAttributes,
                uploadConflict: SyncServerConflict(conflictType, continuation))
        }
    }

    public func syncServerMustResolveDownloadDeletionConflicts(
        _ conflicts: [DownloadDeletionConflict]
    ) async -> [FileUUID: DownloadDeletionResolution] {
        guard let delegate else { return [:] }
        return await withTaskGroup(of: (FileUUID, DownloadDeletionResolution?).self) { group in
            let (made, make) = AsyncStream.makeStream(of: (Int, SyncServerConflict<DownloadDeletionResolution>).self)
            for (number, conflict) in conflicts.enumerated() {
                group.addTask {
                    let resolution = await withCheckedContinuation { continuation in
                        _ = make.yield((number, SyncServerConflict(conflict.conflictType, continuation)))
                    }
                    return (conflict.attributes.fileUUID, resolution)
                }
            }
            var questions: [Int: SyncServerConflict<DownloadDeletionResolution>] = [:]
            if !conflicts.isEmpty {
                for await (number, question) in made {
                    questions[number] = question
                    if questions.count == conflicts.count { break }
                }
            }
            delegate.syncServerMustResolveDownloadDeletionConflicts(
                conflicts: conflicts.enumerated().compactMap { number, conflict in
                    questions[number].map { (conflict.attributes, $0) }
                })
            // Whatever the app does not keep counts as unanswered.
            questions = [:]
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }

    public func syncServerFileGroupDownloadComplete(group: [DownloadOperation]) async throws {
        try requireDelegate().syncServerFileGroupDownloadComplete(group: group)
    }

    public func syncServerFileGroupDownloadGone(group: [DownloadOperation]) async throws {
        try requireDelegate().syncServerFileGroupDownloadGone(group: group)
    }

    public func syncServerSharingGroupsDownloaded(
        created: [SharingGroup], updated: [SharingGroup], deleted: [SharingGroup]
    ) async {
        delegate?.syncServerSharingGroupsDownloaded(created: created, updated: updated, deleted: deleted)
    }
}
