internal import SyncProtocol

// Fetching what the index showed, one file group after the other.
extension SyncStateMachine {
    mutating func resumeDownloads() {
        if state.downloadGroups.contains(at: .group(runGroup)) {
            downloadNext()
        } else {
            sendIndex()
        }
    }

    /// Fetches the next item, or goes on with the first group that is complete.
    mutating func downloadNext() {
        if stopsHere() { return }
        let groups = state.downloadGroups
        guard
            let group = groups.first(at: .downloaded(runGroup)) ?? groups.first(at: .downloading(runGroup))
                ?? groups.first(at: .group(runGroup))
        else {
            sendIndex()
            return
        }
        while let item = state.downloads.first(at: .incomplete(group.id)) {
            if useCachedTransfer(for: item) { continue }
            state.downloadGroups.update(group.key) { $0.status = .downloading }
            state.downloads.update(item.key) { $0.status = .downloading }
            send(download(item, group), .downloading(item.id))
            return
        }
        state.downloadGroups.update(group.key) { $0.status = .downloaded }
        resolveConflicts(in: group.id)
    }

    /// The request names the master version of the index from which the item comes, even if the list of groups has told
    /// of a newer one since: what is delivered together is of one version.
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
        switch reply {
        case .fileDownloaded(let file):
            state.downloads.update(id) {
                $0.status = .downloaded
                $0.location = file.location
                $0.appMetaData = file.appMetaData
                $0.cloudStorageType = file.cloudStorageType
                $0.contentsChanged = file.contentsChanged
            }
            downloadNext()
        case .appMetaDataDownloaded(let text):
            state.downloads.update(id) {
                $0.status = .downloaded
                $0.appMetaData = text
            }
            downloadNext()
        case .gone(let reason, let text, let storage):
            state.downloads.update(id) {
                $0.status = .downloaded
                $0.goneReason = reason
                $0.appMetaData = text
                $0.cloudStorageType = storage ?? $0.cloudStorageType
            }
            downloadNext()
        case .stale(let current):
            dropDownloads(of: runGroup)
            restart(current: current)
        case .failed(.refused(status: 404, _)), .failed(.refused(status: 409, _)), .failed(.refused(status: 410, _)):
            // Does not happen as long as the master version is right; a whole index will tell what is.
            dropDownloads(of: runGroup)
            state.groups.update(runGroup) { $0.indexedVersion = nil }
            restart(current: nil)
        case .failed(let failure): fail(failure)
        default: fail(SyncError(.inconsistentServer, sharingGroupUUID: runGroup))
        }
    }

    /// Gives up the downloads of a sharing group, whose index is out of date. Bytes that arrived are kept for their
    /// next use.
    mutating func dropDownloads(of group: SharingGroupUUID) {
        for downloads in state.downloadGroups(of: group) { removeDownloads(downloads.id, keepingBytes: true) }
    }

    /// Removes a group of downloads.
    mutating func removeDownloads(_ group: RowID<DownloadGroup>, keepingBytes: Bool) {
        for item in state.downloads(in: group) {
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

    /// Completes a download with bytes that are here already; false if they are not, or are of another version.
    private mutating func useCachedTransfer(for item: DownloadItem) -> Bool {
        guard item.kind == .file, let entry = state.transfers.first(at: item.fileUUID) else { return false }
        state.transfers[entry.key] = nil
        let isWanted = state.directory[item.fileUUID]?.forceDownload == true
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
