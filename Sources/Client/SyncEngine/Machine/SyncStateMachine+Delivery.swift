internal import SyncProtocol

// Delivers a file group to the app, and only then applies it to the directory.
extension SyncStateMachine {
    mutating func deliver(_ group: RowID<DownloadGroup>) {
        let items = state.downloads(in: group)
        let suppressesDeletions = suppressesDeletions(items)
        let operations = items.compactMap { operation(of: $0, suppressesDeletions) }
        guard !operations.isEmpty else {
            takeOver(group)
            return
        }
        let containsGone = operations.contains { $0.kind == .fileGone }
        actions.append(.deliver(expect(.delivering(group)), operations, containsGone: containsGone))
    }

    /// Whether the app rejected a deletion, and therefore all deletions in this file group.
    private func suppressesDeletions(_ items: [DownloadItem]) -> Bool {
        items.contains { $0.resolution?.answer == .deletion(.rejectDownloadDeletion(.keepContentUpload)) }
    }

    /// The operation that the app receives for an item; nil if none.
    private func operation(of item: DownloadItem, _ suppressesDeletions: Bool) -> DownloadOperation? {
        let kind: DownloadOperation.Kind
        if item.kind == .deletion {
            guard isDelivered(deletion: item, suppressesDeletions) else { return nil }
            kind = .deletion
        } else if let reason = item.goneReason {
            // The app already knows it, and did not request another attempt.
            let known = state.directory[item.fileUUID]
            guard known?.goneReason != reason || known?.fileVersion != item.fileVersion else { return nil }
            kind = .fileGone
        } else {
            if case .content(.rejectContentDownload) = item.resolution?.answer { return nil }
            guard ownText(in: item) == nil else { return nil }
            kind = item.location.map { .file($0, contentsChanged: item.contentsChanged) } ?? .appMetaData
        }
        return DownloadOperation(kind: kind, attributes: attributes(of: item), fileVersion: item.fileVersion)
    }

    private func isDelivered(deletion item: DownloadItem, _ suppressesDeletions: Bool) -> Bool {
        // An app that also requested the deletion need not be informed.
        guard !isToBeDeleted(item.fileUUID), !suppressesDeletions || isOnlyListed(item.fileUUID) else { return false }
        if case .deletion(.rejectDownloadDeletion) = item.resolution?.answer { return false }
        return true
    }

    func isToBeDeleted(_ file: FileUUID) -> Bool {
        state.pendingItems(of: file).contains { $0.kind == .deletion }
    }

    mutating func delivered(isTaken: Bool, _ sizes: [FileUUID: Int64]) {
        guard case .delivering(let group) = run?.step else { return }
        guard isTaken else {
            endTransfers(.fail(SyncError(.deliveryRefused, sharingGroupUUID: runGroup)))
            resumeDownloads()
            return
        }
        takeOver(group, sizes)
    }

    /// Applies a group to the directory, carries out the app's answers, and continues.
    private mutating func takeOver(_ group: RowID<DownloadGroup>, _ sizes: [FileUUID: Int64] = [:]) {
        let items = state.downloads(in: group)
        let suppressesDeletions = suppressesDeletions(items)
        var isAskedAgain = false
        for item in items {
            if item.kind == .deletion {
                guard takeOver(deletion: item, suppressesDeletions) else {
                    isAskedAgain = true
                    continue
                }
            } else {
                takeOver(content: item, bytes: sizes[item.fileUUID])
            }
            state.downloads[item.key] = nil
            if let location = item.location { actions.append(.removeFile(location)) }
        }
        if isAskedAgain {
            resolveConflicts(in: group)
        } else {
            state.downloadGroups[group] = nil
            resumeDownloads()
        }
    }

    private mutating func takeOver(content item: DownloadItem, bytes: Int64?) {
        if item.goneReason == nil {
            if let own = ownText(in: item) { dropItems([own]) }
            perform(item.resolution, on: item.fileUUID)
            if item.kind == .file { unavailableFiles[item.fileUUID] = nil }
        }
        var entry =
            state.directory[item.fileUUID]
            ?? DirectoryEntry(fileUUID: item.fileUUID, sharingGroupUUID: runGroup)
        entry.fileGroupUUID = entry.fileGroupUUID ?? state.downloadGroups[item.groupID]?.fileGroupUUID
        if let mimeType = item.mimeType, let known = entry.mimeType, known != mimeType {
            reportError(SyncError(.mimeTypeOfFileChanged, fileUUID: item.fileUUID))
        }
        entry.mimeType = entry.mimeType ?? item.mimeType
        entry.cloudStorageType = item.cloudStorageType ?? entry.cloudStorageType
        entry.creationDate = item.creationDate ?? entry.creationDate
        entry.updateDate = item.updateDate ?? entry.updateDate
        entry.fileVersion = item.fileVersion
        entry.deletedLocally = false
        entry.deletedOnServer = false
        if item.goneReason == nil { entry.newerVersion = nil }
        entry.goneReason = item.goneReason
        if item.kind == .file { entry.awaitingReupload = item.awaitingReupload }
        if item.kind == .file, isSettled(item) { entry.forceDownload = false }
        noteContents(of: item, bytes, in: &entry)
        if item.goneReason == nil, let text = item.appMetaData, let version = item.appMetaDataVersion {
            entry.appMetaData = AppMetaData(version: version, contents: text)
        } else if item.goneReason == nil, item.appMetaDataVersion == nil {
            // A restored server has lost the text.
            entry.appMetaData = nil
        }
        state.directory.put(entry)
        // Versions of unsent changes continue from the new version.
        for pending in state.pendingItems(of: item.fileUUID) where pending.status == .uploaded {
            state.items.update(pending.key) { $0.status = .notStarted }
            verifiedGroups.remove(pending.sharingGroupUUID)
        }
    }

