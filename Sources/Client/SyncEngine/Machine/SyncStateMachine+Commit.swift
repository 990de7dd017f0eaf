internal import SyncProtocol

// Publishes a queue to others, exactly once.
extension SyncStateMachine {
    mutating func commit(_ id: RowID<UploadQueue>) {
        if state.queues[id]?.batchUUID != nil {
            // Everything was staged, but nothing committed: staged changes have expired, or the server does not support
            // batches.
            sendWithoutBatch(id)
            return
        }
        let items = state.items(in: id)
        guard items.contains(where: { $0.isStaged || $0.kind == .groupUpdate }) else {
            // No change visible to others remains: at most the creation of the group.
            if items.allSatisfy({ $0.kind == .groupCreate }) { complete(id, raisesMasterVersion: nil) }
            finish()
            return
        }
        // Stored before it is sent, since a retry must be the same request.
        let masterVersion = state.groups[runGroup]?.masterVersion ?? .initial
        let commitID = configuration.makeCommitID()
        state.queues.update(id) {
            $0.commitID = commitID
            $0.commitVersion = masterVersion
        }
        sendCommit(of: id, .committing(id))
    }

    /// Resends the commit of an earlier sync whose reply was lost, to determine its outcome.
    ///
    /// Runs only after an index has shown that the server was not restored since: a restored server reaches the master
    /// version that the commit names a second time, with different files and with the changes staged before the backup.
    /// - Parameter isRestored: Whether the server was restored; then the index shows the outcome.
    /// - Returns: Whether the sync waits for the reply; false if the index shows the outcome.
    mutating func replayLostCommit(isRestored: Bool) -> Bool {
        let lost = run?.lostCommit.flatMap { state.queues[$0] }
        run?.lostCommit = nil
        guard !isRestored, let lost, lost.commitID != nil else { return false }
        if stopsHere() { return true }
        if lost.batchUUID != nil { return replayBatch(of: lost) }
        guard configuration.capabilities.commitID else { return false }
        sendCommit(of: lost.id, .replayingCommit(lost.id))
        return true
    }

    private mutating func sendCommit(of id: RowID<UploadQueue>, _ step: Run.Step) {
        guard let queue = state.queues[id], let commitID = queue.commitID, let version = queue.commitVersion else {
            return
        }
        let items = state.items(in: id)
        let commit = ServerRequest.Commit(
            sharingGroupUUID: runGroup, masterVersion: version,
            sharingGroupName: items.first { $0.kind == .groupUpdate }?.newGroupName,
            pushNotificationMessage: queue.pushNotificationMessage,
            commitID: configuration.capabilities.commitID ? commitID : nil,
            numberOfDeletions: items.filter { $0.kind == .deletion && $0.isStaged }.count)
        send(.doneUploads(commit), step)
    }

    mutating func receiveCommit(_ reply: ServerReply, _ id: RowID<UploadQueue>) {
        guard let queue = state.queues[id], let version = queue.commitVersion else {
            restart(current: nil)
            return
        }
        var isReplay = false
        if case .replayingCommit = run?.step { isReplay = true }
        switch reply {
        case .committed(let number):
            if number < state.items(in: id).filter(\.isStaged).count {
                // The staged changes have expired, or are gone for another reason. The index shows which changes
                // arrived.
                run?.commitWasPartial = true
                restart(current: nil)
            } else {
                complete(id, raisesMasterVersion: version.next)
                if isReplay {
                    resumeDownloads()
                } else {
                    finish()
                }
            }
        case .stale(let current):
            // Not committed, unless this is a duplicate of a request whose first reply was lost. The index shows which.
            verifiedGroups.remove(runGroup)
            restart(current: current)
        case .failed(let failure) where failure.isRefusal(.notAMember):
            restart(current: nil)
        case .failed(.refused(status: let status, _, _)) where isReplay && [400, 404, 409, 410].contains(status):
            // The first copy may nevertheless have arrived while everything was still valid. The index shows which.
            restart(current: nil)
        case .failed(let failure) where failure.refusalClass == .file && !isReplay && hasOwnParameters(id):
            // Nothing was committed: the server does not accept the name or the message. The files are committed
            // without it.
            if let name = state.items(in: id).first(where: { $0.kind == .groupUpdate }) {
                setAsideName(name, failure)
            } else {
                state.queues.update(id) { $0.pushNotificationMessage = nil }
                reportError(Self.error(for: failure, group: runGroup))
            }
            forgetCommit(of: id)
            commit(id)
        case .failed(.refused(status: let status, _, _)) where [400, 404, 409, 410].contains(status):
            // Nothing was committed: a staged change is not the next version, its owner has left, or the user may no
            // longer write.
            forgetCommit(of: id)
            resetItems(of: runGroup)
            restart(current: nil, isIndexDoubtful: true)
        case .failed(let failure): fail(failure)
        default: fail(SyncError(.inconsistentServer, sharingGroupUUID: runGroup))
        }
    }

