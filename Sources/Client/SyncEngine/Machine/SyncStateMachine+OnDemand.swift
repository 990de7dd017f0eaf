package import SyncProtocol

// Groups whose files are downloaded on demand (docs/adr/0115-each-group-by-itself.md): which contents the app wants, and
// which it no longer has.
extension SyncStateMachine {
    /// Sets which contents of a group this device downloads. Takes effect with the next request to the server.
    /// - Throws: `unknownSharingGroup`.
    package mutating func setDownloadPolicy(
        _ policy: DownloadPolicy, of group: SharingGroupUUID
    ) throws(SyncError) {
        guard state.groups[group] != nil else { throw SyncError(.unknownSharingGroup, sharingGroupUUID: group) }
        state.groups.update(group) {
            if $0.downloadPolicy == .onDemand { $0.downloadsRest = policy == .automatic }
            $0.downloadPolicy = policy
        }
    }

    /// Requests that the next sync delivers a file, even again and in the same version. Ignored for files that are out
    /// of reach, and for files that the server does not have yet.
    /// - Throws: `couldNotFindFileUUID`, `fileAlreadyDeleted`.
    package mutating func requestDownload(
        of file: FileUUID, priority: DownloadPriority = .normal
    ) throws(SyncError) {
        guard let entry = state.directory[file] else { throw SyncError(.couldNotFindFileUUID, fileUUID: file) }
        // If an upload is restoring a file that others deleted, the file is delivered once it is undeleted.
        guard !entry.deletedLocally else { throw SyncError(.fileAlreadyDeleted, fileUUID: file) }
        // A file that a restored server has lost is delivered once it is back.
        guard entry.goneReason == nil, entry.fileVersion != nil || entry.isIndexOnly else { return }
        state.directory.update(file) {
            $0.forceDownload = true
            $0.downloadPriority = priority
        }
        if let item = state.download(of: file), item.kind == .file {
            state.downloadGroups.update(item.groupID) { $0.priority = max($0.priority, priority) }
        }
    }

    // MARK: Eviction

    /// Records that the app removes its contents of a file, or no longer requests them: from now on, only the index of
    /// the file is followed.
    /// - Throws: `couldNotFindFileUUID`, `fileAlreadyDeleted`, `contentsNotEvictable`.
    package mutating func evict(_ file: FileUUID) throws(SyncError) -> [EngineAction] {
        guard let entry = state.directory[file] else { throw SyncError(.couldNotFindFileUUID, fileUUID: file) }
        guard !entry.deletedLocally else { throw SyncError(.fileAlreadyDeleted, fileUUID: file) }
        guard
            entry.isIndexOnly
                ? !state.items.contains(at: .file(file)) && !isBeingDelivered(file) : mayBeEvicted(entry)
        else {
            throw SyncError(.contentsNotEvictable, fileUUID: file)
        }
        forgetContents(of: entry)
        return takeActions()
    }

    /// Records that the app removes the contents that it used least recently, until the rest fits into a number of
    /// bytes. Files of unknown size count as empty, and stay.
    /// - Parameter group: The group; nil: all groups whose files are downloaded on demand.
    /// - Returns: The evicted files, least recently used first.
    package mutating func evict(
        of group: SharingGroupUUID?, keeping bytes: Int64
    ) -> (files: [FileUUID], actions: [EngineAction]) {
        let kept = state.directory.rows { entry in
            (group == nil || entry.sharingGroupUUID == group) && (entry.contentBytes ?? 0) > 0 && !entry.deletedLocally
                && state.groups[entry.sharingGroupUUID]?.downloadPolicy == .onDemand
        }
        var total = kept.reduce(0) { $0 + ($1.contentBytes ?? 0) }
        var evicted: [FileUUID] = []
        let never = Int64.min
        let oldestFirst = kept.sorted {
            ($0.usedAt?.secondsSince1970 ?? never, $0.key) < ($1.usedAt?.secondsSince1970 ?? never, $1.key)
        }
        for entry in oldestFirst where total > bytes && mayBeEvicted(entry) {
            total -= entry.contentBytes ?? 0
            forgetContents(of: entry)
            evicted.append(entry.fileUUID)
        }
        return (evicted, takeActions())
    }

