import Synchronization

// Syncs, and how they go.
extension SyncServer {
    /// Asks for a sync, and returns at once.
    ///
    /// With a group, what was queued for it is closed first, also while another sync is active; then changes of others
    /// come in, and those of the app go out. Without a group only ``sharingGroups`` is brought up to date. During a sync
    /// the request waits (``SyncEvent/syncDelayed``); while one is about to stop, nothing happens.
    /// - Parameters:
    ///   - reAttemptGoneDownloads: Whether files of the group that were out of reach are tried again.
    ///   - pushNotificationMessage: What the other members are told if something is committed.
    /// - Throws: `sharingGroupUUIDInconsistent` if something is queued for another group; `unknownSharingGroup`;
    ///   `notAMember`; `storeError`. What comes later is in ``errors``.
    public func sync(
        sharingGroupUUID: SharingGroupUUID? = nil, reAttemptGoneDownloads: Bool = false,
        pushNotificationMessage: String? = nil
    ) throws(SyncError) {
        try driver.sync(
            SyncRequest(
                sharingGroupUUID: sharingGroupUUID, reAttemptGoneDownloads: reAttemptGoneDownloads,
                pushNotificationMessage: pushNotificationMessage), id: driver.makeRunID())
    }

    /// Asks for a sync as ``sync(sharingGroupUUID:reAttemptGoneDownloads:pushNotificationMessage:)`` does, and waits
    /// until all that was closed for the group by then is through.
    ///
    /// Cancelling the task ends the waiting, not the sync; ``stopSync()`` ends that.
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

    /// Asks the active sync to end as soon as what is under way is done. Requests that wait are dropped; what was done
    /// stays. Without a sync nothing happens.
    public func stopSync() {
        driver.stop()
    }

    /// As ``stopSync()``, and waits until no sync is active any more.
    public func stopped() async {
        let statuses = driver.statuses.stream(.unbounded, first: nil)
        stopSync()
        guard isSyncing else { return }
        for await _ in statuses where !isSyncing { return }
    }

    /// Sends what was closed and could not be sent yet, if no sync is active, and what other processes left in the
    /// ``UploadInbox``. For apps that learn that the network is back, or come to the foreground.
    public func resumePendingUploads() {
        driver.resumePendingUploads()
    }

    /// Whether a sync is active.
    public var isSyncing: Bool { driver.state.withLock { $0.machine.isSyncing } }

    /// Whether something that was closed is still to be sent. What is only queued does not count.
    public var uploadsPending: Bool { driver.state.withLock { $0.machine.uploadsPending } }

    /// The groups that the user is a member of.
    public var sharingGroups: [SharingGroup] { driver.state.withLock { $0.machine.sharingGroups } }

    // MARK: Streams

    /// Events from now on, for any number of callers.
    public func events(_ desired: EventDesired = .defaults) -> AsyncStream<SyncEvent> {
        driver.events.stream(where: { desired.contains($0.kind) })
    }

    /// Errors from now on. When one has ended a sync, ``isSyncing`` is false already.
    public var errors: AsyncStream<SyncError> { driver.errors.stream() }

    /// The groups as they are, then each time they change.
    public func sharingGroupChanges() -> AsyncStream<[SharingGroup]> {
        driver.state.withLock { driver.sharingGroupChanges.stream(.bufferingNewest(1), first: $0.sharingGroups) }
    }

    /// What the library does now, then each time that changes.
    public func status() -> AsyncStream<SyncStatus> {
        driver.state.withLock { driver.statuses.stream(.bufferingNewest(1), first: $0.status) }
    }

    /// How far the bytes of single files are.
    public func progress() -> AsyncStream<FileTransfer> { driver.transfers.stream(.bufferingNewest(64)) }
}
