/// Receives the library's deliveries to the app, and answers its questions. The methods are called one at a time, each
/// after the previous one has returned.
///
/// Returning acknowledges a delivery: only then does the library consider it complete. If the process ends earlier, the
/// same delivery is repeated after the next launch, so implementations must be idempotent.
///
/// A method must not wait for a sync
/// (``SyncServer/synced(sharingGroupUUID:reAttemptGoneDownloads:pushNotificationMessage:)`` or
/// ``SyncServer/stopped()``): the sync waits for the method. Queueing changes and requesting a sync are fine.
public protocol SyncServerDelegate: AnyObject, Sendable {
    /// Decides what to do with a download that conflicts with local changes to the same file. Called if the
    /// configuration's ``ConflictResolver`` is ``ConflictResolver/delegate``.
    /// - Returns: Nil to postpone the decision to a later sync; the current one ends. The default implementation
    ///   returns nil.
    func syncServerMustResolveContentDownloadConflict(
        _ downloadContent: ServerContentType, downloadedContentAttributes: SyncAttributes,
        conflictType: ConflictingClientOperation
    ) async -> ContentDownloadResolution?

    /// Decides what to do with deletions by others that conflict with local changes.
    /// - Returns: An answer for each file; a later sync asks again about files without an answer. The default
    ///   implementation answers for none.
    func syncServerMustResolveDownloadDeletionConflicts(
        _ conflicts: [DownloadDeletionConflict]
    ) async -> [FileUUID: DownloadDeletionResolution]

    /// Takes delivery of a file group: moves the files from ``SyncServer/url(of:)``, and replaces or deletes the app's
    /// own files.
    /// - Throws: Any error, if the app cannot take delivery now: the sync ends, and the next sync delivers the group
    ///   again.
    func syncServerFileGroupDownloadComplete(group: [DownloadOperation]) async throws

    /// Takes delivery of a file group in which at least one file is out of reach; the other files are delivered as
    /// usual.
    func syncServerFileGroupDownloadGone(group: [DownloadOperation]) async throws

    /// Called when others created groups for the user, changed groups, or ended them.
    func syncServerSharingGroupsDownloaded(
        created: [SharingGroup], updated: [SharingGroup], deleted: [SharingGroup]
    ) async

    /// Supplies the contents of a file that must be uploaded again: its owner has switched accounts (see
    /// ``SyncServer/confirmAccountSwitch()``), the server was restored from a backup and has lost them, or others
    /// deleted the file while another file of its file group was kept.
    /// - Parameter fileVersion: The required version, which is the app's current one; no other version is accepted.
    /// - Returns: The default implementation supplies nothing.
    func contentForReupload(of attributes: SyncAttributes, fileVersion: FileVersion) async -> ReuploadContent
}

/// An app's contents of a version that must be uploaded again.
public enum ReuploadContent: Sendable, Hashable {
    /// The version's contents, which must not change before the upload has ended.
    case file(LocalFileLocation)
    /// The app does not have the file; another device, or another member, may.
    case notAvailable
    /// The app has changed the file since: upload it as the next version.
    case differentVersion
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

    public func contentForReupload(
        of attributes: SyncAttributes, fileVersion: FileVersion
    ) async -> ReuploadContent { .notAvailable }
}
