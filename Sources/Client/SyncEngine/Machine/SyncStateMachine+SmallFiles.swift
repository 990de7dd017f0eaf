package import SyncProtocol

/// Whether a server accepts many small files in one request.
package enum SmallFileSupport: Sendable, Equatable {
    /// The server has not been asked.
    case unknown
    /// It does not, or the client sends every file separately.
    case absent
    /// It does, within limits.
    case limits(SmallFileLimits)
}

// Small files of a queue that are sent in one request, which counts as one transfer. Each has the result of a separate
// upload, and is treated like one; a failure of the request as a whole is the failure of each.
extension SyncStateMachine {
    /// The number of small files in a queue that justifies a request for the server's limits.
    private static let numberWorthAsking = 8
    /// A request stays below this size, in bytes: what a lost connection costs, and what the client keeps in memory.
    private static let maximumRequestBytes: Int64 = 4 << 20
    /// The maximum number of concurrent requests with several files: the server uploads eight files of each at the same
    /// time, and permits a user 32 transfers (ADR 32). It also bounds what the client keeps in memory.
    private static let maximumRequests = 4
    /// Fewer files are not worth a request of their own, if more are waiting.
    private static let fewestFiles = 32
    /// An upper bound for the parameters of a file without texts, in bytes.
    private static let parameterBytes = 1_000
    /// A file with a longer text is sent separately.
    private static let maximumTextBytes = 2_000

    /// Sets the server's support for many small files in one request.
    package mutating func use(_ support: SmallFileSupport) {
        configuration.smallFiles = support
    }

    /// Asks the server what it accepts, if that is unknown and many small files of the queue are waiting.
    /// - Returns: Whether the run waits for the answer.
    mutating func asksForSmallFiles(of queue: RowID<UploadQueue>) -> Bool {
        guard case .unknown = configuration.smallFiles, isLineFree else { return false }
        var item = state.items.first(at: .waiting(queue))
        for _ in 1..<Self.numberWorthAsking {
            guard let known = item, isSmall(known, atMost: SmallFileLimits.current.maximumFileBytes) else {
                return false
            }
            item = state.items.first(at: .waiting(queue), after: known.id)
        }
        guard item != nil else { return false }
        send(.askForSmallFiles, .askingForSmallFiles(queue))
        return true
    }

    mutating func receiveSmallFileLimits(_ reply: ServerReply, _ queue: RowID<UploadQueue>) {
        if case .smallFiles(let limits?) = reply {
            configuration.smallFiles = .limits(limits)
        } else {
            // The files are sent one by one; so are those of the next syncs of this process.
            configuration.smallFiles = .absent
        }
        continueUploads(of: queue)
    }

    private func isSmall(_ item: UploadItem, atMost bytes: Int64) -> Bool {
        guard item.kind == .file, let size = item.fileSize else { return false }
        return size <= bytes && (item.appMetaData?.utf8.count ?? 0) <= Self.maximumTextBytes
    }

    /// The maximum number of files in each request that starts now: concurrent requests share the waiting files, so that
    /// all of them end at about the same time.
    func shareOfRequest(in queue: RowID<UploadQueue>) -> Int {
        let transfers = min(uploadPace.allowed, Self.maximumRequests)
        return max(Self.fewestFiles, (state.items.count(at: .waiting(queue)) + transfers - 1) / transfers)
    }

    /// Whether one more request with several files may start.
    var mayUploadTogether: Bool {
        let requests = run?.transfers.values.count { if case .uploads = $0 { true } else { false } } ?? 0
        return mayUpload && requests < Self.maximumRequests
    }

    /// The waiting items from this one on that one request may contain; the item itself if it is sent by itself.
    /// - Parameter share: The maximum number of files.
    func itemsSentTogether(from first: UploadItem, in queue: RowID<UploadQueue>, atMost share: Int) -> [UploadItem] {
        guard case .limits(let limits) = configuration.smallFiles, run?.refusals.isEmpty == true else { return [first] }
        let maximumFiles = min(limits.maximumFiles, share)
        let message = state.queues[queue]?.pushNotificationMessage?.utf8.count ?? 0
        var listBytes = message * 3
        var bodyBytes: Int64 = 0
        var items: [UploadItem] = []
        var next: UploadItem? = first
        while let item = next, items.count < maximumFiles, isSmall(item, atMost: limits.maximumFileBytes) {
            // A byte of a text has at most eight characters, if it is escaped in JSON and the escape in the query.
            listBytes += Self.parameterBytes + (item.appMetaData?.utf8.count ?? 0) * 8
            bodyBytes += item.fileSize ?? 0
            let total = bodyBytes + Int64(listBytes)
            guard listBytes <= SmallFileLimits.maximumListBytes,
                total <= min(Self.maximumRequestBytes, limits.maximumBodyBytes)
            else { break }
            items.append(item)
            next = state.items.first(at: .waiting(queue), after: item.id)
        }
        return items.isEmpty ? [first] : items
    }

    /// Combines several requests that stage items into one.
    mutating func stageTogether(_ items: [UploadItem]) {
        var ids: [RowID<UploadItem>] = []
        var uploads: [FileUpload] = []
        for item in items {
            guard let (staged, request) = prepare(item), case .uploadFile(let upload) = request else { continue }
            state.items.put(staged)
            ids.append(staged.id)
            uploads.append(upload)
        }
        guard let queue = items.first?.queueID, let upload = uploads.first, let id = ids.first else { return }
        noteLastOfBatch(queue)
        if uploads.count == 1 {
            transfer(.upload(id, of: queue), .uploadFile(upload))
        } else {
            transfer(.uploads(ids, of: queue), .uploadSmallFiles(uploads))
        }
    }

    mutating func receiveUploads(_ reply: ServerReply, _ ids: [RowID<UploadItem>], of queue: RowID<UploadQueue>) {
        if case .several(let replies) = reply, replies.count == ids.count {
            for (id, reply) in zip(ids, replies) { noteUpload(reply, id, of: queue) }
        } else {
            for id in ids { noteUpload(reply, id, of: queue) }
        }
        continueUploads(of: queue)
    }
}
