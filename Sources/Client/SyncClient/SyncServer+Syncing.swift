import Foundation
import Logging
import Synchronization

// Syncs and their progress.
extension SyncServer {
    /// Requests a sync, and returns immediately.
    ///
    /// With a group, its queue is closed first, even while another sync is active; then the sync downloads changes made
    /// by others, and uploads the app's. Without a group, only ``sharingGroups`` is updated. During a sync the request
    /// waits (``SyncEvent/syncDelayed``), and is carried out even if that sync fails for a reason specific to its
    /// group; while a sync is about to stop, nothing happens.
    /// - Parameters:
    ///   - reAttemptGoneDownloads: Whether to retry files of the group that were out of reach.
    ///   - pushNotificationMessage: The push notification text for the other members if something is committed.
    /// - Throws: `unknownSharingGroup`; `notAMember`; `storeError`. Later errors are reported by ``errors``.
    public func sync(
        sharingGroupUUID: SharingGroupUUID? = nil, reAttemptGoneDownloads: Bool = false,
        pushNotificationMessage: String? = nil
    ) throws(SyncError) {
        try driver.sync(
            SyncRequest(
                sharingGroupUUID: sharingGroupUUID, reAttemptGoneDownloads: reAttemptGoneDownloads,
                pushNotificationMessage: pushNotificationMessage), id: driver.makeRunID())
    }

    /// Requests a sync as ``sync(sharingGroupUUID:reAttemptGoneDownloads:pushNotificationMessage:)`` does, and waits
    /// until all changes to the group that were closed by then have been processed.
    ///
    /// Cancelling the task ends the wait, not the sync; to end the sync, call ``stopSync()``.
    /// - Throws: ``SyncError``; `CancellationError`.
    @discardableResult
    public func synced(
        sharingGroupUUID: SharingGroupUUID? = nil, reAttemptGoneDownloads: Bool = false,
        pushNotificationMessage: String? = nil
    ) async throws -> SyncReport {
        let request = SyncRequest(
            sharingGroupUUID: sharingGroupUUID, reAttemptGoneDownloads: reAttemptGoneDownloads,
            pushNotificationMessage: pushNotificationMessage)
        let (driver, id) = (driver, driver.makeRunID())
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                do throws(SyncError) {
                    try driver.sync(request, id: id, continuation)
                    if Task.isCancelled { driver.stopWaiting(for: id) }
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        } onCancel: {
            driver.stopWaiting(for: id)
        }
    }

    /// Ends the active sync: cancels transfers and requests in progress within a second; they resume with the next
    /// sync. Work of the app in progress, such as accepting a delivery, completes first. Delayed sync requests are
    /// dropped; completed work is kept. Does nothing if no sync is active.
    public func stopSync() {
        driver.stop()
    }

    /// As ``stopSync()``, but waits until no sync is active.
    public func stopped() async {
        let statuses = driver.statuses.stream(.unbounded, first: nil)
        stopSync()
        guard isSyncing else { return }
        for await _ in statuses where !isSyncing { return }
    }

    /// Sends closed queues that could not be sent yet, if no sync is active, and the uploads that other processes left
    /// in the ``UploadInbox``. Call it when the network returns, or when the app comes to the foreground.
    public func resumePendingUploads() {
        driver.resumePendingUploads()
    }

    /// Whether a sync is active.
    public var isSyncing: Bool { driver.state.withLock { $0.machine.isSyncing } }

    /// Whether a closed queue remains to be sent. An open queue does not count.
    public var uploadsPending: Bool { driver.state.withLock { $0.machine.uploadsPending } }

    /// The groups that the user is a member of.
    public var sharingGroups: [SharingGroup] { driver.state.withLock { $0.machine.sharingGroups } }

    // MARK: Streams

    /// The events from now on, for any number of subscribers.
    public func events(_ desired: EventDesired = .defaults) -> AsyncStream<SyncEvent> {
        driver.events.stream(where: { desired.contains($0.kind) })
    }

    /// The errors from now on. When an error that ended a sync arrives, ``isSyncing`` is already false.
    public var errors: AsyncStream<SyncError> { driver.errors.stream() }

    /// The current groups, then the groups after each change.
    public func sharingGroupChanges() -> AsyncStream<[SharingGroup]> {
        driver.state.withLock { driver.sharingGroupChanges.stream(.bufferingNewest(1), first: $0.sharingGroups) }
    }

    /// The existing files of a group that the library knows, as ``files(inSharingGroup:)`` returns them: the current
    /// ones, then the files after changes by the app, and by others once the app has accepted their delivery.
    public func fileChanges(inSharingGroup group: SharingGroupUUID) -> FileChanges {
        FileChanges(
            changes: driver.fileChanges.stream(
                .bufferingNewest(1), first: ChangedFiles(), where: { $0.mayConcern(group) }),
            files: { [driver] in driver.files(inSharingGroup: group) })
    }

    /// The library's current status, then each change to it.
    public func status() -> AsyncStream<SyncStatus> {
        driver.state.withLock { driver.statuses.stream(.bufferingNewest(1), first: $0.status) }
    }

    /// The progress of individual file transfers.
    public func progress() -> AsyncStream<FileTransfer> { driver.transfers.stream(.bufferingNewest(64)) }
}

// Transfers that continued while no process of the app was running.
extension SyncServer {
    /// Accepts a transfer that an earlier process started and that ended while no process was waiting for it, such as a
    /// background session's. The library uses its result when its turn comes, and does not transfer the file again.
    ///
    /// If the transfer failed, or is no longer needed, discards it and removes its file.
    /// - Throws: `storeError`; `fileManagerError`.
    public func take(_ transfer: UnattendedTransfer) async throws(SyncError) {
        defer { if let file = transfer.file { try? FileManager.default.removeItem(at: file) } }
        guard let label = transfer.label.flatMap(TransferLabel.init), case .success(let reply) = transfer.result else {
            return
        }
        switch label {
        case .upload(let file, let version, let textVersion):
            guard case .success(let staged)? = try? await ServerConnection.uploadOutcome(of: reply) else { return }
            try driver.change { machine throws(SyncError) in
                let actions = machine.noteStaged(
                    file, version, textVersion, committedAs: staged.committedMasterVersion)
                return ((), actions)
            }
        case .download(let file, let version, let textVersion):
            guard let bytes = transfer.file,
                case .success(let downloaded)? = try? await ServerConnection.downloadOutcome(of: reply, in: bytes),
                !downloaded.lacksAppMetaData
            else { return }
            let location = try driver.files.move(bytes)
            do throws(SyncError) {
                try driver.change { machine throws(SyncError) in
                    let arrived = ServerReply.FileDownload(
                        location: location, appMetaData: downloaded.appMetaData,
                        cloudStorageType: downloaded.cloudStorageType, contentsChanged: downloaded.contentsChanged)
                    return ((), machine.keepDownload(arrived, of: file, version, textVersion, at: driver.now))
                }
            } catch {
                driver.files.remove(location)
                throw error
            }
        }
    }
}
