package import SyncProtocol

// Handles transfers that ended while no process was waiting for them.
extension SyncStateMachine {
    /// Keeps contents that arrived until the index shows their version.
    package mutating func keepDownload(
        _ arrived: ServerReply.FileDownload, of file: FileUUID, _ version: FileVersion,
        _ textVersion: AppMetaDataVersion?, at now: WireDate
    ) -> [EngineAction] {
        self.now = now
        for entry in state.transfers.rows(where: { $0.fileUUID == file }) {
            state.transfers[entry.key] = nil
            actions.append(.removeFile(entry.location))
        }
        var reply = TransferCacheEntry.Reply()
        reply.appMetaDataVersion = textVersion
        reply.appMetaData = arrived.appMetaData
        reply.cloudStorageType = arrived.cloudStorageType
        reply.contentsChanged = arrived.contentsChanged
        state.transfers.put(
            TransferCacheEntry(
                id: state.nextTransferID(), fileUUID: file, fileVersion: version, reply: reply,
                location: arrived.location, cachedAt: now))
        return takeActions()
    }

    /// Marks an upload as staged whose request has arrived. Before the commit, the library asks the server whether it
    /// still has the upload.
    /// - Parameter committedVersion: The master version after the commit of the upload's batch, if the reply reported
    ///   it.
    package mutating func noteStaged(
        _ file: FileUUID, _ version: FileVersion, _ textVersion: AppMetaDataVersion?,
        committedAs committedVersion: MasterVersion? = nil
    ) -> [EngineAction] {
        guard let entry = state.directory[file], version == entry.fileVersion?.next ?? .first,
            let item = state.pendingItems(of: file).first(where: { $0.kind == .file }), item.status == .notStarted,
            let queue = state.queues[item.queueID], queue.state == .closed,
            queue.id == state.closedQueues(of: item.sharingGroupUUID).first?.id,
            (item.appMetaData == nil) == (textVersion == nil)
        else { return [] }
        state.items.update(item.key) {
            $0.status = .uploaded
            $0.stagedFileVersion = version
            $0.stagedAppMetaDataVersion = textVersion
        }
        verifiedGroups.remove(item.sharingGroupUUID)
        // An active sync detects that by itself.
        if let committedVersion, queue.batchUUID != nil, !isSyncing { completeBatch(queue.id, committedVersion) }
        return takeActions()
    }
}
