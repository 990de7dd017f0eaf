package import SyncProtocol

/// A storage that receives changes.
struct StorageKey: Hashable, Sendable {
    /// Its owner; nil: the member who hosts the user's new files in the group, whom the server does not identify.
    let owner: UserID?
    let group: SharingGroupUUID
}

/// A storage's refusal of a change in this sync.
struct StorageRefusal: Sendable {
    let error: SyncError
    /// The storage refuses files of this size in bytes and more; 0: all files.
    var size: Int64
}

// The treatment of a refused change depends on the class of the refusal (``RefusalClass``). Only a commit or the app
// ends a change.
//
// - file: it is set aside, in a separate dead queue, until the app retries it, withdraws it or replaces it.
// - storage: if the reason lasts, it waits in a separate closed queue, otherwise with its whole queue, which is
//   committed as a unit. Each sync that the app requests retries either.
// - caller: it stays in its queue, which is parked while the user may not write.
// - knowledge: the sync restarts with a whole index; a second contradiction sets the change aside.
// - world: the sync ends, or the queue waits while others are sent.
extension SyncStateMachine {
    /// The number of attempts after which an upload is set aside if the server rejects its request with an unknown
    /// code.
    private static let attemptsBeforeSettingAside = 3

    /// Handles the refusal of a change during staging.
    mutating func refuse(_ item: UploadItem, _ failure: RequestFailure) {
        let error = error(for: failure, of: item)
        switch failure.refusalClass {
        case .file: setAside(item, error)
        case .storage:
            if error.code == .storageUnavailable {
                endTransfers(.postpone(item.queueID, error))
            } else {
                hold(item, error)
            }
        case .knowledge where failure.isRefusal(.staleEpoch): endTransfers(.fail(error))
        case .knowledge:
            if run?.contradicted.insert(item.id).inserted == true {
                endTransfers(.uploadAnew(current: nil, isIndexDoubtful: true))
            } else {
                setAside(item, error)
            }
        case .caller:
            let isAboutGroup = [ErrorCode.notAMember, .permissionTooLow, .groupUnknown].contains {
                failure.isRefusal($0)
            }
            endTransfers(isAboutGroup ? .uploadAnew(current: nil, isIndexDoubtful: false) : .fail(error))
        case .world:
            guard case .refused(let status, _, _) = failure, status != 429 else {
                endTransfers(.fail(error))
                return
            }
            if status >= 500 {
                endTransfers(.postpone(item.queueID, error))
            } else if isUnknownRefusal(failure), item.attempts + 1 >= Self.attemptsBeforeSettingAside,
                item.lastError?.error.status == status
            {
                setAside(item, error)
            } else {
                endTransfers(.fail(error))
            }
        }
    }

    /// Whether a newer server, or a proxy, rejects a request with an unknown code.
    private func isUnknownRefusal(_ failure: RequestFailure) -> Bool {
        guard case .refused(let status, let code, _) = failure, ![403, 404, 408].contains(status) else { return false }
        return code.flatMap(ErrorCode.init(rawValue:)) == nil
    }

    /// The error for the app, with the file and the owner of the storage.
    private func error(for failure: RequestFailure, of item: UploadItem) -> SyncError {
        var error = Self.error(for: failure, group: item.sharingGroupUUID)
        error.fileUUID = item.fileUUID
        guard failure.refusalClass == .storage else { return error }
        let code: SyncError.Code =
            if failure.isRefusal(.cloudQuotaExceeded) || error.status == 507 {
                .storageFull
            } else if failure.isRefusal(.cloudAuthorizationRevoked) || failure.isRefusal(.storagePermissionMissing) {
                .storageUnauthorized
            } else if failure.isRefusal(.ownerRemoved) || failure.isRefusal(.ownerMissing) {
                .storageOwnerMissing
            } else {
                .storageUnavailable
            }
        var named = SyncError(code, fileUUID: item.fileUUID, sharingGroupUUID: item.sharingGroupUUID)
        named.status = error.status
        named.serverCode = error.serverCode
        named.retryAfter = error.retryAfter
        named.storage = storageOwner(of: item)
        return named
    }

