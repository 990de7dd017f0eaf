package import SyncProtocol

// Starts and ends syncs.
extension SyncStateMachine {
    /// Requests a sync. With a group, closes its queue, even while a sync is active.
    ///
    /// While a stop is pending, nothing happens.
    /// - Throws: `unknownSharingGroup`; `notAMember`.
    package mutating func sync(_ request: SyncRequest, at now: WireDate) throws(SyncError) -> [EngineAction] {
        self.now = now
        guard !isStopping else { return [] }
        // The app no longer sees these groups, so it cannot request their syncs.
        failedGroups = failedGroups.filter { !state.isBeingLeft($0) }
        if let group = request.sharingGroupUUID {
            try close(group, pushNotificationMessage: request.pushNotificationMessage)
            heldQueues = heldQueues.filter { state.queues[$0.key]?.sharingGroupUUID != group }
            failedGroups.remove(group)
        }
        if let blockingError {
            reportError(blockingError)
        } else if run != nil {
            delayedRequests.append(request)
            report(.syncDelayed)
        } else {
            begin(request)
        }
        return takeActions()
    }

    /// Ends the active sync: cancels the requests in progress, and waits only for calls of the app. Drops delayed
    /// requests.
    package mutating func stop() -> [EngineAction] {
        guard let run, !isStopping else { return [] }
        isStopping = true
        delayedRequests = []
        groupsToReupload = []
        for token in run.transfers.keys.sorted() { actions.append(.cancel(token)) }
        if case .waiting = run.step {
            finish()
        } else if let token = run.token, !isAppBusy {
            actions.append(.cancel(token))
        }
        return takeActions()
    }

    /// The group that needs a sync, after a launch or when the network returns: the group of the oldest closed queue.
    package var groupOfOldestClosedQueue: SharingGroupUUID? {
        state.closedQueues().first?.sharingGroupUUID
    }

    /// Closes the changes queued for a group so far, without a sync; does nothing if none are queued.
    /// - Throws: As ``sync(_:at:)``.
    package mutating func closeQueue(of group: SharingGroupUUID, at now: WireDate) throws(SyncError) {
        self.now = now
        try close(group, pushNotificationMessage: nil)
    }

    /// Continues with the oldest closed queue that can be sent, if no sync is active: after a launch, or when the
    /// network returns. Open queues stay open.
    package mutating func resumePendingUploads(at now: WireDate) -> [EngineAction] {
        self.now = now
        planReuploads()
        if run == nil {
            heldQueues = [:]
            failedGroups = []
        }
        guard run == nil, blockingError == nil else { return [] }
        if let queue = nextQueue() {
            begin(SyncRequest(sharingGroupUUID: queue.sharingGroupUUID))
        } else {
            continueAccountSwitch(after: nil)
        }
        return takeActions()
    }

    /// Whether a group has changes to send in the queues closed up to this one.
    package func hasUploads(of group: SharingGroupUUID, upTo sequence: Int64) -> Bool {
        let parked = parkedQueues(of: group)
        return state.closedQueues(of: group).contains {
            ($0.closedSequence ?? 0) <= sequence && !parked.contains($0.id)
        }
    }

    /// The number of restarts of the active sync because the master version changed.
    package var restarts: Int { run?.restarts ?? 0 }

    private mutating func close(
        _ group: SharingGroupUUID, pushNotificationMessage: String?
    ) throws(SyncError) {
        guard var queue = state.openQueue(of: group) else {
            guard let entry = state.groups[group] else {
                throw SyncError(.unknownSharingGroup, sharingGroupUUID: group)
            }
            guard !entry.removedFromGroup else { throw SyncError(.notAMember, sharingGroupUUID: group) }
            return
        }
        queue.state = .closed
        queue.closedSequence = state.nextClosedSequence
        queue.pushNotificationMessage = pushNotificationMessage
        state.queues.put(queue)
    }