    /// Whether a commit has parameters other than its versions.
    private func hasOwnParameters(_ id: RowID<UploadQueue>) -> Bool {
        state.queues[id]?.pushNotificationMessage != nil || state.items(in: id).contains { $0.kind == .groupUpdate }
    }

    mutating func forgetCommit(of id: RowID<UploadQueue>) {
        state.queues.update(id) {
            $0.batchUUID = nil
            $0.commitID = nil
            $0.commitVersion = nil
        }
    }

    /// Applies a committed queue to the directory, and removes it.
    /// - Parameter version: The master version after the commit; nil if no commit was needed.
    mutating func complete(_ id: RowID<UploadQueue>, raisesMasterVersion version: MasterVersion?) {
        guard let group = state.queues[id]?.sharingGroupUUID else { return }
        let items = state.items(in: id)
        let restored = items.compactMap { item in
            item.kind == .file ? item.fileUUID.flatMap { state.directory[$0] } : nil
        }.filter { $0.deletedOnServer || $0.newerVersion != nil }.map(\.fileUUID)
        var renamed = false
        for item in items { renamed = takeOver(committed: item) || renamed }
        if let version {
            state.groups.update(group) { $0.masterVersion = max($0.masterVersion, version) }
        }
        removeQueue(id)
        let content = items.filter(\.isContent).count
        let deletions = items.filter { $0.kind == .deletion }.count
        if version != nil, content > 0 { report(.contentUploadsCompleted(numberOfFiles: content)) }
        if version != nil, deletions > 0 { report(.uploadDeletionsCompleted(numberOfFiles: deletions)) }
        if version != nil, !restored.isEmpty { report(.filesRestored(restored)) }
        if renamed, let entry = state.groups[group] {
            report(.sharingGroupUploadOperationCompleted(entry.sharingGroup, .update))
        }
    }

    /// Applies one committed change; true if it renamed the group.
    private mutating func takeOver(committed item: UploadItem) -> Bool {
        guard let file = item.fileUUID else {
            guard item.kind == .groupUpdate else { return false }
            state.groups.update(item.sharingGroupUUID) { $0.name = item.newGroupName }
            return true
        }
        let group = state.groups[item.sharingGroupUUID]
        if item.kind == .file { unavailableFiles[file] = nil }
        state.directory.update(file) { entry in
            switch item.kind {
            case .file:
                entry.newerVersion = nil
                entry.isIndexOnly = false
                entry.contentBytes = item.fileSize
                entry.usedAt = now
                entry.fileVersion = item.stagedFileVersion
                entry.deletedLocally = false
                entry.deletedOnServer = false
                entry.cloudStorageType =
                    entry.cloudStorageType ?? group?.cloudStorageType ?? configuration.accountStorage
            case .deletion:
                entry.deletedLocally = true
                entry.deletedOnServer = true
                entry.goneReason = nil
                entry.forceDownload = false
                entry.newerVersion = nil
                entry.isIndexOnly = false
            case .appMetaData, .groupCreate, .groupUpdate, .groupRemoveUser: break
            }
            if item.isContent, let text = item.appMetaData, let version = item.stagedAppMetaDataVersion {
                entry.appMetaData = AppMetaData(version: version, contents: text)
            }
        }
        noteSuperseded(item)
        return false
    }

    /// Determines the unknown outcome of a commit from the index. Runs before the comparison, which would mistake this
    /// device's changes for those of others.
    ///
    /// A late request may also have completed a batch: after the client stopped waiting for its reply, and even after
    /// the batch appeared incomplete.
    mutating func settleCommit(with rows: [FileInfo], in group: SharingGroupUUID) {
        let queues = state.closedQueues(of: group)
        guard let queue = queues.first(where: { $0.commitID != nil }) ?? queues.first(where: { $0.batchUUID != nil })
        else { return }
        let items = state.items(in: queue.id)
        let files = Dictionary(rows.map { ($0.fileUUID, $0) }, uniquingKeysWith: { first, _ in first })
        let own = items.filter { item in
            guard item.kind == .file, item.isStaged || queue.batchUUID != nil,
                let row = item.fileUUID.flatMap({ files[$0] })
            else {
                return false
            }
            return row.deviceUUID == configuration.deviceUUID && row.fileVersion == item.stagedFileVersion
        }
        if !own.isEmpty, run?.commitWasPartial != true {
            // A commit is all or nothing, and this change was committed.
            complete(queue.id, raisesMasterVersion: queue.commitVersion?.next)
            return
        }
        guard queue.commitID != nil else { return }
        for item in own {
            _ = takeOver(committed: item)
            dropItems([item])
        }
        guard state.queues[queue.id] != nil else { return }
        forgetCommit(of: queue.id)
        resetItems(of: group)
        for item in items where item.kind == .appMetaData && state.items[item.id] != nil {
            // The download of the text will show whether it is this device's.
            let row = item.fileUUID.flatMap { files[$0] }
            guard let version = item.stagedAppMetaDataVersion, row?.appMetaDataVersion == version else { continue }
            state.items.update(item.key) { $0.stagedAppMetaDataVersion = version }
        }
        run?.commitWasPartial = false
    }
}
