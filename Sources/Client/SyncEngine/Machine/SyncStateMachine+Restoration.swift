internal import SyncProtocol

// The device's files count as newer than the server's (docs/protocol.md, section 6.6) after the server was restored
// from a backup, and if a file group that others deleted is kept. The library asks the app for the contents, and queues
// them like any upload, so that the rules for conflicts apply.
extension SyncStateMachine {
    /// The maximum number of files in one queue of supplied contents.
    private static let maximumSuppliedFiles = 50

    /// Records that the server's state of a group is older than before, if the list of groups shows that.
    mutating func noteRestore(_ info: SharingGroupInfo, in entry: inout SharingEntry) {
        let hasNewMark = info.restoreMark != entry.restoreMark
        guard hasNewMark || info.masterVersion < entry.masterVersion else { return }
        let known = max(entry.masterVersion, entry.indexedVersion ?? .initial)
        entry.versionBeforeRestore = max(entry.versionBeforeRestore ?? .initial, known)
        entry.restoredVersion = hasNewMark ? info.restoredMasterVersion : nil
        entry.restoreMark = info.restoreMark
        entry.indexedVersion = nil
        let group = entry.sharingGroupUUID
        for downloads in state.downloadGroups(of: group) {
            // The app may have accepted complete downloads in a process that ended before recording that. The next sync
            // of the group delivers them again before it compares anything.
            guard downloads.status != .downloaded || run?.group == group else { continue }
            // The same version may now have different contents.
            removeDownloads(downloads.id, keepingBytes: false)
        }
        for transfer in state.transfers.inOrder
        where state.directory[transfer.fileUUID].map({ $0.sharingGroupUUID == group }) ?? true {
            state.transfers[transfer.key] = nil
            actions.append(.removeFile(transfer.location))
        }
    }

    /// Whether the files of a group cannot be compared yet because the server was restored, so that another index is
    /// requested first: first the changes since, then all files.
    mutating func needsOtherIndex(than files: IndexResponse.Files, of group: SharingGroupUUID) -> Bool {
        guard let entry = state.groups[group], let known = entry.versionBeforeRestore else { return false }
        if let restored = entry.restoredVersion {
            if known <= restored { return false }
            guard files.masterVersion > restored, run?.changedSinceRestore?.masterVersion != files.masterVersion else {
                return isPartial(files)
            }
            if run?.listsChangesSince == restored {
                run?.listsChangesSince = nil
                run?.changedSinceRestore = (Set(files.fileIndex.map(\.fileUUID)), files.masterVersion)
                sendIndex()
            } else {
                run?.listsChangesSince = restored
                send(.index(.init(sharingGroupUUID: group, since: restored)), .indexing)
            }
            return true
        }
        // Without a mark, one of several servers may only have been behind.
        if files.masterVersion >= known, state.groups[group]?.restoreMark == nil {
            forgetRestore(of: group)
            return false
        }
        if run?.confirmsRestore != true {
            run?.confirmsRestore = true
            sendIndex()
            return true
        }
        return isPartial(files)
    }

    private mutating func isPartial(_ files: IndexResponse.Files) -> Bool {
        guard files.since != nil else { return false }
        sendIndex()
        return true
    }

    private mutating func forgetRestore(of group: SharingGroupUUID) {
        state.groups.update(group) {
            $0.versionBeforeRestore = nil
            $0.restoredVersion = nil
        }
    }

