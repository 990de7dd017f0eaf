import SyncProtocol

// Ensures that the server has staged exactly the changes that the client expects, since a commit includes all staged
// changes.
extension SyncStateMachine {
    mutating func receiveStaged(_ reply: ServerReply, _ queue: RowID<UploadQueue>) {
        switch reply {
        case .uploads(let rows): compareStaged(rows, with: queue)
        case .failed(.refused(status: 410, _, _)): restart(current: nil)
        case .failed(let failure): failStaging(failure)
        default: fail(SyncError(.inconsistentServer, sharingGroupUUID: runGroup))
        }
    }

    /// Handles a failure; if the user may no longer write, the index shows that.
    private mutating func failStaging(_ failure: RequestFailure) {
        if failure.isRefusal(.permissionTooLow) { restart(current: nil) } else { fail(failure) }
    }

    private mutating func compareStaged(_ rows: [FileInfo], with queue: RowID<UploadQueue>) {
        // The server stages at most one change per file.
        let staged = Dictionary(rows.map { ($0.fileUUID, $0) }, uniquingKeysWith: { first, _ in first })
        let batch = state.queues[queue]?.batchUUID
        var expected: Set<FileUUID> = []
        for item in state.items(in: queue) where item.isStaged {
            if let row = item.fileUUID.flatMap({ staged[$0] }), row.batchUUID == batch,
                Self.isStaged(item, as: row)
            {
                expected.insert(row.fileUUID)
            } else {
                state.items.update(item.key) { $0.resetStaging() }
            }
        }
        // Changes that the commit would not include are replaced when their file is sent again, without another
        // transfer to the storage.
        let files = Set(state.items(in: queue).compactMap(\.fileUUID))
        let unexpected = rows.filter { row in
            !expected.contains(row.fileUUID) && (row.batchUUID == nil || !files.contains(row.fileUUID))
        }
        if unexpected.isEmpty {
            verifiedGroups.insert(runGroup)
            continueUploads(of: queue)
        } else if configuration.capabilities.discardUploads {
            // Files beyond the limit of one request are left for the next check.
            let files = unexpected.prefix(DiscardUploadsRequest.maximumFiles).map(\.fileUUID)
            send(.discardUploads(runGroup, files), .discarding(queue))
        } else {
            replaceStaged(unexpected, of: queue)
        }
    }

    private static func isStaged(_ item: UploadItem, as row: FileInfo) -> Bool {
        guard item.fileUUID == row.fileUUID else { return false }
        switch item.kind {
        case .file: return !row.deleted && row.fileVersion == item.stagedFileVersion
        case .appMetaData: return !row.deleted && row.fileVersion == nil
        case .deletion: return row.deleted && row.fileVersion == item.stagedFileVersion
        case .groupCreate, .groupUpdate, .groupRemoveUser: return false
        }
    }

    mutating func receiveDiscarded(_ reply: ServerReply, _ queue: RowID<UploadQueue>) {
        switch reply {
        case .done: send(.getUploads(runGroup), .listingStaged(queue))
        case .failed(let failure): failStaging(failure)
        default: fail(SyncError(.inconsistentServer, sharingGroupUUID: runGroup))
        }
    }

    /// If staged changes cannot be discarded, they can only be replaced: by the queue's own change to the same file,
    /// or, if the file is deleted, by another deletion, which changes nothing.
    private mutating func replaceStaged(_ rows: [FileInfo], of queue: RowID<UploadQueue>) {
        let waiting = Set(state.items(in: queue).filter { $0.status == .notStarted }.compactMap(\.fileUUID))
        for row in rows where !waiting.contains(row.fileUUID) {
            let entry = state.directory[row.fileUUID]
            guard let entry, entry.deletedOnServer, let version = entry.fileVersion else {
                fail(
                    SyncError(
                        .stagedChangesCannotBeWithdrawn, fileUUID: row.fileUUID, sharingGroupUUID: runGroup))
                return
            }
            if row.deleted, row.fileVersion == version { continue }
            let masterVersion = state.groups[runGroup]?.masterVersion ?? .initial
            send(
                .uploadDeletion(row.fileUUID, version, masterVersion: masterVersion, sharingGroupUUID: runGroup),
                .replacingStaged(queue))
            return
        }
        verifiedGroups.insert(runGroup)
        continueUploads(of: queue)
    }

    mutating func receiveReplaced(_ reply: ServerReply, _ queue: RowID<UploadQueue>) {
        switch reply {
        case .done: send(.getUploads(runGroup), .listingStaged(queue))
        case .stale(let current):
            resetItems(of: runGroup)
            restart(current: current)
        case .failed(let failure): failStaging(failure)
        default: fail(SyncError(.inconsistentServer, sharingGroupUUID: runGroup))
        }
    }
}

// Queues whose changes are committed when the last one arrives: they need no requests for the commit or the staged
// changes, and others see the changes even if the process ends while the last ones are being sent.
extension SyncStateMachine {
    /// Maximum size in bytes of a file's text, and of the message to the other members, in a queue that is sent as a
    /// batch: together with the batch's parameters they must fit into a query.
    private static let maximumBatchTextBytes = 2_000

    /// The batch of an item; nil if its queue waits for a commit.
    func batch(of item: UploadItem, in queue: UploadQueue) -> UploadBatch? {
        guard let batchUUID = queue.batchUUID else { return nil }
        let isFirst = item.id == state.items.first(at: .queue(queue.id))?.id
        return UploadBatch(
            batchUUID: batchUUID, batchCount: Int32(state.items.count(at: .queue(queue.id))),
            pushNotificationMessage: isFirst ? queue.pushNotificationMessage : nil)
    }

