package import SyncProtocol

// Asks the app about changes by others that conflict with local changes.
extension SyncStateMachine {
    /// Asks about the first unanswered conflict in a complete group; a group without any is delivered.
    mutating func resolveConflicts(in group: RowID<DownloadGroup>) {
        let items = state.downloads(in: group)
        for item in items {
            if let conflict = contentConflict(of: item) {
                let lastItem = RowID<UploadItem>(state.lastIDs.item)
                let token = expect(.resolvingContent(item.id, lastItem: lastItem))
                actions.append(.resolveContentConflict(token, conflict))
                return
            }
        }
        let conflicts = items.compactMap { deletionConflict(of: $0) }
        guard conflicts.isEmpty else {
            let lastItem = RowID<UploadItem>(state.lastIDs.item)
            let token = expect(.resolvingDeletions(group, lastItem: lastItem))
            actions.append(.resolveDeletionConflicts(token, conflicts))
            return
        }
        deliver(group)
    }

    private func contentConflict(of item: DownloadItem) -> ContentDownloadConflict? {
        guard item.kind != .deletion, item.goneReason == nil, item.resolution == nil,
            let local = localWork(on: item.fileUUID), ownText(in: item) == nil
        else { return nil }
        let download: ServerContentType
        if let location = item.location {
            let isNewText =
                item.appMetaData != nil
                && item.appMetaDataVersion != state.directory[item.fileUUID]?.textVersion
            download = isNewText ? .both(location) : .file(location)
        } else {
            download = .appMetaData
        }
        return ContentDownloadConflict(download: download, attributes: attributes(of: item), conflictType: local)
    }

    private func deletionConflict(of item: DownloadItem) -> DownloadDeletionConflict? {
        guard item.kind == .deletion, item.resolution == nil, let local = localWork(on: item.fileUUID),
            case .contentUpload = local
        else { return nil }
        return DownloadDeletionConflict(attributes: attributes(of: item), conflictType: local)
    }

    /// The local changes to a file, across all queues.
    private func localWork(on file: FileUUID) -> ConflictingClientOperation? {
        let items = state.pendingItems(of: file)
        let content = items.filter(\.isContent)
        guard !content.isEmpty else { return items.isEmpty ? nil : .uploadDeletion }
        guard content.count == items.count else { return .both }
        let hasFile = content.contains { $0.kind == .file }
        let hasText = content.contains { $0.appMetaData != nil }
        return .contentUpload(hasFile ? (hasText ? .both : .file) : .appMetaData)
    }

    /// The pending upload that a downloaded text originates from: its commit may have succeeded without the client's
    /// knowledge.
    func ownText(in item: DownloadItem) -> UploadItem? {
        guard item.kind == .appMetaData, let version = item.appMetaDataVersion else { return nil }
        return state.pendingItems(of: item.fileUUID).first {
            $0.kind == .appMetaData && $0.status == .notStarted && $0.stagedAppMetaDataVersion == version
                && $0.appMetaData == item.appMetaData
        }
    }

    /// The file's attributes on the server.
    func attributes(of item: DownloadItem) -> SyncAttributes {
        let entry = state.directory[item.fileUUID]
        let group = state.downloadGroups[item.groupID]
        var attributes = SyncAttributes(
            fileUUID: item.fileUUID, sharingGroupUUID: entry?.sharingGroupUUID ?? group?.sharingGroupUUID ?? runGroup,
            mimeType: entry?.mimeType ?? item.mimeType, fileGroupUUID: entry?.fileGroupUUID ?? group?.fileGroupUUID,
            creationDate: item.creationDate, updateDate: item.updateDate)
        // A restored server may have lost a text that the device still has.
        let isWithoutText = item.kind == .file && item.goneReason == nil && item.appMetaDataVersion == nil
        attributes.appMetaData = isWithoutText ? nil : item.appMetaData ?? entry?.appMetaData?.contents
        attributes.gone = item.goneReason
        attributes.awaitingReupload = item.kind == .file ? item.awaitingReupload : entry?.awaitingReupload ?? false
        return attributes
    }

    mutating func contentConflictResolved(_ resolution: ContentDownloadResolution?) {
        guard case .resolvingContent(let id, let lastItem) = run?.step else { return }
        guard let resolution, let group = state.downloads[id]?.groupID else {
            endTransfers(.finish)
            resumeDownloads()
            return
        }
        state.downloads.update(id) { $0.resolution = StoredResolution(.content(resolution), lastItem: lastItem) }
        resolveConflicts(in: group)
    }

    mutating func deletionConflictsResolved(_ resolutions: [FileUUID: DownloadDeletionResolution]) {
        guard case .resolvingDeletions(let group, let lastItem) = run?.step else { return }
        var isDeferred = false
        for item in state.downloads(in: group) {
            guard let conflict = deletionConflict(of: item) else { continue }
            guard var resolution = resolutions[item.fileUUID] else {
                isDeferred = true
                continue
            }
            if resolution == .rejectDownloadDeletion(.keepContentUpload),
                conflict.conflictType == .contentUpload(.appMetaData)
            {
                reportError(SyncError(.appMetaDataUploadUndeletionAttempt, fileUUID: item.fileUUID))
                resolution = .acceptDownloadDeletion
            }
            state.downloads.update(item.key) {
                $0.resolution = StoredResolution(.deletion(resolution), lastItem: lastItem)
            }
        }
        if isDeferred {
            endTransfers(.finish)
            resumeDownloads()
        } else {
            resolveConflicts(in: group)
        }
    }
}

// Resolves a conflict with a file that merges both sides.
extension SyncStateMachine {
    /// Resolves a conflict about contents by dropping the local changes and queueing a merged file instead, atomically.
    /// The file needs no sync request by the app: it is in a separate, closed queue.
    /// - Returns: The next actions; nil if the conflict no longer waits for an answer, and nothing changed.
    package mutating func mergeConflict(
        _ token: EngineToken, _ source: UploadSource, appMetaData: String?, at now: WireDate
    ) -> [EngineAction]? {
        guard run?.token == token, case .resolvingContent(let id, _) = run?.step, let download = state.downloads[id],
            let mimeType = state.directory[download.fileUUID]?.mimeType ?? download.mimeType
        else { return nil }
        self.now = now
        var queue = UploadQueue(id: state.nextQueueID(), sharingGroupUUID: runGroup, createdAt: now)
        queue.state = .closed
        queue.closedSequence = state.nextClosedSequence
        var item = UploadItem(
            id: state.nextItemID(), queueID: queue.id, kind: .file, sharingGroupUUID: runGroup,
            fileUUID: download.fileUUID)
        item.fileGroupUUID = state.directory[download.fileUUID]?.fileGroupUUID
        item.mimeType = mimeType
        item.appMetaData = appMetaData
        item.source = source.location
        item.ownsFile = source.isOwned
        item.fileSize = source.size
        item.fileModified = source.modified
        state.queues.put(queue)
        state.items.put(item)
        contentConflictResolved(.rejectContentDownload(.removeAll))
        return takeActions()
    }

    /// The local side of a conflict: the latest pending contents and text of a file.
    package func pendingContent(of file: FileUUID) -> (file: LocalFileLocation?, appMetaData: String?) {
        let pending = state.pendingItems(of: file).filter(\.isContent)
        return (pending.compactMap(\.source).last, pending.compactMap(\.appMetaData).last)
    }
}
