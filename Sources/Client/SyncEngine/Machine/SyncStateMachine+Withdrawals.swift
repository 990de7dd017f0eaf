package import SyncProtocol

// The app's decisions about unsent changes: it queues them again, or withdraws them.
extension SyncStateMachine {
    /// Queues the uploads of a file that were set aside. Contents and texts that were queued since take precedence.
    /// - Parameter source: Reads the current state of an item's contents, which may have changed since.
    /// - Throws: `couldNotFindFileUUID` if nothing was set aside, or only the text of a file that the server does not
    ///   have; errors of ``upload(_:_:at:)`` and `source`.
    package mutating func retryUpload(
        of file: FileUUID, at now: WireDate, source: (UploadItem) throws(SyncError) -> UploadSource?
    ) throws(SyncError) -> [EngineAction] {
        self.now = now
        let items = changesSetAside(of: file)
        guard let entry = state.directory[file],
            var item = items.last(where: { $0.kind == .file }) ?? items.last
        else { throw SyncError(.couldNotFindFileUUID, fileUUID: file) }
        try checkContent(entry.attributes)
        let pending = state.pendingItems(of: file)
        guard item.kind == .file || entry.fileVersion != nil || pending.contains(where: { $0.kind == .file }) else {
            throw SyncError(.couldNotFindFileUUID, fileUUID: file)
        }
        if let source = try source(item) {
            item.fileSize = source.size
            item.fileModified = source.modified
        }
        let queued = pending.first(where: isOpen)
        let texts = items.compactMap(\.appMetaData) + pending.compactMap(\.appMetaData)
        if var queued, queued.kind == .file || item.kind == .appMetaData {
            // Later changes are newer; only their text may be missing.
            queued.appMetaData = texts.last
            state.items.put(queued)
            dropItems(items)
            return takeActions()
        }
        if let queued { removeItem(queued) }
        dropItems(items.filter { $0.id != item.id })
        item.appMetaData = texts.last
        // The file is kept, since the new item owns it.
        state.items[item.key] = nil
        state.items.put(item.requeued(as: state.nextItemID(), in: openedQueue(of: item.sharingGroupUUID)))
        removeIfEmpty(item.queueID)
        return takeActions()
    }

    /// Discards the changes to a file that were set aside. If the file never reached the server, its record is removed.
    /// - Throws: `couldNotFindFileUUID` if nothing was set aside.
    package mutating func discardUpload(of file: FileUUID) throws(SyncError) -> [EngineAction] {
        try withdraw(changesSetAside(of: file), of: file)
        return takeActions()
    }

    /// Withdraws all pending changes to a file from all queues, and cancels any transfer in progress. If the server does
    /// not have the file, its record is removed, unless only a text is withdrawn from a file that a restored server lost.
    /// - Throws: `couldNotFindFileUUID` if nothing is pending; `commitUnderWay`.
    package mutating func withdraw(_ file: FileUUID) throws(SyncError) -> [EngineAction] {
        let items = state.items.rows(at: .file(file))
        guard items.allSatisfy(mayBeWithdrawn) else { throw SyncError(.commitUnderWay, fileUUID: file) }
        try withdraw(items, of: file)
        return takeActions()
    }

    private mutating func withdraw(_ items: [UploadItem], of file: FileUUID) throws(SyncError) {
        guard !items.isEmpty else { throw SyncError(.couldNotFindFileUUID, fileUUID: file) }
        abandon(items)
        if let entry = state.directory[file], !entry.deletedLocally, !state.items.contains(at: .file(file)) {
            let isText = items.allSatisfy { $0.kind == .appMetaData }
            // The app still has the contents that a restored server has lost.
            if isText, entry.newerVersion != nil, !entry.deletedOnServer { return }
            state.directory[file] = entry.fileVersion == nil ? nil : entry
            state.directory.update(file) { $0.newerVersion = nil }
        }
        forgetUndeletion(of: file)
    }

    /// Whether the server cannot have been asked to commit a change. A batch that it may have completed counts as not
    /// committed: if it was, the index will show that.
    func mayBeWithdrawn(_ item: UploadItem) -> Bool {
        guard let queue = state.queues[item.queueID] else { return true }
        return queue.commitID == nil || queue.batchUUID != nil
    }

    /// Drops changes, and cancels their transfers, unless these contain other files as well. Their staged versions on
    /// the server are discarded before the next commit.
    mutating func abandon(_ items: [UploadItem]) {
        for item in items {
            for (token, transfer) in run?.transfers ?? [:] {
                if case .upload(item.id, _) = transfer { actions.append(.cancel(token)) }
            }
            if let queue = state.queues[item.queueID], queue.batchUUID != nil {
                let isUnderWay = run?.transfers.values.contains { transfer in
                    switch transfer {
                    case .upload(_, queue.id), .uploads(_, queue.id): true
                    default: false
                    }
                }
                if isUnderWay == true {
                    // The other changes are sent without it, once the transfers in progress have ended.
                    endTransfers(.sendWithoutBatch(queue.id))
                } else {
                    forgetCommit(of: queue.id)
                    for other in state.items(in: queue.id) where other.status != .notStarted {
                        state.items.update(other.key) { $0.resetStaging() }
                    }
                }
            }
            verifiedGroups.remove(item.sharingGroupUUID)
        }
        dropItems(items)
    }
}
