package import SyncProtocol

/// Decides a client's next actions: events in, actions out, without any I/O.
///
/// Each call changes ``state`` at most once. The driver of the engine takes the changes with ``takeChanges()``, stores
/// them in one transaction, and only then performs the actions, in order. If the process ends at any point, an engine
/// created from the stored state and launched continues from there.
package struct SyncStateMachine: Sendable {
    /// The initial settings of an engine.
    package struct Configuration: Sendable {
        /// The UUID that identifies this device to the server.
        package var deviceUUID: DeviceUUID
        /// The storage of the user's own account; nil for an account without storage.
        package var accountStorage: CloudStorageType?
        /// The user; nil if unknown.
        package var userID: UserID?
        /// Whether this device also re-uploads files of other users who have switched accounts.
        package var reuploadsForOthers = false
        /// The server's capabilities.
        package var capabilities: ServerCapabilities
        /// The maximum number of concurrent uploads, or downloads; see ``TransferPace``.
        package var maximumTransfers: Int
        /// The maximum total size in bytes of the files of a queue that is sent as a batch; nil disables batches.
        package var maximumBatchBytes: Int64?
        /// The download policy of groups that the device does not know yet.
        package var downloadPolicy = DownloadPolicy.automatic
        /// Whether the server accepts many small files in one request.
        package var smallFiles = SmallFileSupport.absent
        /// Generates a new id for each commit.
        package var makeCommitID: @Sendable () -> CommitID

        /// Creates a configuration.
        package init(
            deviceUUID: DeviceUUID, accountStorage: CloudStorageType?, capabilities: ServerCapabilities,
            maximumTransfers: Int, maximumBatchBytes: Int64?, makeCommitID: @escaping @Sendable () -> CommitID
        ) {
            precondition(maximumTransfers > 0, "maximumTransfers must be positive")
            self.deviceUUID = deviceUUID
            self.accountStorage = accountStorage
            self.capabilities = capabilities
            self.maximumTransfers = maximumTransfers
            self.maximumBatchBytes = maximumBatchBytes
            self.makeCommitID = makeCommitID
        }
    }

    /// Changes to the master version within one sync after which the engine waits before it retries.
    package static let restartsWithoutWaiting = 5
    /// Changes to the master version within one sync after which it ends with an error.
    package static let maximumRestarts = 20
    /// The range of the wait, in seconds; random, so that clients in the same situation do not retry in lockstep.
    package static let waitSeconds = 2...30

    var configuration: Configuration
    /// The client's persistent state.
    package internal(set) var state: ClientState
    var run: Run?
    var delayedRequests: [SyncRequest] = []
    /// Groups that must still be synced because their files may have to be uploaded again.
    var groupsToReupload: [SharingGroupUUID] = []
    /// Closed queues that a storage does not accept now, with the error; they wait until the app requests another sync,
    /// or for the next process.
    var heldQueues: [RowID<UploadQueue>: SyncError] = [:]
    /// Groups whose last sync failed for a reason that concerns no other group. Their queues wait until the app requests
    /// another sync, so that they do not block those of other groups.
    var failedGroups: Set<SharingGroupUUID> = []
    /// Complete downloads of earlier processes: the app may have accepted them in a process that ended before recording
    /// that.
    var unrecordedDownloads: Set<RowID<DownloadGroup>> = []
    /// Files whose contents the library has requested in this process and the app did not supply; true if the app does
    /// not have the file, false if it has changed the contents.
    var unavailableFiles: [FileUUID: Bool] = [:]
    /// The request that settles a switch of accounts, which no sync waits for.
    var settlement: (token: EngineToken, switchID: AccountSwitchID)?
    var isStopping = false
    /// Groups whose staged changes on the server are known to match the state exactly.
    var verifiedGroups: Set<SharingGroupUUID> = []
    /// The error with which every sync fails until the cause is removed; nil if syncs are possible.
    package internal(set) var blockingError: SyncError?
    var actions: [EngineAction] = []
    var now = WireDate(secondsSince1970: 0)
    /// The numbers of concurrent transfers; kept between syncs.
    package internal(set) var uploadPace: TransferPace
    package internal(set) var downloadPace: TransferPace
    private var lastToken = 0

    /// Creates an engine with the stored state; ``launch(at:)`` must be called next.
    package init(state: ClientState, configuration: Configuration) {
        self.state = state
        self.configuration = configuration
        uploadPace = TransferPace(maximum: configuration.maximumTransfers)
        downloadPace = uploadPace
    }

    /// Skips the tokens that another engine has issued, so that replies to the other engine's requests are ignored.
    package mutating func countTokens(after other: SyncStateMachine) {
        lastToken = max(lastToken, other.lastToken)
    }

    /// Whether a sync is active.
    package var isSyncing: Bool { run != nil }

    /// Returns the rows that changed since the last call, for the store.
    package mutating func takeChanges() -> StateChanges {
        state.takeChanges()
    }

    /// Handles an event.
    /// - Parameter clock: The time since any moment in the past, for measurements of transfers.
    package mutating func handle(
        _ event: EngineEvent, at now: WireDate, clock: Duration = .zero
    ) -> [EngineAction] {
        self.now = now
        switch event {
        case .reply(let token, let reply):
            if let transfer = run?.transfers.removeValue(forKey: token) {
                measure(reply, to: token, transfer, at: clock)
                receive(reply, of: transfer)
            } else if run?.token == token {
                receive(reply)
            } else if settlement?.token == token {
                receiveSettlement(reply)
            }
        case .contentConflictResolved(let token, let resolution):
            if run?.token == token { contentConflictResolved(resolution) }
        case .deletionConflictsResolved(let token, let resolutions):
            if run?.token == token { deletionConflictsResolved(resolutions) }
        case .contents(let token, let contents):
            if run?.token == token { receiveContents(contents) }
        case .delivered(let token, let isTaken, let sizes):
            if run?.token == token { delivered(isTaken: isTaken, sizes) }
        case .waited(let token):
            if run?.token == token { waited() }
        }
        return takeActions()
    }

    mutating func takeActions() -> [EngineAction] {
        defer { actions = [] }
        return actions
    }

    mutating func makeToken() -> EngineToken {
        lastToken += 1
        return EngineToken(rawValue: lastToken)
    }

    /// Creates a token for the run's current step, apart from transfers.
    mutating func expect(_ step: Run.Step) -> EngineToken {
        let token = makeToken()
        run?.token = token
        run?.step = step
        return token
    }

    mutating func send(_ request: ServerRequest, _ step: Run.Step) {
        actions.append(.send(expect(step), request))
    }

    mutating func report(_ event: SyncEvent) {
        actions.append(.report(event))
    }

    mutating func reportError(_ error: SyncError) {
        actions.append(.reportError(error))
    }
}

