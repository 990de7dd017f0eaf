import Logging
import Synchronization

// Repairs and reports.
extension SyncServer {
    /// Drops pending changes, or everything that the library stores, with its copies. Touches neither the app's files
    /// nor the server. Requires no sign-in.
    /// - Throws: `syncIsOperating`; `storeError`.
    public func reset(type: ResetType) throws(SyncError) {
        try driver.reset(type)
    }

    /// Removes a group that the user has left: its files, and its unsent changes. The app's own data
    /// is not touched.
    /// - Throws: `unknownSharingGroup`; `syncIsOperating` if the user is still a member; `storeError`.
    public func forget(sharingGroupUUID: SharingGroupUUID) throws(SyncError) {
        try driver.change { machine throws(SyncError) in ((), try machine.forget(sharingGroupUUID)) }
    }

    /// Compares the app's files with the files that the library knows; nil while a sync is active. Changes nothing.
    public func localConsistencyCheck(clientFiles: [FileUUID]) -> LocalConsistencyResults? {
        driver.state.withLock { $0.machine.localConsistencyCheck(clientFiles: Set(clientFiles)) }
    }

    /// Syncs a group, then compares the app's files of the group with the files that the library knows.
    /// - Parameter repair: Whether another sync downloads files that are missing from the app; pending changes to a
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
            results.clientHasEvicted = results.clientHasEvicted.filter(isInGroup)
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
        let report = trackingReport
        driver.logger.notice("Tracking report begins")
        for line in report.lines { driver.logger.notice("\(line)") }
        driver.logger.notice("Tracking report ends")
        return report
    }

    /// Everything that the library tracks.
    package var trackingReport: TrackingReport {
        driver.state.withLock { TrackingReport($0.machine.state, isSyncing: $0.machine.isSyncing) }
    }
}

/// Pending changes and downloads, for an app to show why something has not arrived yet.
public struct PendingReport: Sendable, Hashable {
    /// A pending change.
    public struct Change: Sendable, Hashable {
        /// The kinds of changes.
        public enum Kind: String, Sendable, Hashable {
            case file, appMetaData, deletion, groupCreation, groupUpdate, userRemoval
        }

        /// The kind of change.
        public let kind: Kind
        /// The group.
        public let sharingGroupUUID: SharingGroupUUID
        /// The file; nil for changes to a group.
        public let fileUUID: FileUUID?
        /// Whether a sync has closed its queue; otherwise the app has not requested a sync since it queued the change.
        public let isClosed: Bool
        /// Whether the server already has it, but not yet the rest of the queue.
        public let isStaged: Bool
        /// Whether it is no longer sent, because the group was lost or the server does not accept it: see
        /// ``SyncServer/retryUpload(forFileUUID:)`` and ``SyncServer/withdraw(forFileUUID:)``.
        public let isDead: Bool
        /// The number of failed attempts.
        public let attempts: Int
        /// Why the last sync did not send it, with its file; nil if no sync has tried.
        public let error: SyncError?

        /// The same as text, for logs.
        public var lastError: String? { error?.description }
        /// Whether later syncs send it only after the app or the user takes action.
        public var isBlocked: Bool { isDead || error.map { $0.recovery != .retryLater } ?? false }
    }

    /// A change by others that the app does not have yet.
    public struct Download: Sendable, Hashable {
        /// The file.
        public let fileUUID: FileUUID
        /// The group.
        public let sharingGroupUUID: SharingGroupUUID
        /// Whether it has been downloaded, and waits for the rest of its file group, for an answer, or for the app to
        /// accept it.
        public let isComplete: Bool
    }

    /// In the order in which they will be sent.
    public let changes: [Change]
    /// In the order in which they will be fetched.
    public let downloads: [Download]

    /// The number of changes that are sent only after the app or the user takes action.
    public var blocked: Int { changes.count(where: \.isBlocked) }

    package init(_ state: ClientState) {
        let queues = state.closedQueues() + state.queues.rows { $0.state != .closed }
        changes = queues.flatMap { queue in
            state.items(in: queue.id).map { item in
                Change(
                    kind: Change.Kind(item.kind), sharingGroupUUID: item.sharingGroupUUID, fileUUID: item.fileUUID,
                    isClosed: queue.state != .open, isStaged: item.isStaged, isDead: queue.state == .dead,
                    attempts: Int(item.attempts), error: item.failure)
            }
        }
        downloads = state.downloadGroups.inOrder.flatMap { group in
            state.downloads(in: group.id).map {
                Download(
                    fileUUID: $0.fileUUID, sharingGroupUUID: group.sharingGroupUUID, isComplete: $0.isComplete)
            }
        }
    }
}

extension PendingReport.Change.Kind {
    init(_ kind: UploadItem.Kind) {
        switch kind {
        case .file: self = .file
        case .appMetaData: self = .appMetaData
        case .deletion: self = .deletion
        case .groupCreate: self = .groupCreation
        case .groupUpdate: self = .groupUpdate
        case .groupRemoveUser: self = .userRemoval
        }
    }
}

/// Everything that the library tracks, for bug reports to the app's developer.
public struct TrackingReport: Sendable, Hashable, CustomStringConvertible {
    /// One line for each row.
    public let lines: [String]
    /// Violations of the library's invariants; empty if all hold.
    public let violations: [String]

    package init(_ state: ClientState, isSyncing: Bool) {
        violations = state.violations()
        var lines = ["syncing: \(isSyncing)"]
        for group in state.groups.inOrder {
            lines.append(
                "group \(group.sharingGroupUUID) master version \(group.masterVersion) permission \(group.permission)"
                    + " downloads \(group.downloadPolicy) sync needed \(group.syncNeeded) left \(group.removedFromGroup) new \(group.creationPending)"
            )
        }
        for queue in state.queues.inOrder {
            lines.append("queue \(queue.id) \(queue.state) commit \(queue.commitID != nil)")
            for item in state.items(in: queue.id) {
                lines.append(
                    "upload \(item.id) \(item.kind) \(item.status) file \(item.fileUUID?.rawValue ?? "-")"
                        + " attempts \(item.attempts) error \(item.lastError?.text ?? "-")")
            }
        }
        for group in state.downloadGroups.inOrder {
            lines.append("download group \(group.id) \(group.status)")
            for item in state.downloads(in: group.id) {
                lines.append(
                    "download \(item.id) \(item.kind) \(item.status) file \(item.fileUUID) version \(item.fileVersion)")
            }
        }
        for entry in state.directory.inOrder {
            lines.append(
                "file \(entry.fileUUID) version \(entry.fileVersion.map { "\($0)" } ?? "-")"
                    + " deleted \(entry.deletedLocally)/\(entry.deletedOnServer) gone \(entry.goneReason != nil)"
                    + " awaited \(entry.awaitingReupload) wish \(entry.forceDownload)"
                    + " index only \(entry.isIndexOnly)"
                    + " newer here \(entry.newerVersion != nil)")
        }
        if let account = state.account[AccountState.only] {
            lines.append("account epoch \(account.epoch) switch \(account.phase.map { "\($0)" } ?? "-")")
        }
        for item in state.reuploads.inOrder {
            lines.append(
                "reupload \(item.fileUUID) version \(item.fileVersion) \(item.status) attempts \(item.attempts)"
                    + " error \(item.lastError ?? "-")")
        }
        lines.append("kept transfers: \(state.transfers.count)")
        self.lines = lines + violations.map { "violation: \($0)" }
    }

    /// All lines.
    public var description: String { lines.joined(separator: "\n") }
}