    /// Decides, file by file, whether the device or the restored server has the newer state.
    /// - Parameter rows: All files of the group, unless the server has lost nothing that the device has seen.
    mutating func reconcile(with rows: [FileInfo], in group: SharingGroupUUID) {
        guard let entry = state.groups[group], let lastSeen = entry.versionBeforeRestore else { return }
        forgetRestore(of: group)
        // The server has staged what it had staged at the time of the backup.
        forgetBatch(of: group)
        resetItems(of: group)
        // The server has lost nothing else that the device has seen.
        if let restored = entry.restoredVersion, lastSeen <= restored { return }
        let rows = Dictionary(rows.map { ($0.fileUUID, $0) }, uniquingKeysWith: { first, _ in first })
        let knowsChanges = entry.restoredVersion != nil
        let changed = run?.changedSinceRestore?.files ?? []
        for known in state.directory.rows(where: { $0.sharingGroupUUID == group && $0.fileVersion != nil }) {
            if known.isIndexOnly {
                guard hasContentWork(on: known.fileUUID) else {
                    // Immediately, so that the former version does not appear to be the server's if the sync ends
                    // before the comparison.
                    if let row = rows[known.fileUUID], let version = row.fileVersion {
                        followIndex(row, version, in: group)
                        guard changed.contains(known.fileUUID) || state.pendingItems(of: known.fileUUID).isEmpty else {
                            continue
                        }
                        // The same version may now have a different text.
                        state.directory.update(known.key) { $0.forgetTextVersion() }
                    } else {
                        awaitLost(known)
                    }
                    continue
                }
                state.directory.update(known.key) { $0.isIndexOnly = false }
            }
            guard let row = rows[known.fileUUID], let version = row.fileVersion else {
                keepLost(known)
                continue
            }
            let isLater = row.updateDate.map { date in known.updateDate.map { date > $0 } ?? true } ?? false
            reconcile(known, with: row, version, isChanged: knowsChanges ? changed.contains(known.fileUUID) : isLater)
        }
        report(.serverRestored(entry.sharingGroup))
    }

    /// Keeps a file that the restored server does not know.
    private mutating func keepLost(_ known: DirectoryEntry) {
        let file = known.fileUUID
        let pending = state.pendingItems(of: file)
        let isDeleted = known.deletedLocally || pending.contains { $0.kind == .deletion }
        if isDeleted { dropItems(pending) }
        state.directory.update(file) {
            $0.newerVersion = $0.fileVersion
            $0.goneReason = nil
            $0.awaitingReupload = false
            $0.forceDownload = false
            $0.deletedLocally = isDeleted
            $0.deletedOnServer = isDeleted
            guard !isDeleted else { return }
            $0.fileVersion = nil
            $0.forgetTextVersion()
        }
        for upload in state.pendingItems(of: file) where upload.kind == .file {
            state.items.update(upload.key) { $0.uploadUndeletion = false }
        }
        foldText(into: file)
    }

    /// - Parameter isChanged: Whether another user has changed the file since the server was restored.
    private mutating func reconcile(
        _ known: DirectoryEntry, with row: FileInfo, _ version: FileVersion, isChanged: Bool
    ) {
        let file = known.fileUUID
        guard let knownVersion = known.fileVersion else { return }
        let mayWrite = state.groups[known.sharingGroupUUID].map { $0.permission >= .write } ?? false
        let isSame = knownVersion == version && known.updateDate != nil && known.updateDate == row.updateDate
        // If the file is deleted: contents that were restored after the backup, or that others have deleted without
        // knowing them. If it is out of reach, the app may have the contents nevertheless: it received or sent them
        // before.
        if row.deleted || known.goneReason != nil {
            let isNewer = knownVersion > version || (isChanged && !isSame)
            state.directory.update(file) {
                if !$0.deletedOnServer, isNewer, mayWrite { $0.newerVersion = knownVersion }
                if !row.deleted { $0.forceDownload = true }
            }
            return
        }
        if known.deletedOnServer {
            guard mayWrite || !known.deletedLocally else { return }
            deleteAgain(known, row, version, isChanged: isChanged)
            return
        }
        if isChanged ? !isSame : knownVersion > version {
            state.directory.update(file) {
                $0.fileVersion = version
                // A change by others is downloaded, so that the app is asked about the conflict.
                $0.forceDownload = $0.forceDownload || isChanged
                // The library asks a reader for the contents once they may write.
                $0.newerVersion = knownVersion
            }
        }
        guard let text = known.appMetaData, let textVersion = known.textVersion else { return }
        let serverVersion = row.appMetaDataVersion ?? DirectoryEntry.noTextVersion
        guard isChanged ? textVersion >= serverVersion : textVersion > serverVersion else { return }
        guard mayWrite else {
            // Others restore the lost contents.
            state.directory.update(file) {
                $0.appMetaData = AppMetaData(version: serverVersion, contents: text.contents)
            }
            return
        }
        // With a version other than the server's, the library downloads and compares a text that others have changed.
        let baseVersion = isChanged ? DirectoryEntry.noTextVersion : serverVersion
        state.directory.update(file) { $0.appMetaData = AppMetaData(version: baseVersion, contents: text.contents) }
        queueText(text.contents, of: known, comparedWith: isChanged ? row.appMetaDataVersion : nil)
    }