/// The active sync, which does not survive the process.
struct Run: Sendable {
    /// The step that the sync waits for.
    enum Step: Sendable {
        case starting
        case indexing
        case downloading
        case resolvingContent(RowID<DownloadItem>, lastItem: RowID<UploadItem>)
        case resolvingDeletions(RowID<DownloadGroup>, lastItem: RowID<UploadItem>)
        case delivering(RowID<DownloadGroup>)
        case askingForContents(FileUUID)
        case waiting
        case listingStaged(RowID<UploadQueue>)
        case discarding(RowID<UploadQueue>)
        case replacingStaged(RowID<UploadQueue>)
        case creatingGroup(RowID<UploadItem>)
        case leavingGroup(RowID<UploadItem>)
        case askingForServerMove
        case askingForSmallFiles(RowID<UploadQueue>)
        case reuploading
        case uploading
        case committing(RowID<UploadQueue>)
        case replayingCommit(RowID<UploadQueue>)
        case replayingBatch(RowID<UploadItem>)
    }

    /// The group; nil for a refresh of the list of groups only.
    let group: SharingGroupUUID?
    var step = Step.starting
    /// The token of the step; nil while the run waits only for transfers.
    var token: EngineToken?
    /// The transfers in progress.
    var transfers: [EngineToken: Transfer] = [:]
    /// The step to take after the transfers in progress, instead of further transfers.
    var afterTransfers: AfterTransfers?
    /// The number of restarts because the master version changed.
    var restarts = 0
    /// Whether a commit contained less than was staged, so that its items must be checked one by one.
    var commitWasPartial = false
    /// The batch that this sync has started, whose staged changes are known.
    var begunBatch: BatchUUID?
    /// A queue that cannot be sent as a batch, because one of its changes was refused.
    var queueWithoutBatch: RowID<UploadQueue>?
    /// Storages that have refused a change in this sync; they receive no further changes that they would refuse.
    var refusals: [StorageKey: StorageRefusal] = [:]
    /// Changes that the server has once rejected as outdated, although the whole index does not show that.
    var contradicted: Set<RowID<UploadItem>> = []
    /// Files that changed since the server was restored; nil until the server has listed them.
    var changedSinceRestore: (files: Set<FileUUID>, masterVersion: MasterVersion)?
    /// The master version after which the server is listing changes, to determine ``changedSinceRestore``.
    var listsChangesSince: MasterVersion?
    /// Whether the index has been requested again because it appears older than before.
    var confirmsRestore = false
    /// The queue for contents that the app has supplied in this sync.
    var suppliedQueue: RowID<UploadQueue>?
    /// The file group of the file that was uploaded again last.
    var reuploadedGroup: FileGroupUUID?
    /// The queue of an earlier sync whose commit was sent, until this sync determines the outcome.
    var lostCommit: RowID<UploadQueue>?
    /// Whether the user has left the group, as requested.
    var wasLeft = false