    private func storageOwner(of item: UploadItem) -> SyncError.StorageOwner {
        if let owner = storage(of: item).owner { return owner == configuration.userID ? .own : .other(owner) }
        return configuration.userID == nil && configuration.accountStorage != nil ? .own : .other(nil)
    }

    /// The storage for an item: the owner's for a file that the server has, otherwise the user's own or the host's.
    private func storage(of item: UploadItem) -> StorageKey {
        let entry = item.fileUUID.flatMap { state.directory[$0] }
        let own = configuration.accountStorage == nil ? nil : configuration.userID
        return StorageKey(owner: entry?.owningUserID ?? own, group: item.sharingGroupUUID)
    }

    // MARK: Waiting for storage

    /// Whether a storage has already refused such an item in this sync; then the item waits as well.
    mutating func waitsForRefusedStorage(_ item: UploadItem) -> Bool {
        guard item.kind == .file, let refusal = run?.refusals[storage(of: item)], (item.fileSize ?? 0) >= refusal.size
        else { return false }
        var error = refusal.error
        error.fileUUID = item.fileUUID
        hold(item, error)
        return true
    }

    /// Moves a change to a separate closed queue, which waits for the storage. The rest of its queue is sent.
    private mutating func hold(_ item: UploadItem, _ error: SyncError) {
        guard let file = item.fileUUID, let entry = state.directory[file], let origin = state.queues[item.queueID]
        else {
            return
        }
        breakBatch(of: item)
        // An earlier attempt may be staged.
        verifiedGroups.remove(item.sharingGroupUUID)
        guard !isDeletedLater(item, file) else {
            dropItems([item])
            return
        }
        let key = storage(of: item)
        let size = error.code == .storageFull && item.kind == .file ? item.fileSize ?? 0 : 0
        if run?.refusals[key] == nil {
            run?.refusals[key] = StorageRefusal(error: error, size: size)
            reportError(error)
        } else if let known = run?.refusals[key]?.size {
            run?.refusals[key]?.size = min(known, size)
        }
        let isNews = item.lastError?.error.code != error.code
        let queue = heldQueue(for: item, origin)
        heldQueues[queue] = error
        state.items.update(item.key) {
            $0.queueID = queue
            $0.resetStaging()
            $0.attempts += 1
            $0.lastError = StoredSyncError(error)
        }
        removeIfEmpty(origin.id)
        if isNews { report(.singleFileUploadWaiting(entry.attributes, error)) }
    }

    /// The queue in which an item waits: a common one for all items that were queued together, possibly the original
    /// queue. It keeps its place among the closed queues.
    private mutating func heldQueue(for item: UploadItem, _ origin: UploadQueue) -> RowID<UploadQueue> {
        let known = state.closedQueues(of: item.sharingGroupUUID).first {
            $0.closedSequence == origin.closedSequence && $0.id != origin.id && heldQueues[$0.id] != nil
        }
        if let known { return known.id }
        if state.items(in: origin.id).count == 1 { return origin.id }
        var queue = UploadQueue(id: state.nextQueueID(), sharingGroupUUID: item.sharingGroupUUID, createdAt: now)
        queue.state = .closed
        queue.closedSequence = origin.closedSequence
        state.queues.put(queue)
        return queue.id
    }

    /// Ends the sync of a queue that cannot be sent now, and continues with others.
    mutating func postpone(_ id: RowID<UploadQueue>, _ error: SyncError) {
        verifiedGroups.remove(runGroup)
        repairInFlight()
        if state.queues[id] != nil {
            // One of its changes was refused, so the server has not committed it as a batch.
            if state.queues[id]?.batchUUID != nil { state.queues.update(id) { $0.commitID = nil } }
            heldQueues[id] = error
            for item in state.items(in: id) where !item.isStaged {
                state.items.update(item.key) {
                    $0.attempts += 1
                    $0.lastError = StoredSyncError(error)
                }
            }
        }
        reportError(error)
        finish()
    }

