package import SyncProtocol

/// A request that runs concurrently with others of its kind.
enum Transfer: Sendable {
    case upload(RowID<UploadItem>, of: RowID<UploadQueue>)
    /// Small files in one request.
    case uploads([RowID<UploadItem>], of: RowID<UploadQueue>)
    case download(RowID<DownloadItem>)
    case reupload(FileUUID)
}

/// The step after the transfers in progress, for a reason that one of them, or the app, has caused.
enum AfterTransfers: Sendable {
    /// The downloads belong to a stale version of the group.
    case downloadAnew(current: MasterVersion?, isIndexDoubtful: Bool)
    /// The staged changes belong to a stale version of the group.
    case uploadAnew(current: MasterVersion?, isIndexDoubtful: Bool)
    /// A batch is committed, regardless of the results of its other requests.
    case takeBatchOver(RowID<UploadQueue>, MasterVersion)
    /// A batch cannot become complete.
    case sendWithoutBatch(RowID<UploadQueue>)
    /// The sync cannot continue, but completed downloads are delivered before it ends.
    case failAfterDeliveries(SyncError)
    case fail(SyncError)
    /// A queue cannot be sent now; others can.
    case postpone(RowID<UploadQueue>, SyncError)
    /// The app has postponed an answer.
    case finish
}

// Several concurrent uploads or downloads. Even when no more are started, those in progress must complete: an abandoned
// request could still take effect later.
extension SyncStateMachine {
    /// Whether one more upload may start.
    var mayUpload: Bool { mayTransfer(uploadPace) }

    /// Whether one more download may start.
    var mayDownload: Bool { mayTransfer(downloadPace) }

    private func mayTransfer(_ pace: TransferPace) -> Bool {
        guard let run, run.afterTransfers == nil, !isStopping else { return false }
        return run.transfers.count < pace.allowed
    }

    /// Reduces the number of concurrent transfers, because the server is busy, or a request is repeated after a
    /// failure.
    package mutating func slowDown() {
        uploadPace.slowDown()
        downloadPace.slowDown()
    }

    /// Records the end of a transfer for the number of concurrent ones.
    mutating func measure(_ reply: ServerReply, to token: EngineToken, _ transfer: Transfer, at clock: Duration) {
        let items: [RowID<UploadItem>] =
            switch transfer {
            case .upload(let item, _): [item]
            case .uploads(let items, _): items
            case .download, .reupload: []
            }
        var outcome = reply.outcome(ofUploading: items.map { state.items[$0]?.fileSize ?? 0 })
        // Perhaps it was cancelled.
        if outcome == .congested, run?.afterTransfers != nil || isStopping { outcome = .failed }
        if case .download = transfer {
            downloadPace.end(token, outcome, at: clock)
        } else {
            uploadPace.end(token, outcome, at: clock)
        }
    }

    /// Whether nothing is being transferred.
    var isLineFree: Bool { run?.transfers.isEmpty ?? true }

    /// Whether the app has a pending question, or a delivery that it has not acknowledged.
    var isAppBusy: Bool {
        switch run?.step {
        case .resolvingContent, .resolvingDeletions, .delivering, .askingForContents: true
        default: false
        }
    }

    mutating func transfer(_ transfer: Transfer, _ request: ServerRequest) {
        let token = makeToken()
        // Others, if any, belong to an earlier sync that was abandoned.
        if case .download = transfer {
            if isLineFree { downloadPace.forgetRunning() }
            downloadPace.begin(token)
        } else {
            if isLineFree { uploadPace.forgetRunning() }
            uploadPace.begin(token)
        }
        run?.transfers[token] = transfer
        actions.append(.send(token, request))
    }

    mutating func receive(_ reply: ServerReply, of transfer: Transfer) {
        if isStopping, case .failed = reply {
            if let group = run?.group { verifiedGroups.remove(group) }
            _ = endsTransfers()
            return
        }
        switch transfer {
        case .upload(let item, let queue): receiveUpload(reply, item, of: queue)
        case .uploads(let items, let queue): receiveUploads(reply, items, of: queue)
        case .download(let item): receiveDownload(reply, item)
        case .reupload(let file): receiveReupload(reply, file)
        }
    }

    /// Starts no further transfers, and plans the step after those in progress. The first reason counts, unless a batch
    /// turns out to be committed.
    mutating func endTransfers(_ next: AfterTransfers) {
        switch (run?.afterTransfers, next) {
        case (nil, _), (_, .takeBatchOver): run?.afterTransfers = next
        case (.failAfterDeliveries(let error), _): run?.afterTransfers = .fail(error)
        default: break
        }
        switch next {
        case .downloadAnew, .uploadAnew:
            // Their results would be discarded.
            for token in run?.transfers.keys.sorted() ?? [] { actions.append(.cancel(token)) }
        case .takeBatchOver, .sendWithoutBatch, .failAfterDeliveries, .fail, .postpone, .finish: break
        }
    }

    /// Continues with the step planned after the transfers, if any, once no transfer is in progress and the app is not
    /// busy.
    /// - Returns: Whether no further transfer may start.
    mutating func endsTransfers() -> Bool {
        guard run?.afterTransfers != nil || isStopping else { return false }
        if case .failAfterDeliveries = run?.afterTransfers, !isStopping,
            state.downloadGroups.contains(at: .downloaded(runGroup))
        {
            return false
        }
        guard isLineFree, !isAppBusy else { return true }
        guard let next = run?.afterTransfers else {
            finish()
            return true
        }
        run?.afterTransfers = nil
        switch next {
        case .downloadAnew(let current, let isIndexDoubtful):
            dropDownloads(of: runGroup)
            restart(current: current, isIndexDoubtful: isIndexDoubtful)
        case .uploadAnew(let current, let isIndexDoubtful):
            forgetBatch(of: runGroup)
            resetItems(of: runGroup)
            restart(current: current, isIndexDoubtful: isIndexDoubtful)
        case .takeBatchOver(let queue, let version): takeBatchOver(queue, version)
        case .sendWithoutBatch(let queue): sendWithoutBatch(queue)
        case .failAfterDeliveries(let error), .fail(let error): fail(error)
        case .postpone(let queue, let error): postpone(queue, error)
        case .finish: finish(isDeferred: true)
        }
        return true
    }
}

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

extension ServerReply {
    /// What the reply to a transfer shows about the number of concurrent ones.
    /// - Parameter sizes: The sizes in bytes of the files of an upload.
    fileprivate func outcome(ofUploading sizes: [Int64]) -> TransferPace.Outcome {
        switch self {
        case .fileStaged, .batchCommitted, .done: .moved(bytes: sizes.reduce(0, +))
        case .several(let replies):
            // Refusals of single files say nothing about the request.
            replies.allSatisfy { $0.outcome(ofUploading: []) == .congested }
                ? .congested : .moved(bytes: sizes.reduce(0, +), files: sizes.count)
        case .fileDownloaded(let file): .moved(bytes: file.bytes)
        case .appMetaDataDownloaded(let text): .moved(bytes: Int64(text.utf8.count))
        case .reuploaded(.stored(let bytes)): .moved(bytes: bytes)
        case .failed(.unreachable), .failed(.serverDown), .failed(.refused(408, _, _)), .failed(.refused(429, _, _)),
            .failed(.refused(500..., _, _)):
            .congested
        default: .failed
        }
    }
}
