internal import SyncProtocol

// Downloads the changes that the index showed, one file group at a time.
extension SyncStateMachine {
    mutating func resumeDownloads() {
        run?.step = .downloading
        run?.token = nil
        downloadNext()
    }

    /// Starts the downloads that may start now, and continues with the first complete group.
    mutating func downloadNext() {
        if endsTransfers() { return }
        startDownloads()
        if endsTransfers() { return }
        if isAppBusy { return }
        if let group = state.downloadGroups.first(at: .downloaded(runGroup)) {
            resolveConflicts(in: group.id)
        } else if isLineFree {
            sendIndex()
        }
    }

    /// Downloads items of as few groups as possible, and never gets many groups ahead of the app's acceptance.
    private mutating func startDownloads() {
        while mayDownload, let group = groupToDownload() {
            guard let item = state.downloads.first(at: .waiting(group.id)) else {
                completeDownloads(of: group.id)
                continue
            }
            guard isStillWanted(item) else {
                // The app has changed the policy, or withdrawn its change, since the index.
                endTransfers(.downloadAnew(current: nil, isIndexDoubtful: false))
                return
            }
            state.downloadGroups.update(group.key) { $0.status = .downloading }
            if useCachedTransfer(for: item) {
                completeDownloads(of: group.id)
            } else {
                state.downloads.update(item.key) { $0.status = .downloading }
                transfer(.download(item.id), download(item, group))
            }
        }
    }

    private func groupToDownload() -> DownloadGroup? {
        let groups = state.downloadGroups
        let begun = groups.rows(at: .downloading(runGroup))
        if let group = begun.first(where: { state.downloads.contains(at: .waiting($0.id)) }) { return group }
        let complete = groups.rows(at: .downloaded(runGroup))
        guard complete.count < configuration.maximumTransfers else { return nil }
        return [.high, .normal, .low].lazy.compactMap { groups.first(at: .notStarted(runGroup, $0)) }.first
    }

    /// Records that a group can be delivered, if no transfer remains in it.
    private mutating func completeDownloads(of group: RowID<DownloadGroup>) {
        guard !state.downloads.contains(at: .incomplete(group)) else { return }
        state.downloadGroups.update(group) { $0.status = .downloaded }
    }

    /// The request names the master version of the item's index, even if the list of groups has since shown a newer
    /// one: all files delivered together must be of one version.
    private func download(_ item: DownloadItem, _ group: DownloadGroup) -> ServerRequest {
        let masterVersion = group.masterVersion
        if item.kind == .appMetaData, let version = item.appMetaDataVersion {
            return .downloadAppMetaData(
                item.fileUUID, version, masterVersion: masterVersion, sharingGroupUUID: runGroup)
        }
        return .downloadFile(
            item.fileUUID, item.fileVersion, item.appMetaDataVersion, masterVersion: masterVersion,
            sharingGroupUUID: runGroup)
    }

    mutating func receiveDownload(_ reply: ServerReply, _ id: RowID<DownloadItem>) {
        guard let group = state.downloads[id]?.groupID else { return }
        switch reply {
        case .fileDownloaded(let file):
            state.downloads.update(id) {
                $0.status = .downloaded
                $0.location = file.location
                $0.appMetaData = file.appMetaData
                $0.cloudStorageType = file.cloudStorageType
                $0.contentsChanged = file.contentsChanged
            }
        case .appMetaDataDownloaded(let text):
            state.downloads.update(id) {
                $0.status = .downloaded
                $0.appMetaData = text
            }
        case .gone(let reason, let text, let storage, let awaitsReupload):
            state.downloads.update(id) {
                $0.status = .downloaded
                $0.goneReason = reason
                $0.awaitingReupload = awaitsReupload
                $0.appMetaData = text
                $0.cloudStorageType = storage ?? $0.cloudStorageType
            }
        case .stale, .failed, .fileStaged, .done, .uploads, .batchCommitted, .committed, .index, .reuploaded,
            .serverMove, .accountSwitchSettled, .several, .smallFiles:
            state.downloads.update(id) { $0.status = .notStarted }
            endTransfers(afterFailedDownload(reply))
        }
        completeDownloads(of: group)
        downloadNext()
    }