    /// The error that postponed a queue of a group, among those closed up to this one.
    package func postponement(of group: SharingGroupUUID, upTo sequence: Int64) -> SyncError? {
        state.closedQueues(of: group).first { queue in
            (queue.closedSequence ?? 0) <= sequence && heldQueues[queue.id]?.recovery == .retryLater
        }.flatMap { heldQueues[$0.id] }
    }

    /// The errors of waiting changes that no later sync sends automatically, each with its file; without changes that
    /// were set aside.
    /// - Parameter group: The group; nil: all groups.
    package func waitingChanges(of group: SharingGroupUUID? = nil) -> [SyncError] {
        state.closedQueues(of: group).flatMap { state.items(in: $0.id) }.compactMap(\.failure)
            .filter { $0.recovery != .retryLater }
    }

    /// The errors of changes that were set aside.
    package var changesSetAside: [SyncError] {
        state.queues.rows(at: .dead).flatMap { state.items(in: $0.id) }.compactMap(\.failure)
    }

    /// Drops replaced changes that wait for storage, so that the newer contents need not wait behind them.
    mutating func dropWhatIsReplaced() {
        for queue in state.closedQueues(of: runGroup) where queue.commitID == nil && queue.batchUUID == nil {
            for item in state.items(in: queue.id) where item.isContent && item.lastError?.isAboutStorage == true {
                guard let file = item.fileUUID, let next = successor(of: item, file),
                    state.queues[next.queueID]?.state == .closed, state.queues[next.queueID]?.commitID == nil,
                    // A text alone cannot be sent before its file.
                    next.kind == .file || state.directory[file]?.fileVersion != nil
                else { continue }
                giveWay(item, to: next, text: item.appMetaData)
            }
        }
    }

    /// Informs the app once of changes that wait because the user may only read, or because the contents that they
    /// would replace are out of reach.
    mutating func noteWaiting() {
        let isReader = state.groups[runGroup]?.permission == .read
        var reported: SyncError?
        for item in state.closedQueues(of: runGroup).flatMap({ state.items(in: $0.id) }) {
            guard item.kind != .groupRemoveUser else { continue }
            let entry = item.fileUUID.flatMap { state.directory[$0] }
            var error = SyncError(.permissionDenied, fileUUID: item.fileUUID, sharingGroupUUID: runGroup)
            if !isReader {
                guard item.isContent, let reason = entry?.goneReason else { continue }
                let isWithdrawn = reason == .authTokenExpiredOrRevoked
                error = SyncError(
                    isWithdrawn ? .storageUnauthorized : .fileIsGone, fileUUID: item.fileUUID,
                    sharingGroupUUID: runGroup)
                if isWithdrawn { error.storage = storageOwner(of: item) } else { error.goneReason = reason }
            }
            guard item.lastError?.error.code != error.code else { continue }
            state.items.update(item.key) { $0.lastError = StoredSyncError(error) }
            if let entry { report(.singleFileUploadWaiting(entry.attributes, error)) }
            reported = reported ?? error
        }
        if let reported { reportError(reported) }
    }

    // MARK: Set aside

    /// Drops uploads to files that are out of reach and that the app has since deleted: they would wait, and block the
    /// deletion and all later changes.
    mutating func dropWhatIsDeletedAnyway() {
        let closed = state.closedQueues(of: runGroup)
        let deleted = Set(
            closed.flatMap { state.items(in: $0.id) }.filter { $0.kind == .deletion }.compactMap(\.fileUUID))
        for queue in closed where queue.commitID == nil {
            let hopeless = state.items(in: queue.id).filter { item in
                guard item.isContent, let file = item.fileUUID else { return false }
                return deleted.contains(file) && state.directory[file]?.goneReason != nil
            }
            guard !hopeless.isEmpty else { continue }
            if queue.batchUUID != nil {
                // The server may still complete a batch of the current version.
                guard queue.commitVersion != state.groups[runGroup]?.masterVersion else { continue }
                forgetBatch(of: runGroup)
                resetItems(of: runGroup)
            }
            dropItems(hopeless)
        }
    }

