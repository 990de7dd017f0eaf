package import SyncProtocol

/// The number of downloads that an index requires.
package struct IndexComparison: Sendable, Equatable {
    /// The number of contents and texts.
    package var numberContentDownloads = 0
    /// The number of deletions.
    package var numberDownloadDeletions = 0

    /// Creates a comparison.
    package init(numberContentDownloads: Int = 0, numberDownloadDeletions: Int = 0) {
        self.numberContentDownloads = numberContentDownloads
        self.numberDownloadDeletions = numberDownloadDeletions
    }
}

// Compares the server's index with the directory.
extension SyncStateMachine {
    mutating func sendIndex() {
        if stopsHere() { return }
        send(
            .index(.init(sharingGroupUUID: run?.group, since: run?.group.flatMap { knownVersion(of: $0) })), .indexing)
    }

    /// The version after which changes are needed; nil if all files are needed.
    private func knownVersion(of group: SharingGroupUUID) -> MasterVersion? {
        // A partial list does not show files whose contents the server has again.
        guard configuration.capabilities.since, !state.directory.contains(at: .wanted(group)),
            !state.directory.contains(at: .awaited(group)), !hasFilesToReupload(in: group)
        else { return nil }
        return state.groups[group]?.indexedVersion
    }

    mutating func receiveIndex(_ reply: ServerReply) {
        switch reply {
        case .index(let response):
            guard let group = run?.group else {
                mergeGroups(response.sharingGroups)
                finish()
                return
            }
            receiveIndex(response, of: group)
        case .failed(.refused(status: 404, _, _)), .failed(.refused(status: 410, _, _)):
            guard let group = run?.group else {
                fail(SyncError(.inconsistentServer))
                return
            }
            groupIsLost(group)
        case .failed(let failure): fail(failure)
        default: fail(SyncError(.inconsistentServer))
        }
    }

    private mutating func receiveIndex(_ response: IndexResponse, of group: SharingGroupUUID) {
        mergeGroups(response.sharingGroups)
        guard let files = response.files else {
            fail(SyncError(.inconsistentServer, sharingGroupUUID: group))
            return
        }
        guard let entry = state.groups[group], !entry.removedFromGroup,
            response.sharingGroups.contains(where: { $0.sharingGroupUUID == group })
        else {
            groupIsLost(group)
            return
        }
        if entry.creationPending { confirmCreation(of: group) }
        state.groups.update(group) { $0.masterVersion = files.masterVersion }
        if needsOtherIndex(than: files, of: group) { return }
        if replayLostCommit(isRestored: entry.versionBeforeRestore != nil) { return }
        settleCommit(with: files.fileIndex, in: group)
        reconcile(with: files.fileIndex, in: group)
        if askForContents() { return }
        compare(files.fileIndex, in: group)
        if reportDownloads() {
            resumeDownloads()
            return
        }
        state.groups.update(group) {
            $0.indexedVersion = files.masterVersion
            if $0.downloadPolicy == .automatic { $0.downloadsRest = false }
            $0.syncNeeded = false
        }
        startReuploads()
    }

    /// Reports the number of downloads of the active sync; false if it has no downloads.
    @discardableResult
    mutating func reportDownloads() -> Bool {
        let pending = state.downloadGroups(of: runGroup).flatMap { state.downloads(in: $0.id) }
        guard !pending.isEmpty else { return false }
        let deletions = pending.filter { $0.kind == .deletion }.count
        report(
            .willStartDownloads(
                numberContentDownloads: pending.count - deletions, numberDownloadDeletions: deletions))
        return true
    }

    /// Counts the differences between an index of a group and the directory, without acting on them.
    package func comparison(with rows: [FileInfo], of group: SharingGroupUUID) -> IndexComparison {
        var comparison = IndexComparison()
        for row in rows {
            let entry = state.directory[row.fileUUID]
            guard let version = row.fileVersion, entry.map({ $0.sharingGroupUUID == group }) ?? true else { continue }
            switch difference(between: entry, and: row, version) {
            case .deletion: comparison.numberDownloadDeletions += 1
            case .file, .appMetaData: comparison.numberContentDownloads += 1
            case nil: break
            }
        }
        return comparison
    }

    /// Creates a download for each difference between the index and the directory.
    ///
    /// Versions in the directory do not change, because otherwise a change would count as delivered even if the process
    /// ends before the delivery. Exceptions are files whose contents the app does not have: deleted files, and files
    /// that are out of reach.
    private mutating func compare(_ rows: [FileInfo], in group: SharingGroupUUID) {
        var groupIDs: [FileGroupUUID: RowID<DownloadGroup>] = [:]
        for row in rows {
            guard let version = row.fileVersion else { continue }
            restoreDeletion(with: row, version)
            followIndex(row, version, in: group)
            let entry = state.directory[row.fileUUID]
            if let entry, entry.sharingGroupUUID != group {
                reportError(SyncError(.inconsistentServer, fileUUID: row.fileUUID, sharingGroupUUID: group))
                continue
            }
            refresh(with: row, version)
            noteReupload(of: row, version)
            guard let kind = difference(between: entry, and: row, version) else {
                if entry == nil { rememberDeleted(row, version, in: group) }
                continue
            }
            let fileGroup = entry?.fileGroupUUID ?? row.fileGroupUUID
            let groupID = fileGroup.flatMap { groupIDs[$0] } ?? addDownloadGroup(fileGroup, in: group)
            if let fileGroup { groupIDs[fileGroup] = groupID }
            addDownload(kind, of: row, version, to: groupID)
        }
        for row in requestedRows(in: group) {
            guard let version = row.fileVersion else { continue }
            let groupID = row.fileGroupUUID.flatMap { groupIDs[$0] } ?? addDownloadGroup(row.fileGroupUUID, in: group)
            if let fileGroup = row.fileGroupUUID { groupIDs[fileGroup] = groupID }
            addDownload(.file, of: row, version, to: groupID)
        }
    }

