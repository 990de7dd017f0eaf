import SyncEngine
import Synchronization

// The files that the library knows, and which of their contents this device has: all of them, or, in groups whose
// files are downloaded on demand, those that the app requests and has not evicted.
extension SyncServer {
    /// The library's information about a file.
    /// - Throws: `getAttributesForUnknownFile`, `fileAlreadyDeleted`.
    public func getAttributes(forFileUUID file: FileUUID) throws(SyncError) -> SyncAttributes {
        try driver.read { machine throws(SyncError) in try machine.attributes(of: file) }
    }

    /// The existing files of a group that the library knows, with or without their contents.
    public func files(inSharingGroup group: SharingGroupUUID) -> [SyncAttributes] {
        driver.files(inSharingGroup: group)
    }

    /// The existing files of a file group that the library knows, such as a photograph with its renditions.
    public func files(inFileGroup fileGroup: FileGroupUUID) -> [SyncAttributes] {
        driver.state.withLock { state in
            state.machine.state.directory.rows { $0.fileGroupUUID == fileGroup && !$0.deletedLocally }.map(\.attributes)
        }
    }

    // MARK: Downloads on demand

    /// Sets which contents of a group this device downloads; kept until it is set again. The policy of a new group is
    /// ``Configuration/downloadPolicy``.
    ///
    /// With ``DownloadPolicy/onDemand``, syncs inform the app of new and changed files only by their attributes
    /// (``files(inSharingGroup:)``, ``fileChanges(inSharingGroup:)``), texts and deletions; contents that the app has
    /// stay up to date until it evicts them. With ``DownloadPolicy/automatic``, the next sync of the group delivers all
    /// contents that the app does not have.
    /// - Throws: `unknownSharingGroup`; `storeError`.
    public func setDownloadPolicy(
        _ policy: DownloadPolicy, of group: SharingGroupUUID
    ) throws(SyncError) {
        try driver.change { machine throws(SyncError) in
            try machine.setDownloadPolicy(policy, of: group)
            return ((), [])
        }
    }

    /// Requests that the next sync of the group delivers a file: contents that the app does not have, or the same
    /// version again. The request is kept until it is fulfilled or the file is deleted. Ignores files that are out of
    /// reach, and files that the server does not have yet.
    /// - Parameter priority: Files with a higher priority are downloaded first; affects an active sync, except downloads
    ///   in progress.
    /// - Throws: `couldNotFindFileUUID`, `fileAlreadyDeleted`; `storeError`.
    public func requestDownload(
        of file: FileUUID, priority: DownloadPriority = .normal
    ) throws(SyncError) {
        try driver.change { machine throws(SyncError) in
            try machine.requestDownload(of: file, priority: priority)
            return ((), [])
        }
    }

    /// As ``requestDownload(of:priority:)``, with normal priority.
    public func requestDownload(forFileUUID file: FileUUID) throws(SyncError) { try requestDownload(of: file) }

    // MARK: Eviction

    /// Records that the app removes its contents of a file in a group with the policy ``DownloadPolicy/onDemand``: later
    /// versions are not downloaded until the app requests the file again. Also withdraws a request. Remove the contents
    /// after the call: if the process ends in between, ``localConsistencyCheck(clientFiles:)`` reports them
    /// (`clientHasEvicted`).
    /// - Throws: `contentsNotEvictable` for contents that the server does not have, that have a pending change, request
    ///   or download, or that are out of reach for others; `couldNotFindFileUUID`, `fileAlreadyDeleted`; `storeError`.
    public func evict(_ file: FileUUID) throws(SyncError) {
        try driver.change { machine throws(SyncError) in ((), try machine.evict(file)) }
    }

    /// Evicts the contents that the app used least recently, until the rest fits into a budget. Never evicts contents
    /// for which ``evict(_:)`` throws `contentsNotEvictable`, so the rest may be larger.
    /// - Parameters:
    ///   - group: The group; nil: all groups with the policy ``DownloadPolicy/onDemand``, which share the budget.
    ///   - bytes: The budget. Contents count with their size at their delivery or upload, or as reported to
    ///     ``noteUse(of:bytes:)``; of unknown size, with 0.
    /// - Returns: The evicted files, whose contents the app removes; least recently used first.
    /// - Throws: `storeError`.
    public func evict(
        in group: SharingGroupUUID? = nil, keepingBytes bytes: Int64
    ) throws(SyncError) -> [FileUUID] {
        try driver.change { machine throws(SyncError) in
            let (files, actions) = machine.evict(of: group, keeping: bytes)
            return (files, actions)
        }
    }

    /// Records that the app used its contents of a file now, such as to show them: they are evicted later than others.
    /// Deliveries and uploads count as uses. Does nothing for contents that the app does not have.
    /// - Parameter bytes: The size, for contents of unknown size: those that the app received before an update from a
    ///   release of the library without eviction.
    /// - Throws: `couldNotFindFileUUID`; `storeError`.
    public func noteUse(of file: FileUUID, bytes: Int64? = nil) throws(SyncError) {
        try driver.change { machine throws(SyncError) in
            try machine.noteUse(of: file, bytes: bytes, at: driver.now)
            return ((), [])
        }
    }
}