    /// The changes to a file that were set aside, or became dead with their group; oldest first.
    package func changesSetAside(of file: FileUUID) -> [UploadItem] {
        state.items.rows(at: .file(file)).filter { state.queues[$0.queueID]?.state == .dead }
    }

    private func isDeletedLater(_ item: UploadItem, _ file: FileUUID) -> Bool {
        item.isContent && state.pendingItems(of: file).contains { $0.kind == .deletion && $0.id > item.id }
    }

    /// Removes a change from its queue, and informs the app. Only drops a change that the app has replaced or deleted
    /// since.
    mutating func setAside(_ item: UploadItem, _ error: SyncError) {
        guard let file = item.fileUUID, let entry = state.directory[file] else { return }
        breakBatch(of: item)
        // An earlier attempt may be staged.
        verifiedGroups.remove(item.sharingGroupUUID)
        guard !isDeletedLater(item, file) else {
            dropItems([item])
            return
        }
        var text = error.serverCode == ErrorCode.appMetaDataTooLarge.rawValue ? nil : item.appMetaData
        if item.kind == .file {
            let older = changesSetAside(of: file).filter { $0.kind == .file }
            text = text ?? older.last?.appMetaData
            dropItems(older)
        }
        if item.isContent, let next = successor(of: item, file) {
            giveWay(item, to: next, text: text)
            return
        }
        bury(item, error)
        state.items.update(item.key) { if item.isContent { $0.appMetaData = $0.appMetaData ?? text } }
        var failure = error
        failure.fileUUID = file
        failure.sharingGroupUUID = item.sharingGroupUUID
        report(.singleFileUploadFailed(entry.attributes, failure))
        forgetUndeletion(of: file)
    }

    /// Sets aside a group's new name that the server does not accept.
    mutating func setAsideName(_ item: UploadItem, _ failure: RequestFailure) {
        let error = Self.error(for: failure, group: item.sharingGroupUUID)
        bury(item, error)
        reportError(error)
    }

    /// Moves an item to a separate dead queue.
    private mutating func bury(_ item: UploadItem, _ error: SyncError) {
        var queue = UploadQueue(id: state.nextQueueID(), sharingGroupUUID: item.sharingGroupUUID, createdAt: now)
        queue.state = .dead
        queue.closedSequence = state.nextClosedSequence
        state.queues.put(queue)
        state.items.update(item.key) {
            $0.queueID = queue.id
            $0.resetStaging()
            $0.attempts += 1
            $0.lastError = StoredSyncError(error)
        }
        removeIfEmpty(item.queueID)
    }

    /// Drops an upload that a later one replaces; the later one inherits its text if it has none.
    private mutating func giveWay(_ item: UploadItem, to next: UploadItem, text: String?) {
        if next.appMetaData == nil { state.items.update(next.key) { $0.appMetaData = text } }
        if item.uploadUndeletion { state.items.update(next.key) { $0.uploadUndeletion = true } }
        dropItems([item])
    }

    /// The next waiting change to the file, if it and later changes replace or include an item's upload: a text that
    /// cannot be sent before its file is sent with the contents.
    private func successor(of item: UploadItem, _ file: FileUUID) -> UploadItem? {
        let newer = state.pendingItems(of: file).filter { $0.id > item.id && $0.isContent && $0.status == .notStarted }
        let isWithoutFile = state.directory[file].map { $0.fileVersion == nil || $0.deletedOnServer } ?? true
        let isReplaced = newer.contains { next in
            item.kind == .file || (isWithoutFile && next.kind == .file) ? next.kind == .file : next.appMetaData != nil
        }
        return isReplaced ? newer.first : nil
    }
}
