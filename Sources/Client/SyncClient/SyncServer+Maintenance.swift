import Logging
import Synchronization

// File queries, and repairs.
extension SyncServer {
    /// The library's information about a file.
    /// - Throws: `getAttributesForUnknownFile`, `fileAlreadyDeleted`.
    public func getAttributes(forFileUUID file: FileUUID) throws(SyncError) -> SyncAttributes {
        try driver.read { machine throws(SyncError) in try machine.attributes(of: file) }
    }

    /// The existing files of a group that the library knows.
    public func files(inSharingGroup group: SharingGroupUUID) -> [SyncAttributes] {
        driver.state.withLock { state in
            state.machine.state.directory.rows { $0.sharingGroupUUID == group && !$0.deletedLocally }.map(\.attributes)
        }
    }

    /// Requests that the next sync of the group delivers a file again, even in the same version. The request is kept
    /// until it is fulfilled or the file is deleted. Ignores files that are out of reach, and files that the server
    /// does not have yet.
    /// - Throws: `couldNotFindFileUUID`, `fileAlreadyDeleted`; `storeError`.
    public func requestDownload(forFileUUID file: FileUUID) throws(SyncError) {
        try driver.change { machine throws(SyncError) in
            try machine.requestDownload(of: file)
            return ((), [])
        }
    }

    /// Drops pending changes, or everything that the library stores, with its copies. Touches neither the app's files
    /// nor the server. Requires no sign-in.
    /// - Throws: `syncIsOperating`; `storeError`.
    public func reset(type: ResetType) throws(SyncError) {
        try driver.reset(type)
    }

    /// Forgets a group that the user is no longer a member of: its files, and its unsent changes. The app's own data is
    /// not touched.
    /// - Throws: `unknownSharingGroup`; `syncIsOperating` if the user is still a member; `storeError`.
    public func forget(sharingGroupUUID: SharingGroupUUID) throws(SyncError) {
        try driver.change { machine throws(SyncError) in ((), try machine.forget(sharingGroupUUID)) }
    }

    /// Compares the app's files with the files that the library knows; nil while a sync is active. Changes nothing.
    public func localConsistencyCheck(clientFiles: [FileUUID]) -> LocalConsistencyResults? {
        driver.state.withLock { $0.machine.localConsistencyCheck(clientFiles: Set(clientFiles)) }
    }

    /// Syncs a group, then compares the app's files of the group with the files that the library knows.
    /// - Parameter repair: Whether another sync downloads files that are missing from the app; pending changes of a
    ///   file are not touched.
    /// - Returns: The results before any repair.
    /// - Throws: As ``synced(sharingGroupUUID:reAttemptGoneDownloads:pushNotificationMessage:)``; `syncIsOperating` if
    ///   another sync was started meanwhile.
    @discardableResult
    public func consistencyCheck(
        sharingGroupUUID group: SharingGroupUUID, localFiles: [FileUUID], repair: Bool = false
    ) async throws -> LocalConsistencyResults {
        try await synced(sharingGroupUUID: group)
        let found: LocalConsistencyResults? = driver.state.withLock { state in
            guard var results = state.machine.localConsistencyCheck(clientFiles: Set(localFiles)) else { return nil }
            let directory = state.machine.state.directory
            func isInGroup(_ file: FileUUID) -> Bool { directory[file]?.sharingGroupUUID == group }
            results.clientMissingAndDeleted = results.clientMissingAndDeleted.filter(isInGroup)
            results.clientMissingNotDeleted = results.clientMissingNotDeleted.filter(isInGroup)
            results.clientHasDeleted = results.clientHasDeleted.filter(isInGroup)
            return results
        }
        guard let found else { throw SyncError(.syncIsOperating, sharingGroupUUID: group) }
        if found != LocalConsistencyResults() {
            driver.logger.notice(
                "App and library know different files",
                metadata: [
                    "missing": "\(found.clientMissingNotDeleted.count)", "deleted": "\(found.clientHasDeleted.count)",
                    "unknown": "\(found.directoryMissing.count)",
                ])
        }
        if repair, !found.clientMissingNotDeleted.isEmpty {
            for file in found.clientMissingNotDeleted { try requestDownload(forFileUUID: file) }
            try await synced(sharingGroupUUID: group)
        }
        return found
    }

    /// The pending changes and downloads, with reasons and numbers of attempts.
    public func pendingReport() -> PendingReport {
        driver.state.withLock { PendingReport($0.machine.state) }
    }

    /// Logs everything that the library tracks, between a first and a last line, and returns it as a report. Omits
    /// names, texts and contents of files.
    @discardableResult
    public func logAllTracking() -> TrackingReport {
        let report = driver.state.withLock { state in
            TrackingReport(state.machine.state, isSyncing: state.machine.isSyncing)
        }
        driver.logger.notice("Tracking report begins")
        for line in report.lines { driver.logger.notice("\(line)") }
        driver.logger.notice("Tracking report ends")
        return report
    }
}
