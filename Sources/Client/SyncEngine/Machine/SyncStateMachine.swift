package import SyncProtocol

/// Decides what a client does next: events in, actions out, no input or output of its own.
///
/// Each call changes ``state`` at most once. Whoever drives the engine takes the changes with ``takeChanges()``, stores
/// them in one transaction, and only then performs the actions, in their order. If the process ends anywhere in
/// between, an engine that is made from the stored state and launched goes on where this one stood.
package struct SyncStateMachine: Sendable {
    /// What an engine has to know from the start.
    package struct Configuration: Sendable {
        /// This device, as the server knows it.
        package var deviceUUID: DeviceUUID
        /// The storage of the user's own account; nil for an account without.
        package var accountStorage: CloudStorageType?
        /// What the server can do.
        package var capabilities: ServerCapabilities
        /// How many uploads, or downloads, may be under way at the same time.
        package var maximumTransfers: Int
        /// How many bytes the files of a queue may have in all if it is to be sent as a batch; nil: none is.
        package var maximumBatchBytes: Int64?
        /// Makes a new id for each commit.
        package var makeCommitID: @Sendable () -> CommitID

        /// Puts a configuration together.
        package init(
            deviceUUID: DeviceUUID, accountStorage: CloudStorageType?, capabilities: ServerCapabilities,
            maximumTransfers: Int, maximumBatchBytes: Int64?, makeCommitID: @escaping @Sendable () -> CommitID
        ) {
            precondition(maximumTransfers > 0, "somebody has to get through")
            self.deviceUUID = deviceUUID
            self.accountStorage = accountStorage
            self.capabilities = capabilities
            self.maximumTransfers = maximumTransfers
            self.maximumBatchBytes = maximumBatchBytes
            self.makeCommitID = makeCommitID
        }
    }

    /// Changes of the master version within one sync after which the engine waits before it tries again.
    package static let restartsWithoutWaiting = 5
    /// Changes of the master version within one sync after which it ends with an error.
    package static let maximumRestarts = 20
    /// How long it waits, in seconds; random, so that clients in the same situation do not stay in step.
    package static let waitSeconds = 2...30

    var configuration: Configuration
    /// What the client remembers.
    package internal(set) var state: ClientState
    var run: Run?
    var delayedRequests: [SyncRequest] = []
    var isStopping = false
    /// Groups of which it is known that the server has staged just what the state says.
    var verifiedGroups: Set<SharingGroupUUID> = []
    /// With what each sync fails until something changes; nil if syncs are possible.
    package internal(set) var blockingError: SyncError?
    var actions: [EngineAction] = []
    var now = WireDate(secondsSince1970: 0)
    private var lastToken = 0

    /// An engine with what a store remembers; ``launch(at:)`` comes next.
    package init(state: ClientState, configuration: Configuration) {
        self.state = state
        self.configuration = configuration
    }

    /// Gives no token that another engine has given, so that replies to the other one's requests are ignored.
    package mutating func countTokens(after other: SyncStateMachine) {
        lastToken = max(lastToken, other.lastToken)
    }

    /// Whether a sync is active.
    package var isSyncing: Bool { run != nil }

    /// The rows that changed since the last call, for the store.
    package mutating func takeChanges() -> StateChanges {
        state.takeChanges()
    }

    /// Goes on after an event.
    package mutating func handle(_ event: EngineEvent, at now: WireDate) -> [EngineAction] {
        self.now = now
        switch event {
        case .reply(let token, let reply):
            if let transfer = run?.transfers.removeValue(forKey: token) {
                receive(reply, of: transfer)
            } else if run?.token == token {
                receive(reply)
            }
        case .contentConflictResolved(let token, let resolution):
            if run?.token == token { contentConflictResolved(resolution) }
        case .deletionConflictsResolved(let token, let resolutions):
            if run?.token == token { deletionConflictsResolved(resolutions) }
        case .delivered(let token, let isTaken):
            if run?.token == token { delivered(isTaken: isTaken) }
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

    /// Makes a token for the one thing that the run waits for now, apart from transfers.
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

/// The sync that is active. Nothing of it survives the process.
struct Run: Sendable {
    /// What the sync waits for.
    enum Step: Sendable {
        case starting
        case indexing
        case downloading
        case resolvingContent(RowID<DownloadItem>, lastItem: RowID<UploadItem>)
        case resolvingDeletions(RowID<DownloadGroup>, lastItem: RowID<UploadItem>)
        case delivering(RowID<DownloadGroup>)
        case waiting
        case listingStaged(RowID<UploadQueue>)
        case discarding(RowID<UploadQueue>)
        case replacingStaged(RowID<UploadQueue>)
        case creatingGroup(RowID<UploadItem>)
        case leavingGroup(RowID<UploadItem>)
        case uploading
        case committing(RowID<UploadQueue>)
        case replayingCommit(RowID<UploadQueue>)
        case replayingBatch(RowID<UploadItem>)
    }

    /// The group; nil for a refresh of the list of groups alone.
    let group: SharingGroupUUID?
    var step = Step.starting
    /// Of the step; nil while it waits for transfers alone.
    var token: EngineToken?
    /// What is being transferred.
    var transfers: [EngineToken: Transfer] = [:]
    /// What comes once nothing is being transferred any more, instead of further transfers.
    var afterTransfers: AfterTransfers?
    /// How often a change of the master version made it begin anew.
    var restarts = 0
    /// Whether a commit contained less than was staged, so that its items must be looked at one by one.
    var commitWasPartial = false
    /// The batch that this sync has begun: what is staged of it is known.
    var begunBatch: BatchUUID?
    /// A queue that cannot be sent as a batch, as one of its changes was refused.
    var queueWithoutBatch: RowID<UploadQueue>?
    /// Whether the user turned out to have left the group, as they wanted.
    var wasLeft = false

    init(group: SharingGroupUUID?) {
        self.group = group
    }
}