    /// Handles a deleted file that the restored server has. If another user has changed it since, the library asks the
    /// app.
    private mutating func deleteAgain(
        _ known: DirectoryEntry, _ row: FileInfo, _ version: FileVersion, isChanged: Bool
    ) {
        state.directory.update(known.fileUUID) {
            $0.fileVersion = version
            $0.deletedLocally = false
            $0.deletedOnServer = false
            $0.newerVersion = nil
            $0.forceDownload = isChanged
            $0.appMetaData = row.appMetaDataVersion.map {
                AppMetaData(version: $0, contents: known.appMetaData?.contents ?? "")
            }
        }
        guard known.deletedLocally else { return }
        guard !state.pendingItems(of: known.fileUUID).contains(where: { $0.kind == .deletion }) else { return }
        state.items.put(
            UploadItem(
                id: state.nextItemID(), queueID: queueOfSupplied(known.sharingGroupUUID), kind: .deletion,
                sharingGroupUUID: known.sharingGroupUUID, fileUUID: known.fileUUID))
    }

    /// Handles a file that was deleted here before the server was restored, and that another device has uploaded again:
    /// the library asks the app whether to delete it.
    mutating func restoreDeletion(with row: FileInfo, _ version: FileVersion) {
        guard !row.deleted, let known = state.directory[row.fileUUID], known.deletedLocally, known.newerVersion != nil,
            state.groups[known.sharingGroupUUID].map({ $0.permission >= .write }) ?? false
        else { return }
        deleteAgain(known, row, version, isChanged: true)
    }

    /// Queues the text of a file that the server has lost, unless a change to the file already carries it.
    private mutating func queueText(
        _ text: String, of known: DirectoryEntry, comparedWith version: AppMetaDataVersion?
    ) {
        let pending = state.pendingItems(of: known.fileUUID)
        guard !pending.contains(where: { $0.appMetaData != nil || $0.kind == .deletion }) else { return }
        if let upload = pending.first(where: { $0.kind == .file }) {
            state.items.update(upload.key) { $0.appMetaData = text }
            return
        }
        var item = UploadItem(
            id: state.nextItemID(), queueID: queueOfSupplied(known.sharingGroupUUID), kind: .appMetaData,
            sharingGroupUUID: known.sharingGroupUUID, fileUUID: known.fileUUID)
        item.mimeType = known.mimeType
        item.appMetaData = text
        // If the server has the same text, it is not sent.
        item.stagedAppMetaDataVersion = version
        state.items.put(item)
    }

    /// The first upload of a file that the server has lost carries the text.
    private mutating func foldText(into file: FileUUID) {
        guard let text = state.directory[file]?.appMetaData?.contents,
            let upload = state.pendingItems(of: file).first(where: { $0.kind == .file }), upload.appMetaData == nil
        else { return }
        state.items.update(upload.key) { $0.appMetaData = text }
    }

    /// The closed queue for files that this sync uploads again.
    private mutating func queueOfSupplied(_ group: SharingGroupUUID) -> RowID<UploadQueue> {
        if let id = run?.suppliedQueue, let queue = state.queues[id], queue.state == .closed, queue.commitID == nil,
            queue.batchUUID == nil, queue.sharingGroupUUID == group,
            state.items(in: id).count < Self.maximumSuppliedFiles
        {
            return id
        }
        var queue = UploadQueue(id: state.nextQueueID(), sharingGroupUUID: group, createdAt: now)
        queue.state = .closed
        queue.closedSequence = state.nextClosedSequence
        state.queues.put(queue)
        run?.suppliedQueue = queue.id
        return queue.id
    }