    /// Records that the app used its contents of a file. Does nothing if it has none.
    /// - Parameter bytes: Their size; nil keeps the known one.
    /// - Throws: `couldNotFindFileUUID`.
    package mutating func noteUse(of file: FileUUID, bytes: Int64?, at now: WireDate) throws(SyncError) {
        guard let entry = state.directory[file] else { throw SyncError(.couldNotFindFileUUID, fileUUID: file) }
        guard !entry.isIndexOnly, !entry.deletedLocally else { return }
        state.directory.update(file) {
            $0.usedAt = now
            $0.contentBytes = bytes ?? $0.contentBytes
        }
    }

    /// Whether the server has the contents, and nothing about them is pending.
    private func mayBeEvicted(_ entry: DirectoryEntry) -> Bool {
        state.groups[entry.sharingGroupUUID]?.downloadPolicy == .onDemand && entry.fileVersion != nil
            && !entry.isIndexOnly && !entry.deletedOnServer && !entry.forceDownload && !entry.awaitingReupload
            && entry.goneReason == nil && entry.newerVersion == nil
            && !state.items.contains(at: .file(entry.fileUUID)) && state.reuploads[entry.fileUUID] == nil
            && state.download(of: entry.fileUUID) == nil
    }

    /// Whether the app is taking a file at this moment: nobody knows whether it removes the contents before or after.
    private func isBeingDelivered(_ file: FileUUID) -> Bool {
        guard case .delivering(let group) = run?.step else { return false }
        return state.download(of: file)?.groupID == group
    }

    private mutating func forgetContents(of entry: DirectoryEntry) {
        state.directory.update(entry.key) {
            $0.isIndexOnly = true
            $0.forceDownload = false
            $0.downloadPriority = .normal
            $0.contentBytes = nil
            $0.usedAt = nil
        }
        for kept in state.transfers.rows(at: entry.fileUUID) {
            state.transfers[kept.key] = nil
            actions.append(.removeFile(kept.location))
        }
    }

    // MARK: The index of files whose contents the app does not have

    private func isOnDemand(_ group: SharingGroupUUID) -> Bool { state.groups[group]?.downloadPolicy == .onDemand }

    /// Whether the contents of a file that the app does not have must be downloaded.
    func isRequested(_ entry: DirectoryEntry) -> Bool { entry.forceDownload || !isOnDemand(entry.sharingGroupUUID) }

    /// Whether the app follows only the index of a file, and has not requested or changed its contents.
    func isOnlyListed(_ file: FileUUID) -> Bool {
        state.directory[file]?.isIndexOnly == true && state.pendingItems(of: file).isEmpty
    }

    /// Whether the app has queued contents or a deletion of a file, which others' changes would conflict with, or has
    /// contents that were set aside: without a delivery of others' changes, a retry would silently replace them.
    func hasContentWork(on file: FileUUID) -> Bool {
        (state.pendingItems(of: file) + changesSetAside(of: file)).contains { $0.kind != .appMetaData }
    }

    /// The required download of a file that the directory does not contain.
    func differenceOfUnknown(_ row: FileInfo) -> DownloadItem.Kind? {
        guard isOnDemand(row.sharingGroupUUID) else { return .file }
        return row.appMetaDataVersion == nil ? nil : .appMetaData
    }