    /// Whether a download request for a file is fulfilled: the app has the file, or has a newer change to send. Not if
    /// it rejected the download and dropped its local changes.
    private func isSettled(_ item: DownloadItem) -> Bool {
        guard case .content(.rejectContentDownload) = item.resolution?.answer else { return true }
        return !state.pendingItems(of: item.fileUUID).isEmpty
    }

    /// Drops the local changes that the app abandoned, but none that it has queued since it was asked.
    private mutating func perform(_ resolution: StoredResolution?, on file: FileUUID) {
        guard let resolution, case .content(let answer) = resolution.answer else { return }
        let items = state.pendingItems(of: file).filter { $0.id <= resolution.lastItem }
        switch answer {
        case .acceptContentDownload:
            dropItems(items)
        case .rejectContentDownload(let kept):
            if !kept.contains(.keepContentUploads) { dropItems(items.filter(\.isContent)) }
            if !kept.contains(.keepUploadDeletions) { dropItems(items.filter { $0.kind == .deletion }) }
        }
    }

    /// Applies a deletion; false if the app must be asked (again), because it has queued an upload since it was asked,
    /// or has not been asked.
    private mutating func takeOver(deletion item: DownloadItem, _ suppressesDeletions: Bool) -> Bool {
        let pending = state.pendingItems(of: item.fileUUID)
        if isToBeDeleted(item.fileUUID) {
            dropItems(pending)
            markDeleted(item)
            return true
        }
        guard let resolution = item.resolution, case .deletion(let answer) = resolution.answer else {
            guard pending.isEmpty else { return false }
            if suppressesDeletions, !isOnlyListed(item.fileUUID) {
                keepFromDeletion(item)
            } else {
                markDeleted(item)
            }
            return true
        }
        let covered = pending.filter { $0.id <= resolution.lastItem }
        switch answer {
        case .rejectDownloadDeletion(.keepContentUpload):
            guard pending.contains(where: { $0.kind == .file }) else {
                // The app has replaced the upload with a text, which cannot restore the file.
                state.downloads.update(item.key) { $0.resolution = nil }
                return false
            }
            markDeletedOnServer(item)
            keepForUndeletion(pending)
        case .rejectDownloadDeletion(.removeContentUpload) where !suppressesDeletions:
            dropItems(covered)
            leaveToIndex(item.fileUUID)
        case .acceptDownloadDeletion where !suppressesDeletions:
            guard pending.count == covered.count else {
                dropItems(covered)
                state.downloads.update(item.key) { $0.resolution = nil }
                return false
            }
            dropItems(covered)
            markDeleted(item)
        case .acceptDownloadDeletion, .rejectDownloadDeletion:
            dropItems(covered)
            keepFromDeletion(item)
            keepForUndeletion(state.pendingItems(of: item.fileUUID))
        }
        return true
    }

    /// Records the deletion of a file whose file group is kept, because the app rejected the deletion of another file
    /// in it. The library asks the app for the contents, which restore the file for others; without them, it is deleted
    /// here.
    private mutating func keepFromDeletion(_ item: DownloadItem) {
        let version = state.directory[item.fileUUID]?.fileVersion
        markDeletedOnServer(item)
        state.directory.update(item.fileUUID) { $0.newerVersion = version ?? item.fileVersion }
    }

    private mutating func markDeleted(_ item: DownloadItem) {
        state.directory.update(item.fileUUID) {
            $0.fileVersion = item.fileVersion
            $0.deletedLocally = true
            $0.deletedOnServer = true
            $0.goneReason = nil
            $0.awaitingReupload = false
            $0.forceDownload = false
            $0.newerVersion = nil
            $0.isIndexOnly = false
        }
    }

    /// Records a deletion that the app does not accept.
    private mutating func markDeletedOnServer(_ item: DownloadItem) {
        state.directory.update(item.fileUUID) {
            $0.deletedLocally = false
            $0.deletedOnServer = true
            $0.goneReason = nil
            $0.awaitingReupload = false
            $0.isIndexOnly = false
            Self.adoptDeletedVersion(item.fileVersion, item.appMetaDataVersion, in: &$0)
        }
    }

    /// Makes the oldest upload of contents undelete the file. Older changes to the text alone could not be sent before
    /// it; the latest of them is sent with it.
    private mutating func keepForUndeletion(_ pending: [UploadItem]) {
        for item in pending where item.status == .uploaded {
            state.items.update(item.key) { $0.status = .notStarted }
            verifiedGroups.remove(item.sharingGroupUUID)
        }
        guard let oldest = pending.first(where: { $0.kind == .file }) else { return }
        let texts = pending.filter { $0.id < oldest.id && $0.kind == .appMetaData }
        state.items.update(oldest.key) {
            $0.uploadUndeletion = true
            $0.appMetaData = $0.appMetaData ?? texts.last?.appMetaData
        }
        dropItems(texts)
    }
}