    // MARK: Asking the app

    /// Asks the app for the contents of the next file whose local state is newer; false if no file remains.
    mutating func askForContents() -> Bool {
        let mayWrite = state.groups[runGroup].map { $0.permission >= .write } ?? false
        for entry in state.directory.rows(at: .newer(runGroup)) {
            guard mayWrite else {
                // A reader cannot restore a file.
                if entry.deletedOnServer, !entry.deletedLocally { keepWithoutContents(entry, isMissing: true) }
                continue
            }
            guard let version = entry.newerVersion, !entry.deletedLocally, unavailableFiles[entry.fileUUID] == nil,
                !hasOwnChange(of: entry.fileUUID)
            else { continue }
            let token = expect(.askingForContents(entry.fileUUID))
            actions.append(.askForContents(token, entry.attributes, version))
            return true
        }
        return false
    }

    /// Whether the app has queued contents or a deletion of a file.
    private func hasOwnChange(of file: FileUUID) -> Bool {
        state.items.rows(at: .file(file)).contains { $0.kind != .appMetaData }
    }

    mutating func receiveContents(_ contents: SuppliedContents) {
        guard case .askingForContents(let file) = run?.step else { return }
        run?.step = .downloading
        run?.token = nil
        // A change that the app has queued meanwhile is newer.
        if let entry = state.directory[file], entry.newerVersion != nil, !hasOwnChange(of: file) {
            switch contents {
            case .file(let source): queue(source, of: entry)
            case .notAvailable, .differentVersion: keepWithoutContents(entry, isMissing: contents.isMissing)
            }
        }
        if stopsHere() { return }
        if !askForContents() { sendIndex() }
    }

    private mutating func queue(_ source: UploadSource, of entry: DirectoryEntry) {
        let file = entry.fileUUID
        // A text-only upload is sent with the contents.
        let texts = state.pendingItems(of: file).filter { $0.kind == .appMetaData && mayBeWithdrawn($0) }
        // Files of one file group are committed together.
        let sibling = entry.fileGroupUUID.flatMap { fileGroup in
            state.closedQueues(of: entry.sharingGroupUUID).first { queue in
                queue.commitID == nil && queue.batchUUID == nil
                    && state.items(in: queue.id).contains { item in
                        item.kind == .file && item.fileUUID != file
                            && item.fileUUID.flatMap { state.directory[$0]?.fileGroupUUID } == fileGroup
                    }
            }
        }
        var item = UploadItem(
            id: state.nextItemID(), queueID: sibling?.id ?? queueOfSupplied(entry.sharingGroupUUID), kind: .file,
            sharingGroupUUID: entry.sharingGroupUUID, fileUUID: file)
        item.fileGroupUUID = entry.fileGroupUUID
        item.mimeType = entry.mimeType
        item.appMetaData =
            texts.last?.appMetaData ?? (entry.textVersion == nil ? entry.appMetaData?.contents : nil)
        item.source = source.location
        item.ownsFile = source.isOwned
        item.fileSize = source.size
        item.fileModified = source.modified
        item.uploadUndeletion = entry.deletedOnServer
        state.items.put(item)
        abandon(texts)
    }

    /// Handles contents that the app does not supply: it does not have them, or has changed them and will upload the
    /// change.
    private mutating func keepWithoutContents(_ entry: DirectoryEntry, isMissing: Bool) {
        unavailableFiles[entry.fileUUID] = isMissing
        if entry.deletedOnServer {
            // The deletion takes effect.
            state.directory.update(entry.fileUUID) { $0.newerVersion = nil }
            leaveToIndex(entry.fileUUID)
        } else if entry.goneReason != nil {
            // As expected. The download that follows is no conflict.
            state.directory.update(entry.fileUUID) { $0.newerVersion = nil }
        } else if isMissing {
            reportError(
                SyncError(.serverRestored, fileUUID: entry.fileUUID, sharingGroupUUID: entry.sharingGroupUUID))
        }
    }
}

extension SuppliedContents {
    fileprivate var isMissing: Bool { if case .notAvailable = self { true } else { false } }
}
