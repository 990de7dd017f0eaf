package import SyncProtocol

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

    /// The local side of a conflict: the latest pending contents and text of a file.
    package func pendingContent(of file: FileUUID) -> (file: LocalFileLocation?, appMetaData: String?) {
        let pending = state.pendingItems(of: file).filter(\.isContent)
        return (pending.compactMap(\.source).last, pending.compactMap(\.appMetaData).last)
    }
}
