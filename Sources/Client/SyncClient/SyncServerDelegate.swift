/// What an app does with what the library brings. The methods are called one at a time, each after the last one returned.
///
/// Returning is the acknowledgement: only then does the library count a delivery as taken. If the process ends before,
/// the same comes again after the next launch, so whoever implements this must not mind getting something twice.
///
/// A method must not wait for a sync (``SyncServer/synced(sharingGroupUUID:reAttemptGoneDownloads:pushNotificationMessage:)``
/// or ``SyncServer/stopped()``): the sync waits for the method. Queueing changes and asking for a sync are fine.
public protocol SyncServerDelegate: AnyObject, Sendable {
    /// Decides about a download that clashes with local work on the same file. Asked if the configuration's
    /// ``ConflictResolver`` is ``ConflictResolver/delegate``.
    /// - Returns: Nil to be asked again in a later sync; this one ends. That is also the default.
    func syncServerMustResolveContentDownloadConflict(
        _ downloadContent: ServerContentType, downloadedContentAttributes: SyncAttributes,
        conflictType: ConflictingClientOperation
    ) async -> ContentDownloadResolution?

    /// Decides about deletions by others that clash with local work.
    /// - Returns: An answer for each file; those without one are asked about again in a later sync. By default none has.
    func syncServerMustResolveDownloadDeletionConflicts(
        _ conflicts: [DownloadDeletionConflict]
    ) async -> [FileUUID: DownloadDeletionResolution]

    /// Takes a file group over: moves the files at ``SyncServer/url(of:)``, replaces or deletes what the app has.
    /// - Throws: Anything, if the app cannot take it now: the sync ends, and the group comes again in the next one.
    func syncServerFileGroupDownloadComplete(group: [DownloadOperation]) async throws

    /// Takes a file group over of which at least one file is out of reach; the others are as good as ever.
    func syncServerFileGroupDownloadGone(group: [DownloadOperation]) async throws

    /// Learns of groups that others created for the user, changed, or ended.
    func syncServerSharingGroupsDownloaded(
        created: [SharingGroup], updated: [SharingGroup], deleted: [SharingGroup]
    ) async
}

extension SyncServerDelegate {
    public func syncServerMustResolveContentDownloadConflict(
        _ downloadContent: ServerContentType, downloadedContentAttributes: SyncAttributes,
        conflictType: ConflictingClientOperation
    ) async -> ContentDownloadResolution? { nil }

    public func syncServerMustResolveDownloadDeletionConflicts(
        _ conflicts: [DownloadDeletionConflict]
    ) async -> [FileUUID: DownloadDeletionResolution] { [:] }

    public func syncServerSharingGroupsDownloaded(
        created: [SharingGroup], updated: [SharingGroup], deleted: [SharingGroup]
    ) async {}
}
