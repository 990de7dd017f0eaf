package import SyncProtocol

// Answering a conflict with a file into which both sides went.
extension SyncStateMachine {
    /// Answers a conflict about contents by dropping the local work and queueing a merged file instead, in one step. The
    /// file needs no sync of the app's: it is in a closed queue of its own.
    /// - Returns: What to do next; nil if the question does not wait for an answer any more, and nothing changed.
    package mutating func mergeConflict(
        _ token: EngineToken, _ source: UploadSource, appMetaData: String?, at now: WireDate
    ) -> [EngineAction]? {
        guard run?.token == token, case .resolvingContent(let id, _) = run?.step, let download = state.downloads[id],
            let mimeType = state.directory[download.fileUUID]?.mimeType ?? download.mimeType
        else { return nil }
        self.now = now
        var queue = UploadQueue(id: state.nextQueueID(), createdAt: now)
        queue.state = .closed
        queue.closedSequence = state.nextClosedSequence
        queue.sharingGroupUUID = runGroup
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

    /// What the local side of a conflict has to say: the youngest pending contents and text of a file.
    package func pendingContent(of file: FileUUID) -> (file: LocalFileLocation?, appMetaData: String?) {
        let pending = state.pendingItems(of: file).filter(\.isContent)
        return (pending.compactMap(\.source).last, pending.compactMap(\.appMetaData).last)
    }
}