    init(group: SharingGroupUUID?) {
        self.group = group
    }
}

// Repairs the state after an interrupted process.
extension SyncStateMachine {
    /// Repairs the last process's unfinished work. Must be called first.
    package mutating func launch(at now: WireDate) -> [EngineAction] {
        self.now = now
        repairInFlight()
        unrecordedDownloads = Set(state.downloadGroups.rows { $0.status == .downloaded }.map(\.id))
        for item in state.items.rows(where: { state.queues[$0.queueID] == nil }) { removeItem(item) }
        for queue in state.queues.inOrder { removeIfEmpty(queue.id) }
        let oldest = now.secondsSince1970 - TransferCacheEntry.lifetimeSeconds
        for entry in state.transfers.rows(where: { $0.cachedAt.secondsSince1970 < oldest }) {
            state.transfers[entry.key] = nil
            actions.append(.removeFile(entry.location))
        }
        return takeActions()
    }

    /// Marks all operations in progress as not started.
    mutating func repairInFlight() {
        for item in state.items.rows(at: .inFlight) {
            state.items.update(item.key) { $0.status = .notStarted }
        }
        for item in state.downloads.rows(at: .inFlight) {
            state.downloads.update(item.key) { $0.status = .notStarted }
        }
        for item in state.reuploads.rows(at: .status(.uploading)) {
            state.reuploads.update(item.key) { $0.status = .pending }
        }
        for group in state.downloadGroups.rows(at: .begun) {
            if group.status == .downloading || state.downloads.contains(at: .incomplete(group.id)) {
                state.downloadGroups.update(group.key) { $0.status = .notStarted }
            }
        }
    }
}

// Updates about the server and the user while the client runs.
extension SyncStateMachine {
    /// Sets the capabilities that the server has reported.
    package mutating func use(_ capabilities: ServerCapabilities) {
        configuration.capabilities = capabilities
    }

    /// Sets the storage of the user's own account; nil for an account without storage.
    package mutating func use(accountStorage: CloudStorageType?) {
        configuration.accountStorage = accountStorage
    }

    /// Sets the user; nil if unknown.
    package mutating func use(userID: UserID?) {
        configuration.userID = userID
    }

    /// Makes each sync fail with an error until it is cleared with nil. An active sync continues.
    package mutating func block(with error: SyncError?) {
        blockingError = error
    }

    /// Adds a group that the server has just created at the user's request.
    package mutating func addOwnGroup(_ group: SharingGroupUUID, name: String?) {
        guard state.groups[group] == nil else { return }
        state.groups.put(newEntry(of: group, name: name, permission: .admin))
    }

    /// Repeats downloads whose files are missing: an app may have moved a file and then ended before it could
    /// acknowledge the delivery. Must not be called while a sync is active.
    package mutating func forgetMissingFiles(_ isMissing: (LocalFileLocation) -> Bool) {
        for item in state.downloads.rows(where: { $0.location.map(isMissing) ?? false }) {
            noteUnrecorded(item)
            state.downloads.update(item.key) {
                $0.status = .notStarted
                $0.location = nil
            }
            state.downloadGroups.update(item.groupID) { $0.status = .notStarted }
        }
        for entry in state.transfers.rows(where: { isMissing($0.location) }) { state.transfers[entry.key] = nil }
    }
}