    /// Applies a row of the index to a file whose contents the app does not have, without a download. In a group whose
    /// files are downloaded on demand, files that are new here become such files.
    mutating func followIndex(_ row: FileInfo, _ version: FileVersion, in group: SharingGroupUUID) {
        guard !row.deleted else { return }
        let known = state.directory[row.fileUUID]
        if known?.deletedLocally ?? true {
            guard isOnDemand(group), known.map({ $0.sharingGroupUUID == group }) ?? true else { return }
            var entry = DirectoryEntry(fileUUID: row.fileUUID, sharingGroupUUID: group)
            entry.fileGroupUUID = known?.fileGroupUUID ?? row.fileGroupUUID
            entry.mimeType = known?.mimeType ?? row.mimeType
            entry.fileVersion = version
            entry.isIndexOnly = true
            state.directory.put(entry)
            return
        }
        guard let known, known.sharingGroupUUID == group, known.isIndexOnly || listsMissing(known) else { return }
        if row.appMetaDataVersion == nil, known.appMetaData != nil {
            // A restored server has lost the text.
            state.directory.update(known.key) { $0.appMetaData = nil }
        }
        guard known.fileVersion != version, !hasContentWork(on: known.fileUUID) else { return }
        state.directory.update(known.key) { $0.fileVersion = version }
    }

    /// Lists a file that a restored server had lost and has again, if the app did not have its contents either; returns
    /// false for other files.
    private mutating func listsMissing(_ known: DirectoryEntry) -> Bool {
        guard unavailableFiles[known.fileUUID] == true, known.fileVersion == nil, isOnDemand(known.sharingGroupUUID),
            !hasContentWork(on: known.fileUUID)
        else { return false }
        state.directory.update(known.key) {
            $0.isIndexOnly = true
            $0.newerVersion = nil
            $0.appMetaData = nil
        }
        return true
    }

    /// The requested files of a group as rows of an index, without those that already have a download. A partial index
    /// need not contain them: they have not changed since.
    func requestedRows(in group: SharingGroupUUID) -> [FileInfo] {
        var entries = state.directory.rows(at: .requested(group))
        if !isOnDemand(group), state.groups[group]?.downloadsRest == true {
            entries = state.directory.rows { $0.isIndexOnly && $0.sharingGroupUUID == group }
        }
        return entries.compactMap { entry in
            guard entry.fileVersion != nil, state.download(of: entry.fileUUID) == nil else { return nil }
            var row = FileInfo(fileUUID: entry.fileUUID, sharingGroupUUID: group, deleted: false)
            row.fileGroupUUID = entry.fileGroupUUID
            row.mimeType = entry.mimeType
            row.fileVersion = entry.fileVersion
            row.appMetaDataVersion = entry.textVersion
            row.cloudStorageType = entry.cloudStorageType
            row.creationDate = entry.creationDate
            row.updateDate = entry.updateDate
            row.awaitingReupload = entry.awaitingReupload
            return row
        }
    }

    /// Whether a download that an index required is still required.
    func isStillWanted(_ item: DownloadItem) -> Bool {
        guard item.kind == .file, isOnDemand(runGroup) else { return true }
        guard let entry = state.directory[item.fileUUID] else { return false }
        // The app does not have a deleted file that others have restored.
        let lacksContents = entry.isIndexOnly || entry.deletedLocally
        return !lacksContents || entry.forceDownload || hasContentWork(on: item.fileUUID)
    }

    /// Records in a directory entry whether the app has the contents after a delivery. Contents that are out of reach
    /// count as wanted: they are downloaded when they are within reach again.
    func noteContents(of item: DownloadItem, _ bytes: Int64?, in entry: inout DirectoryEntry) {
        guard item.kind == .file else { return }
        if item.goneReason != nil {
            entry.isIndexOnly = false
            return
        }
        // An app that keeps its changes has the contents that it sends, or those in the conflict. Without this, the
        // next index would require the download again, and cause the same conflict.
        if case .content(.rejectContentDownload) = item.resolution?.answer {
            if !state.pendingItems(of: item.fileUUID).isEmpty { entry.isIndexOnly = false }
            return
        }
        entry.isIndexOnly = false
        entry.contentBytes = bytes
        entry.usedAt = now
    }

    /// Keeps the record of a file that a restored server does not know, and whose contents the app does not have. It
    /// becomes accessible when another device uploads it again.
    mutating func awaitLost(_ known: DirectoryEntry) {
        state.directory.update(known.key) {
            $0.fileVersion = nil
            $0.appMetaData = nil
            $0.awaitingReupload = false
        }
    }
}