    /// Turns a queue into a batch before it is sent, if possible.
    mutating func beginBatch(_ id: RowID<UploadQueue>) {
        guard let queue = state.queues[id], let version = state.groups[runGroup]?.masterVersion else { return }
        if queue.batchUUID != nil {
            guard queue.commitVersion != version else { return }
            // Its changes are valid only for the other version.
            forgetBatch(of: runGroup)
            resetItems(of: runGroup)
        }
        guard mayBeBatch(queue), let batchUUID = BatchUUID(configuration.makeCommitID().rawValue) else { return }
        run?.begunBatch = batchUUID
        state.queues.update(id) {
            $0.batchUUID = batchUUID
            $0.commitVersion = version
        }
    }

    private func mayBeBatch(_ queue: UploadQueue) -> Bool {
        guard let limit = configuration.maximumBatchBytes else { return false }
        let items = state.items(in: queue.id)
        let texts = items.map(\.appMetaData) + [queue.pushNotificationMessage]
        // If one change is permanently refused, all others are sent once more.
        let size = items.reduce(0) { $0 + ($1.kind == .file ? $1.fileSize ?? 0 : 0) }
        return configuration.capabilities.batches && run?.queueWithoutBatch != queue.id
            && UploadBatch.allowedCounts.contains(Int32(items.count)) && size <= limit
            && items.allSatisfy { $0.status == .notStarted && $0.fileUUID != nil }
            && texts.allSatisfy { ($0?.utf8.count ?? 0) <= Self.maximumBatchTextBytes }
    }

    /// Records, once all changes in a batch have been sent, that the server may commit it without another request.
    mutating func noteLastOfBatch(_ id: RowID<UploadQueue>) {
        guard let batchUUID = state.queues[id]?.batchUUID, !state.items.contains(at: .waiting(id)) else { return }
        state.queues.update(id) { $0.commitID = batchUUID.commitID }
    }

    /// Abandons the batches of a group: the server has not committed them, and will not.
    mutating func forgetBatch(of group: SharingGroupUUID) {
        for queue in state.closedQueues(of: group) where queue.batchUUID != nil {
            state.queues.update(queue.id) {
                $0.batchUUID = nil
                $0.commitID = nil
                $0.commitVersion = nil
            }
        }
    }

    mutating func sendWithoutBatch(_ queue: RowID<UploadQueue>) {
        forgetBatch(of: runGroup)
        resetItems(of: runGroup)
        run?.queueWithoutBatch = queue
        continueUploads(of: queue)
    }

    mutating func takeBatchOver(_ id: RowID<UploadQueue>, _ version: MasterVersion) {
        completeBatch(id, version)
        finish()
    }

    /// Ends a queue that the server has committed, and reports each of its changes that has not been reported yet.
    mutating func completeBatch(_ id: RowID<UploadQueue>, _ version: MasterVersion) {
        for item in state.items(in: id) where item.status != .uploaded {
            // Its own reply was lost.
            guard let file = item.fileUUID, let entry = state.directory[file] else { continue }
            var attributes = entry.attributes
            attributes.appMetaData = item.appMetaData ?? attributes.appMetaData
            reportStaged(item, attributes)
        }
        complete(id, raisesMasterVersion: version)
    }

    // MARK: Determining the outcome of a batch

    /// Resends the smallest change, in bytes, of a batch that may not have arrived: if the batch is committed, the
    /// reply shows it, even if others have committed since. A stale reply means that the batch is not committed, and
    /// will not be.
    /// - Returns: False if no change can be resent.
    mutating func replayBatch(of queue: UploadQueue) -> Bool {
        let all = state.items(in: queue.id)
        let unanswered = all.filter { $0.status != .uploaded }
        let items = unanswered.isEmpty ? all : unanswered
        let sizes = items.map { $0.kind == .file ? $0.fileSize ?? 0 : -1 }
        guard let least = sizes.min(), let index = sizes.firstIndex(of: least), let version = queue.commitVersion,
            let request = stagingRequest(items[index], in: queue, from: version)
        else { return false }
        send(request, .replayingBatch(items[index].id))
        return true
    }

    mutating func receiveReplayedMember(_ reply: ServerReply, _ id: RowID<UploadItem>) {
        guard let item = state.items[id] else {
            // Withdrawn meanwhile.
            sendIndex()
            return
        }
        switch reply {
        case .batchCommitted(let version, _, _):
            completeBatch(item.queueID, version)
            resumeDownloads()
        case .fileStaged, .done:
            // Other changes in the batch have not arrived. Those that have arrived remain staged.
            state.queues.update(item.queueID) { $0.commitID = nil }
            state.items.update(id) { $0.status = .uploaded }
            resumeDownloads()
        case .stale(let current):
            forgetBatch(of: runGroup)
            resetItems(of: runGroup)
            restart(current: current)
        case .failed(.localFile), .failed(.refused(status: 400..<600, _, _)), .gone:
            // This does not reveal the outcome of the batch. The index shows which changes arrived.
            sendIndex()
        case .failed(let failure): fail(failure)
        default: fail(SyncError(.inconsistentServer, sharingGroupUUID: runGroup))
        }
    }
}