    /// The required download; nil if none.
    private func difference(
        between entry: DirectoryEntry?, and row: FileInfo, _ version: FileVersion
    ) -> DownloadItem.Kind? {
        guard let entry else { return row.deleted ? nil : differenceOfUnknown(row) }
        if entry.deletedOnServer { return row.deleted ? nil : .file }
        if row.deleted { return .deletion }
        if entry.goneReason != nil {
            // Another version has different contents, which may be within reach.
            let isOther = entry.fileVersion != version && !isToBeDeleted(entry.fileUUID)
            return entry.forceDownload || isOther || (entry.awaitingReupload && !row.awaitingReupload) ? .file : nil
        }
        if entry.isIndexOnly, !isRequested(entry), entry.fileVersion == version || !hasContentWork(on: entry.fileUUID) {
            return entry.textVersion != row.appMetaDataVersion && row.appMetaDataVersion != nil ? .appMetaData : nil
        }
        if entry.isIndexOnly || entry.fileVersion != version { return .file }
        if entry.textVersion != row.appMetaDataVersion { return entry.forceDownload ? .file : .appMetaData }
        return entry.forceDownload ? .file : nil
    }

    /// Applies updates that are not changes for the app.
    private mutating func refresh(with row: FileInfo, _ version: FileVersion) {
        state.directory.update(row.fileUUID) { entry in
            entry.fileGroupUUID = entry.fileGroupUUID ?? row.fileGroupUUID
            entry.mimeType = entry.mimeType ?? row.mimeType
            if let storage = row.cloudStorageType { entry.cloudStorageType = storage }
            entry.owningUserID = row.owningUserId ?? entry.owningUserID
            // If a file is out of reach, only its delivery ends the wait.
            entry.awaitingReupload = row.awaitingReupload || (entry.isAwaited && !row.deleted)
            if entry.deletedOnServer, row.deleted {
                Self.adoptDeletedVersion(version, row.appMetaDataVersion, in: &entry)
            } else if entry.goneReason != nil, !row.deleted {
                entry.fileVersion = version
            }
            if entry.fileVersion == version {
                entry.creationDate = row.creationDate ?? entry.creationDate
                entry.updateDate = row.updateDate ?? entry.updateDate
            }
        }
    }

    /// Records the versions of a deleted file on the server, so that an upload that undeletes it continues from them.
    /// If the text differs from the app's, it is downloaded once the file is undeleted.
    static func adoptDeletedVersion(
        _ version: FileVersion, _ textVersion: AppMetaDataVersion?, in entry: inout DirectoryEntry
    ) {
        entry.fileVersion = version
        guard !entry.deletedLocally, let textVersion, entry.appMetaData?.version != textVersion else { return }
        entry.appMetaData = AppMetaData(version: textVersion, contents: entry.appMetaData?.contents ?? "")
        entry.forceDownload = true
    }

    private mutating func rememberDeleted(_ row: FileInfo, _ version: FileVersion, in group: SharingGroupUUID) {
        var entry = DirectoryEntry(fileUUID: row.fileUUID, sharingGroupUUID: group)
        entry.fileGroupUUID = row.fileGroupUUID
        entry.mimeType = row.mimeType
        entry.cloudStorageType = row.cloudStorageType
        entry.fileVersion = version
        entry.creationDate = row.creationDate
        entry.updateDate = row.updateDate
        entry.deletedOnServer = true
        entry.deletedLocally = true
        state.directory.put(entry)
    }

    private mutating func addDownloadGroup(
        _ fileGroup: FileGroupUUID?, in group: SharingGroupUUID
    ) -> RowID<DownloadGroup> {
        let row = DownloadGroup(
            id: state.nextDownloadGroupID(), sharingGroupUUID: group, fileGroupUUID: fileGroup,
            masterVersion: state.groups[group]?.masterVersion ?? .initial)
        state.downloadGroups.put(row)
        return row.id
    }

    private mutating func addDownload(
        _ kind: DownloadItem.Kind, of row: FileInfo, _ version: FileVersion, to groupID: RowID<DownloadGroup>
    ) {
        var item = DownloadItem(
            id: state.nextDownloadID(), groupID: groupID, fileUUID: row.fileUUID, kind: kind, fileVersion: version)
        item.mimeType = row.mimeType
        item.appMetaDataVersion = row.appMetaDataVersion
        item.cloudStorageType = row.cloudStorageType
        item.creationDate = row.creationDate
        item.updateDate = row.updateDate
        // The contents may come from the owner's former storage while the new storage still needs them.
        item.awaitingReupload = row.awaitingReupload
        state.downloads.put(item)
        let priority = kind == .file ? state.directory[row.fileUUID]?.downloadPriority ?? .normal : .normal
        state.downloadGroups.update(groupID) { $0.priority = max($0.priority, priority) }
    }
}
