package import SyncProtocol

// Uploads for which no retry helps: a file that is too large, or that no longer is what was queued. They are set aside,
// in a queue of their own that is not sent, so that the others can proceed; the app decides about them.
extension SyncStateMachine {
    /// The server's codes for an upload that it will never accept as it is.
    private static let finalCodes = ErrorCode.rawValues([
        .malformedParameter, .parameterOutOfRange, .parameterTooLong, .unknownMimeType, .mimeTypeChanged,
        .fileInOtherGroup, .bodyTooLarge, .appMetaDataTooLarge,
    ])
    /// The same for replies without a code, such as a proxy's: content too large, URI too long (RFC 9110, section
    /// 15.5).
    private static let finalStatuses: Set<Int> = [413, 414]

    /// Whether an upload that failed like this will always fail.
    static func isFinal(_ failure: RequestFailure) -> Bool {
        switch failure {
        case .localFile: true
        case .refused(let status, let code): finalStatuses.contains(status) || finalCodes.contains(code ?? "")
        case .unreachable, .serverDown, .signInRequired, .serverTooOld, .localStore, .differentUser, .accountRetired,
            .serverRestored:
            false
        }
    }

    /// Drops uploads to files that are out of reach and that the app has since deleted: they would wait, and keep the
    /// deletion and all that follows it from being sent.
    mutating func dropWhatIsDeletedAnyway() {
        let closed = state.closedQueues(of: runGroup)
        let deleted = Set(
            closed.flatMap { state.items(in: $0.id) }.filter { $0.kind == .deletion }.compactMap(\.fileUUID))
        for queue in closed where queue.commitID == nil {
            let hopeless = state.items(in: queue.id).filter { item in
                guard item.isContent, let file = item.fileUUID else { return false }
                return deleted.contains(file) && state.directory[file]?.goneReason != nil
            }
            guard !hopeless.isEmpty else { continue }
            if queue.batchUUID != nil {
                // The server may still complete a batch of the present version.
                guard queue.commitVersion != state.groups[runGroup]?.masterVersion else { continue }
                forgetBatch(of: runGroup)
                resetItems(of: runGroup)
            }
            dropItems(hopeless)
        }
    }

    /// The uploads of a file that were set aside, or became dead with their group; oldest first.
    package func uploadsSetAside(of file: FileUUID) -> [UploadItem] {
        state.items.rows(at: .file(file)).filter { $0.isContent && state.queues[$0.queueID]?.state == .dead }
    }

    /// Removes an upload from its queue, and informs the app. What the app has replaced or deleted since is just
    /// dropped.
    mutating func setAside(_ item: UploadItem, _ error: SyncError) {
        guard let file = item.fileUUID, let entry = state.directory[file] else { return }
        guard !state.pendingItems(of: file).contains(where: { $0.kind == .deletion && $0.id > item.id }) else {
            dropItems([item])
            return
        }
        var text = error.serverCode == ErrorCode.appMetaDataTooLarge.rawValue ? nil : item.appMetaData
        if item.kind == .file {
            let older = uploadsSetAside(of: file).filter { $0.kind == .file }
            text = text ?? older.last?.appMetaData
            dropItems(older)
        }
        if let next = successor(of: item, file) {
            if next.appMetaData == nil { state.items.update(next.key) { $0.appMetaData = text } }
            dropItems([item])
            return
        }
        var queue = UploadQueue(id: state.nextQueueID(), createdAt: now)
        queue.state = .dead
        queue.closedSequence = state.nextClosedSequence
        queue.sharingGroupUUID = item.sharingGroupUUID
        state.queues.put(queue)
        state.items.update(item.key) {
            $0.queueID = queue.id
            $0.resetStaging()
            $0.appMetaData = $0.appMetaData ?? text
            $0.lastError = error.description
        }
        removeIfEmpty(item.queueID)
        var failure = error
        failure.fileUUID = file
        failure.sharingGroupUUID = item.sharingGroupUUID
        report(.singleFileUploadFailed(entry.attributes, failure))
        forgetUndeletion(of: file)
    }

    /// The next waiting change of the file, if it and later changes replace what an item would have uploaded.
    private func successor(of item: UploadItem, _ file: FileUUID) -> UploadItem? {
        let newer = state.pendingItems(of: file).filter { $0.id > item.id && $0.isContent && $0.status == .notStarted }
        let isReplaced = newer.contains { item.kind == .file ? $0.kind == .file : $0.appMetaData != nil }
        return isReplaced ? newer.first : nil
    }

    /// Queues the uploads of a file that were set aside. Contents and text that were queued since take precedence.
    /// - Parameter source: Reads the current state of an item's contents, which may have changed since.
    /// - Throws: `couldNotFindFileUUID` if nothing was set aside, or only the text of a file that the server does not
    ///   have; what ``upload(_:_:at:)`` throws; what `source` throws.
    package mutating func retryUpload(
        of file: FileUUID, at now: WireDate, source: (UploadItem) throws(SyncError) -> UploadSource?
    ) throws(SyncError) -> [EngineAction] {
        self.now = now
        let items = uploadsSetAside(of: file)
        guard let entry = state.directory[file], let open = state.openQueue,
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
        let queued = pending.first { $0.queueID == open.id }
        let texts = items.compactMap(\.appMetaData) + pending.compactMap(\.appMetaData)
        if var queued, queued.kind == .file || item.kind == .appMetaData {
            // What was queued since is newer; only a text may be missing there.
            queued.appMetaData = texts.last
            state.items.put(queued)
            dropItems(items)
            return takeActions()
        }
        if let queued { removeItem(queued) }
        dropItems(items.filter { $0.id != item.id })
        item.appMetaData = texts.last
        // Its file stays, as the new item has it.
        state.items[item.key] = nil
        state.items.put(item.requeued(as: state.nextItemID(), in: open.id))
        state.queues.update(open.key) { $0.sharingGroupUUID = item.sharingGroupUUID }
        removeIfEmpty(item.queueID)
        return takeActions()
    }

    /// Discards the uploads of a file that were set aside. A file that never reached the server is forgotten.
    /// - Throws: `couldNotFindFileUUID` if nothing was set aside.
    package mutating func discardUpload(of file: FileUUID) throws(SyncError) -> [EngineAction] {
        let items = uploadsSetAside(of: file)
        guard !items.isEmpty else { throw SyncError(.couldNotFindFileUUID, fileUUID: file) }
        dropItems(items)
        if let entry = state.directory[file], entry.fileVersion == nil, !entry.deletedLocally,
            !state.items.contains(at: .file(file))
        {
            state.directory[file] = nil
        }
        return takeActions()
    }
}
