import Synchronization

/// The delegate protocol of the library's predecessor, whose answers may arrive later and from anywhere. For apps that
/// migrate; new apps implement ``SyncServerDelegate``.
///
/// The methods are called one at a time, on any thread. Returning from a delivery acknowledges it.
public protocol SyncServerCallbackDelegate: AnyObject, Sendable {
    /// Decides what to do with a download that conflicts with local changes, by calling
    /// ``SyncServerConflict/resolveConflict(resolution:)``.
    func syncServerMustResolveContentDownloadConflict(
        _ downloadContent: ServerContentType, downloadedContentAttributes: SyncAttributes,
        uploadConflict: SyncServerConflict<ContentDownloadResolution>)
    /// Decides what to do with deletions by others that conflict with local changes; each needs an answer.
    func syncServerMustResolveDownloadDeletionConflicts(
        conflicts: [(downloadDeletion: SyncAttributes, uploadConflict: SyncServerConflict<DownloadDeletionResolution>)])
    /// Takes delivery of a file group.
    func syncServerFileGroupDownloadComplete(group: [DownloadOperation])
    /// Takes delivery of a file group in which at least one file is out of reach.
    func syncServerFileGroupDownloadGone(group: [DownloadOperation])
    /// Called when others created groups for the user, changed groups, or ended them.
    func syncServerSharingGroupsDownloaded(created: [SharingGroup], updated: [SharingGroup], deleted: [SharingGroup])
    /// Supplies the contents of a file that must be uploaded again after a switch of accounts. The default
    /// implementation supplies none.
    func contentForReupload(of attributes: SyncAttributes, fileVersion: FileVersion) -> ReuploadContent
    /// Called for each error.
    func syncServerErrorOccurred(error: SyncError)
    /// Called for each event.
    func syncServerEventOccurred(event: SyncEvent)
}

extension SyncServerCallbackDelegate {
    public func contentForReupload(
        of attributes: SyncAttributes, fileVersion: FileVersion
    ) -> ReuploadContent { .notAvailable }
}

/// A conflict that waits for its answer. If it is released without an answer, a later sync asks again.
public final class SyncServerConflict<Resolution: Sendable>: Sendable {
    /// The local changes.
    public let conflictType: ConflictingClientOperation
    private let continuation: Mutex<CheckedContinuation<Resolution?, Never>?>

    init(_ conflictType: ConflictingClientOperation, _ continuation: CheckedContinuation<Resolution?, Never>) {
        self.conflictType = conflictType
        self.continuation = Mutex(continuation)
    }

    deinit { answer(nil) }

    /// Resolves the conflict; only the first answer counts.
    public func resolveConflict(resolution: Resolution) { answer(resolution) }

    private func answer(_ resolution: Resolution?) {
        let waiting = continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        waiting?.resume(returning: resolution)
    }
}

/// Adapts a ``SyncServerCallbackDelegate`` to a ``SyncServer``. The app retains the adapter and attaches it to the
/// server.
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

    /// Becomes the delegate of a server, and forwards the server's errors and events.
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

    /// No delegate can accept the delivery: the files are delivered again.
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
            // A question that the app does not retain counts as unanswered.
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

    public func contentForReupload(
        of attributes: SyncAttributes, fileVersion: FileVersion
    ) async -> ReuploadContent {
        delegate?.contentForReupload(of: attributes, fileVersion: fileVersion) ?? .notAvailable
    }
}