    private func afterFailedDownload(_ reply: ServerReply) -> AfterTransfers {
        switch reply {
        case .stale(let current): .downloadAnew(current: current, isIndexDoubtful: false)
        case .failed(.refused(status: 404, _, _)), .failed(.refused(status: 409, _, _)),
            .failed(.refused(status: 410, _, _)):
            // Does not happen while the master version is current; a whole index will show the actual state.
            .downloadAnew(current: nil, isIndexDoubtful: true)
        case .failed(let failure): .failAfterDeliveries(Self.error(for: failure, group: runGroup))
        default: .failAfterDeliveries(SyncError(.inconsistentServer, sharingGroupUUID: runGroup))
        }
    }

    /// Abandons the downloads of a sharing group whose index is stale. Contents that have arrived are kept for later
    /// use.
    mutating func dropDownloads(of group: SharingGroupUUID) {
        for downloads in state.downloadGroups(of: group) { removeDownloads(downloads.id, keepingBytes: true) }
    }

    /// Removes a group of downloads.
    mutating func removeDownloads(_ group: RowID<DownloadGroup>, keepingBytes: Bool) {
        let isUnrecorded = unrecordedDownloads.remove(group) != nil
        for item in state.downloads(in: group) {
            if isUnrecorded { noteUnrecorded(item) }
            state.downloads[item.key] = nil
            guard let location = item.location else { continue }
            if keepingBytes {
                cache(item, location)
            } else {
                actions.append(.removeFile(location))
            }
        }
        state.downloadGroups[group] = nil
    }

    /// Records that the app may have accepted a download: the next index delivers the file or its deletion, even in the
    /// known version or if the file was unknown.
    mutating func noteUnrecorded(_ item: DownloadItem) {
        guard item.goneReason == nil, let group = state.downloadGroups[item.groupID] else { return }
        let known = state.directory[item.fileUUID]
        if known?.isIndexOnly == true, item.kind != .file {
            // The index shows a deletion again; a text is downloaded again.
            state.directory.update(item.fileUUID) { $0.appMetaData = nil }
            return
        }
        if item.kind == .file, known?.deletedLocally ?? true {
            var entry =
                known ?? DirectoryEntry(fileUUID: item.fileUUID, sharingGroupUUID: group.sharingGroupUUID)
            entry.fileGroupUUID = entry.fileGroupUUID ?? group.fileGroupUUID
            entry.mimeType = entry.mimeType ?? item.mimeType
            entry.fileVersion = item.fileVersion
            entry.deletedLocally = false
            entry.deletedOnServer = false
            entry.newerVersion = nil
            state.directory.put(entry)
        }
        state.directory.update(item.fileUUID) { $0.forceDownload = true }
    }

    private mutating func cache(_ item: DownloadItem, _ location: LocalFileLocation) {
        for entry in state.transfers.rows(at: item.fileUUID) {
            state.transfers[entry.key] = nil
            actions.append(.removeFile(entry.location))
        }
        var reply = TransferCacheEntry.Reply()
        reply.appMetaDataVersion = item.appMetaDataVersion
        reply.appMetaData = item.appMetaData
        reply.cloudStorageType = item.cloudStorageType
        reply.contentsChanged = item.contentsChanged
        state.transfers.put(
            TransferCacheEntry(
                id: state.nextTransferID(), fileUUID: item.fileUUID, fileVersion: item.fileVersion, reply: reply,
                location: location, cachedAt: now))
    }

    /// Completes a download with contents that are already cached; false if there are none, or if they are of another
    /// version.
    private mutating func useCachedTransfer(for item: DownloadItem) -> Bool {
        guard item.kind == .file, let entry = state.transfers.first(at: item.fileUUID) else { return false }
        state.transfers[entry.key] = nil
        let known = state.directory[item.fileUUID]
        let isWanted = known?.forceDownload == true && known?.isIndexOnly == false
        guard !isWanted, entry.fileVersion == item.fileVersion,
            entry.reply.appMetaDataVersion == item.appMetaDataVersion
        else {
            actions.append(.removeFile(entry.location))
            return false
        }
        state.downloads.update(item.key) {
            $0.status = .downloaded
            $0.location = entry.location
            $0.appMetaData = entry.reply.appMetaData
            $0.cloudStorageType = entry.reply.cloudStorageType
            $0.contentsChanged = entry.reply.contentsChanged
        }
        return true
    }
}
