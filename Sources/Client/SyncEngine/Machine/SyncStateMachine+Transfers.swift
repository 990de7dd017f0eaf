internal import SyncProtocol

/// A request that is under way beside others of its kind.
enum Transfer: Sendable {
    case upload(RowID<UploadItem>)
    case download(RowID<DownloadItem>)
}

/// What comes after the transfers that are under way, once one of them, or the app, has given a reason.
enum AfterTransfers: Sendable {
    /// The downloads belong to a version that is not the group's any more.
    case downloadAnew(current: MasterVersion?, isIndexDoubtful: Bool)
    /// Likewise, what was staged.
    case uploadAnew(current: MasterVersion?, isIndexDoubtful: Bool)
    /// A batch is committed, whatever its other requests bring.
    case takeBatchOver(RowID<UploadQueue>, MasterVersion)
    /// A batch cannot become complete.
    case sendWithoutBatch(RowID<UploadQueue>)
    /// The sync cannot go on, but what arrived is delivered before it ends.
    case failAfterDeliveries(SyncError)
    case fail(SyncError)
    /// The app has put off an answer.
    case finish
}

// Several uploads, or downloads, at the same time. Whatever ends them lets those that are under way come to their end:
// a request that nobody waits for could still take effect later.
extension SyncStateMachine {
    /// Whether one more transfer may begin.
    var mayTransfer: Bool {
        guard let run, run.afterTransfers == nil, !isStopping else { return false }
        return run.transfers.count < configuration.maximumTransfers
    }

    /// Whether nothing is being transferred.
    var isLineFree: Bool { run?.transfers.isEmpty ?? true }

    /// Whether the app has a question, or a delivery that it has not taken.
    var isAppBusy: Bool {
        switch run?.step {
        case .resolvingContent, .resolvingDeletions, .delivering: true
        default: false
        }
    }

    mutating func transfer(_ transfer: Transfer, _ request: ServerRequest) {
        let token = makeToken()
        run?.transfers[token] = transfer
        actions.append(.send(token, request))
    }

    mutating func receive(_ reply: ServerReply, of transfer: Transfer) {
        switch transfer {
        case .upload(let item): receiveUpload(reply, item)
        case .download(let item): receiveDownload(reply, item)
        }
    }

    /// Lets no further transfer begin, and something else come after those under way. The first reason counts, unless a
    /// batch turns out to be committed.
    mutating func endTransfers(_ next: AfterTransfers) {
        switch (run?.afterTransfers, next) {
        case (nil, _), (_, .takeBatchOver): run?.afterTransfers = next
        case (.failAfterDeliveries(let error), _): run?.afterTransfers = .fail(error)
        default: break
        }
        switch next {
        case .downloadAnew, .uploadAnew:
            // What they bring would be thrown away.
            for token in run?.transfers.keys.sorted() ?? [] { actions.append(.cancel(token)) }
        case .takeBatchOver, .sendWithoutBatch, .failAfterDeliveries, .fail, .finish: break
        }
    }

    /// Goes on with what comes after the transfers, if something does, none is under way any more, and the app is not busy.
    /// - Returns: Whether no further transfer is to begin.
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
        case .finish: finish(isDeferred: true)
        }
        return true
    }
}