    mutating func begin(_ request: SyncRequest) {
        run = Run(group: request.sharingGroupUUID)
        report(.syncStarted)
        guard let group = request.sharingGroupUUID else {
            sendIndex()
            return
        }
        guard let entry = state.groups[group], !entry.removedFromGroup else {
            fail(SyncError(.notAMember, sharingGroupUUID: group))
            return
        }
        if request.reAttemptGoneDownloads { reAttemptGone(in: group) }
        reAttemptAwaited(in: group)
        if let queue = nextQueue(of: group), let item = state.items.first(at: .queue(queue.id)),
            item.kind == .groupCreate,
            item.status != .uploaded
        {
            startUploads()
        } else {
            run?.lostCommit = state.closedQueues(of: group).first { $0.commitID != nil }?.id
            reportDownloads()
            resumeDownloads()
        }
    }

    /// Retries downloads that local changes wait for: the owner of the storage may have signed in again. The app
    /// receives a delivery only if the contents are accessible again.
    private mutating func reAttemptAwaited(in group: SharingGroupUUID) {
        for entry in state.directory.rows(at: .gone(group)) where entry.goneReason == .authTokenExpiredOrRevoked {
            guard state.pendingItems(of: entry.fileUUID).contains(where: \.isContent) else { continue }
            state.directory.update(entry.key) { $0.forceDownload = true }
        }
    }

    private mutating func reAttemptGone(in group: SharingGroupUUID) {
        for entry in state.directory.rows(at: .gone(group)) {
            state.directory.update(entry.key) {
                $0.goneReason = nil
                $0.forceDownload = true
            }
        }
    }

    /// The group of the active sync. Steps that need a group are reached only with one.
    var runGroup: SharingGroupUUID {
        guard let group = run?.group else { preconditionFailure("a refresh of the groups alone has no such step") }
        return group
    }

    /// Ends the sync if that was requested; true if it did.
    mutating func stopsHere() -> Bool {
        guard isStopping else { return false }
        finish()
        return true
    }

    /// Ends the sync without an error, and starts the next one if a request waits.
    mutating func finish(isDeferred: Bool = false) {
        let group = run?.group
        if isStopping { repairInFlight() }
        run = nil
        if isStopping {
            isStopping = false
            report(.syncStopping)
            report(.syncDone)
            return
        }
        report(.syncDone)
        if !delayedRequests.isEmpty {
            begin(delayedRequests.removeFirst())
        } else if let next = nextQueue(except: failedGroups.union(isDeferred ? group.map { [$0] } ?? [] : [])) {
            begin(SyncRequest(sharingGroupUUID: next.sharingGroupUUID))
        } else {
            continueAccountSwitch(after: group)
        }
    }

    /// Ends the sync with an error. Operations in progress count as not started; before the next commit, the library
    /// asks the server whether it has their results.
    mutating func fail(_ error: SyncError) {
        if let group = run?.group {
            verifiedGroups.remove(group)
            note(error, onChangesOf: group)
        }
        repairInFlight()
        let failedGroup = isStopping ? nil : run?.group
        run = nil
        isStopping = false
        let delayed = delayedRequests
        delayedRequests = []
        groupsToReupload = []
        if error.code == .serverDown { report(.serverDown(message: error.message ?? "")) }
        switch error.code {
        case .badServerVersion, .differentUser: blockingError = error
        default: break
        }
        reportError(error)
        if let failedGroup, error.isAboutOneGroup { continueWithOthers(failedGroup, error, delayed) }
    }

    /// Continues with other groups after the sync of one has failed: their delayed requests, or their closed queues.
    private mutating func continueWithOthers(
        _ failed: SharingGroupUUID, _ error: SyncError, _ delayed: [SyncRequest]
    ) {
        failedGroups.insert(failed)
        let others = delayed.filter { $0.sharingGroupUUID != failed }
        guard
            let next = others.first
                ?? nextQueue(except: failedGroups).map({ .init(sharingGroupUUID: $0.sharingGroupUUID) })
        else { return }
        actions.append(.syncFailed(failed, error))
        delayedRequests = Array(others.dropFirst())
        begin(next)
    }

    mutating func fail(_ failure: RequestFailure) {
        fail(Self.error(for: failure, group: run?.group))
    }

    /// Records why the pending changes to a group were not sent, for the app's report.
    private mutating func note(_ error: SyncError, onChangesOf group: SharingGroupUUID) {
        // Errors about one storage or permission are recorded with the affected changes.
        guard ![.storageFull, .storageUnauthorized, .permissionDenied].contains(error.code) else { return }
        let parked = parkedQueues(of: group)
        let queues = state.closedQueues(of: group).filter { !parked.contains($0.id) }
        for queue in queues {
            for item in state.items(in: queue.id) where !item.isStaged {
                state.items.update(item.key) {
                    if queue.id == queues.first?.id { $0.attempts += 1 }
                    // A lasting reason is still valid.
                    guard $0.lastError.map({ $0.error.recovery == .retryLater }) ?? true else { return }
                    $0.lastError = StoredSyncError(error)
                }
            }
        }
    }

    static func error(for failure: RequestFailure, group: SharingGroupUUID?) -> SyncError {
        switch failure {
        case .unreachable: return SyncError(.networkError, sharingGroupUUID: group)
        case .serverDown(let message, let retryAfter):
            var error = SyncError(.serverDown, sharingGroupUUID: group)
            error.message = message
            error.retryAfter = retryAfter
            return error
        case .refused(let status, let code, let retryAfter):
            var error = SyncError(
                code == ErrorCode.permissionTooLow.rawValue ? .permissionDenied : .requestRefused,
                sharingGroupUUID: group)
            error.status = status
            error.serverCode = code
            error.retryAfter = retryAfter
            return error
        case .signInRequired: return SyncError(.signInRequired)
        case .noUser: return SyncError(.noUser)
        case .serverTooOld: return SyncError(.badServerVersion)
        case .localFile: return SyncError(.fileManagerError, sharingGroupUUID: group)
        case .localStore: return SyncError(.storeError, sharingGroupUUID: group)
        case .differentUser: return SyncError(.differentUser)
        case .accountRetired(let type, let undoUntil):
            var error = SyncError(.signedOutRemotely)
            error.activeAccountType = type
            error.undoUntil = undoUntil
            return error
        }
    }

    /// Restarts with the index, because the master version differs from the client's, or because a reply contradicts
    /// the client's state; in the latter case it requests the whole index.
    mutating func restart(current: MasterVersion?, isIndexDoubtful: Bool = false) {
        state.groups.update(runGroup) {
            // A smaller version comes from a restored server; the index will show that.
            if let current { $0.masterVersion = max($0.masterVersion, current) }
            if isIndexDoubtful { $0.indexedVersion = nil }
        }
        run?.restarts += 1
        let restarts = run?.restarts ?? 0
        if restarts > Self.maximumRestarts {
            fail(SyncError(.tooManyRestarts, sharingGroupUUID: runGroup))
        } else if restarts > Self.restartsWithoutWaiting {
            actions.append(.wait(expect(.waiting), seconds: Self.waitSeconds))
        } else {
            sendIndex()
        }
    }

    mutating func waited() {
        sendIndex()
    }

    /// Handles the reply to the request that the run waits for.
    mutating func receive(_ reply: ServerReply) {
        guard let step = run?.step else { return }
        if isStopping, case .failed = reply {
            if let group = run?.group { verifiedGroups.remove(group) }
            finish()
            return
        }
        switch step {
        case .indexing: receiveIndex(reply)
        case .listingStaged(let queue): receiveStaged(reply, queue)
        case .discarding(let queue): receiveDiscarded(reply, queue)
        case .replacingStaged(let queue): receiveReplaced(reply, queue)
        case .creatingGroup(let item): receiveCreation(reply, item)
        case .leavingGroup(let item): receiveLeaving(reply, item)
        case .committing(let queue), .replayingCommit(let queue): receiveCommit(reply, queue)
        case .replayingBatch(let item): receiveReplayedMember(reply, item)
        case .askingForServerMove: receiveServerMove(reply)
        case .askingForSmallFiles(let queue): receiveSmallFileLimits(reply, queue)
        case .starting, .downloading, .reuploading, .uploading, .resolvingContent, .resolvingDeletions, .delivering,
            .askingForContents, .waiting:
            break
        }
    }
}
