internal import SyncProtocol

// Stages queued changes, one item at a time.
extension SyncStateMachine {
    mutating func startUploads() {
        if stopsHere() { return }
        dropWhatIsDeletedAnyway()
        dropWhatIsReplaced()
        noteWaiting()
        separateWaiting()
        guard let queue = nextQueue(of: runGroup) else {
            finish()
            return
        }
        if queue.batchUUID == nil { resetOutdated(in: queue.id) }
        let items = state.items(in: queue.id)
        let files = items.filter { $0.fileUUID != nil }
        report(
            .willStartUploads(
                numberContentUploads: files.filter(\.isContent).count,
                numberUploadDeletions: files.filter { $0.kind == .deletion }.count,
                numberSharingGroupOperations: items.count - files.count))
        continueUploads(of: queue.id)
    }

    /// Marks changes that were staged on a stale version of their file as not staged: a commit would be refused.
    private mutating func resetOutdated(in queue: RowID<UploadQueue>) {
        for item in state.items(in: queue) where item.isStaged {
            guard let entry = item.fileUUID.flatMap({ state.directory[$0] }),
                item.stagedFileVersion != stagedFileVersion(of: item, entry)
                    || item.stagedAppMetaDataVersion != stagedAppMetaDataVersion(of: item, entry)
            else { continue }
            state.items.update(item.key) { $0.resetStaging() }
        }
    }

    /// The file version of an item, or the deleted version of a deletion.
    private func stagedFileVersion(of item: UploadItem, _ entry: DirectoryEntry) -> FileVersion? {
        switch item.kind {
        case .file: entry.fileVersion.map { $0.next } ?? .first
        case .deletion: entry.fileVersion
        case .appMetaData, .groupCreate, .groupUpdate, .groupRemoveUser: nil
        }
    }

    /// The text version of an item.
    private func stagedAppMetaDataVersion(of item: UploadItem, _ entry: DirectoryEntry) -> AppMetaDataVersion? {
        guard item.appMetaData != nil else { return nil }
        return entry.appMetaData.map { $0.version.next } ?? .first
    }

    /// The closed queues of a group that a sync alone cannot send: they wait for storage, a file that is out of reach,
    /// an earlier waiting queue that changes one of the same files, or the permission to write.
    func parkedQueues(of group: SharingGroupUUID) -> Set<RowID<UploadQueue>> {
        Set(parking(in: group).map(\.queue.id))
    }

    /// The oldest closed queue that can be sent, of one group or of any.
    func nextQueue(of group: SharingGroupUUID? = nil, except others: Set<SharingGroupUUID> = []) -> UploadQueue? {
        var parked: [SharingGroupUUID: Set<RowID<UploadQueue>>] = [:]
        return state.closedQueues(of: group).first { queue in
            let group = queue.sharingGroupUUID
            guard !others.contains(group) else { return false }
            if parked[group] == nil { parked[group] = parkedQueues(of: group) }
            return parked[group]?.contains(queue.id) == false
        }
    }

    /// The parked queues of a group, each with its waiting items.
    private func parking(in group: SharingGroupUUID) -> [(queue: UploadQueue, waiting: [UploadItem])] {
        let isReader = state.groups[group]?.permission == .read
        var parkedFiles: Set<FileUUID> = []
        var parksNames = false
        var parking: [(queue: UploadQueue, waiting: [UploadItem])] = []
        for queue in state.closedQueues(of: group) {
            let items = state.items(in: queue.id)
            guard !items.contains(where: { $0.kind == .groupRemoveUser }) else { continue }
            let waiting =
                isReader || heldQueues[queue.id] != nil
                ? items
                : items.filter { item in
                    guard let file = item.fileUUID else { return parksNames && item.kind == .groupUpdate }
                    return parkedFiles.contains(file)
                        || (item.isContent && state.directory[file]?.goneReason != nil)
                }
            guard !waiting.isEmpty else { continue }
            parking.append((queue, waiting))
            parkedFiles.formUnion(items.compactMap(\.fileUUID))
            parksNames = parksNames || items.contains { $0.kind == .groupUpdate }
        }
        return parking
    }

    /// Moves waiting changes to a separate queue, so that the rest of their queue can be sent.
    private mutating func separateWaiting() {
        for (queue, waiting) in parking(in: runGroup) where queue.commitID == nil {
            guard waiting.count < state.items(in: queue.id).count,
                !waiting.contains(where: { $0.kind == .groupCreate || $0.kind == .groupUpdate })
            else { continue }
            if queue.batchUUID != nil {
                // The server may still complete a batch of the current version.
                guard queue.commitVersion != state.groups[runGroup]?.masterVersion else { continue }
                forgetCommit(of: queue.id)
            }
            var separate = UploadQueue(id: state.nextQueueID(), sharingGroupUUID: runGroup, createdAt: now)
            separate.state = .closed
            separate.closedSequence = queue.closedSequence
            state.queues.put(separate)
            for item in waiting {
                state.items.update(item.key) {
                    $0.queueID = separate.id
                    $0.resetStaging()
                }
            }
            verifiedGroups.remove(runGroup)
        }
    }

    mutating func continueUploads(of queue: RowID<UploadQueue>) {
        run?.step = .uploading
        run?.token = nil
        if endsTransfers() { return }
        if heldQueues[queue] != nil {
            if isLineFree { finish() }
            return
        }
        if let item = state.items.first(at: .queue(queue)), item.status != .uploaded {
            if item.kind == .groupCreate {
                state.items.update(item.key) { $0.status = .uploading }
                send(.createSharingGroup(runGroup, name: item.newGroupName), .creatingGroup(item.id))
                return
            }
            if item.kind == .groupRemoveUser {
                state.items.update(item.key) { $0.status = .uploading }
                let masterVersion = state.groups[runGroup]?.masterVersion ?? .initial
                send(.removeUserFromSharingGroup(runGroup, masterVersion: masterVersion), .leavingGroup(item.id))
                return
            }
        }
        if isLineFree { beginBatch(queue) }
        guard isStagingVerified(for: queue) else {
            if isLineFree { send(.getUploads(runGroup), .listingStaged(queue)) }
            return
        }
        if asksForSmallFiles(of: queue) { return }
        let share = shareOfRequest(in: queue)
        var last: RowID<UploadItem>?
        while mayUpload, let item = state.items.first(at: .waiting(queue), after: last) {
            last = item.id
            if waitsForRefusedStorage(item) { continue }
            let together = itemsSentTogether(from: item, in: queue, atMost: share)
            if together.count > 1, !mayUploadTogether { break }
            last = together.last?.id
            if together.count == 1 { stage(item) } else { stageTogether(together) }
        }
        if !endsTransfers(), isLineFree { commit(queue) }
    }

    /// Whether the server's staged changes are known, as far as necessary. Batches ignore changes staged outside of
    /// them.
    private func isStagingVerified(for id: RowID<UploadQueue>) -> Bool {
        guard !verifiedGroups.contains(runGroup) else { return true }
        guard let batchUUID = state.queues[id]?.batchUUID else { return false }
        return run?.begunBatch == batchUUID || !state.items(in: id).contains { $0.status == .uploaded }
    }

    /// Sends the request that stages an item, if a request is needed.
    private mutating func stage(_ item: UploadItem) {
        guard let (staged, request) = prepare(item) else { return }
        state.items.put(staged)
        noteLastOfBatch(item.queueID)
        transfer(.upload(item.id, of: item.queueID), request)
    }

    /// Decides how to stage an item.
    /// - Returns: The item while it is being sent, with the request; nil if no request is needed.
    mutating func prepare(_ item: UploadItem) -> (staged: UploadItem, request: ServerRequest)? {
        guard let file = item.fileUUID, let entry = state.directory[file], let queue = state.queues[item.queueID],
            let group = state.groups[runGroup]
        else {
            if item.kind == .groupUpdate { state.items.update(item.key) { $0.status = .delayed } }
            return nil
        }
        var staged = item
        staged.status = .uploading
        staged.stagedFileVersion = stagedFileVersion(of: item, entry)
        staged.stagedAppMetaDataVersion = stagedAppMetaDataVersion(of: item, entry)
        switch item.kind {
        case .file: break
        case .appMetaData:
            guard entry.fileVersion != nil, !entry.deletedOnServer else {
                // The upload that would have created the file, or undeleted it, was refused, withdrawn or dropped.
                setAside(item, SyncError(.couldNotFindFileUUID))
                return nil
            }
        case .deletion:
            guard entry.fileVersion != nil else {
                // The file never reached the server, so it is already deleted.
                state.directory.update(file) {
                    $0.deletedLocally = true
                    $0.deletedOnServer = true
                    $0.newerVersion = nil
                }
                breakBatch(of: item)
                dropItems([item])
                return nil
            }
        case .groupCreate, .groupUpdate, .groupRemoveUser: return nil
        }
        return stagingRequest(staged, in: queue, from: group.masterVersion).map { (staged, $0) }
    }

    /// The request that stages an item with the versions assigned to it.
    func stagingRequest(
        _ item: UploadItem, in queue: UploadQueue, from masterVersion: MasterVersion
    ) -> ServerRequest? {
        guard let file = item.fileUUID, let entry = state.directory[file], let group = state.groups[runGroup] else {
            return nil
        }
        let batch = batch(of: item, in: queue)
        let text = item.appMetaData.flatMap { text in
            item.stagedAppMetaDataVersion.map { AppMetaData(version: $0, contents: text) }
        }
        switch item.kind {
        case .file:
            guard let source = item.source, let mimeType = item.mimeType ?? entry.mimeType,
                let version = item.stagedFileVersion
            else { return nil }
            return .uploadFile(
                FileUpload(
                    fileUUID: file, sharingGroupUUID: runGroup, mimeType: mimeType, fileVersion: version,
                    masterVersion: masterVersion, fileGroupUUID: version == .first ? entry.fileGroupUUID : nil,
                    appMetaData: text,
                    undeleteServerFile: item.uploadUndeletion || (entry.deletedOnServer && !entry.deletedLocally),
                    source: source, fileSize: item.fileSize, fileModified: item.fileModified,
                    cloudStorageType: entry.cloudStorageType ?? group.cloudStorageType ?? configuration.accountStorage,
                    batch: batch))
        case .appMetaData:
            return text.map {
                .uploadAppMetaData(file, $0, masterVersion: masterVersion, sharingGroupUUID: runGroup, batch: batch)
            }
        case .deletion:
            return item.stagedFileVersion.map {
                .uploadDeletion(file, $0, masterVersion: masterVersion, sharingGroupUUID: runGroup, batch: batch)
            }
        case .groupCreate, .groupUpdate, .groupRemoveUser: return nil
        }
    }

    mutating func receiveUpload(_ reply: ServerReply, _ id: RowID<UploadItem>, of queue: RowID<UploadQueue>) {
        noteUpload(reply, id, of: queue)
        continueUploads(of: queue)
    }

    /// Records the result of staging an item.
    mutating func noteUpload(_ reply: ServerReply, _ id: RowID<UploadItem>, of queue: RowID<UploadQueue>) {
        guard let item = state.items[id], let file = item.fileUUID, let entry = state.directory[file] else {
            // Withdrawn meanwhile. If it completed its batch, the index shows that it was still committed.
            if case .batchCommitted(let version, _, _) = reply { endTransfers(.takeBatchOver(queue, version)) }
            return
        }
        switch reply {
        case .fileStaged(let creationDate, let updateDate):
            stagingSucceeded(item, entry, creationDate, updateDate)
        case .done:
            stagingSucceeded(item, entry, nil, nil)
        case .batchCommitted(let version, let creationDate, let updateDate):
            stagingSucceeded(item, entry, creationDate, updateDate)
            endTransfers(.takeBatchOver(item.queueID, version))
        case .gone(let reason, _, _, _):
            let code = reason == .authTokenExpiredOrRevoked ? ErrorCode.cloudAuthorizationRevoked : .ownerRemoved
            refuse(item, .refused(status: code.status, code: code.rawValue))
        case .stale(let current):
            endTransfers(.uploadAnew(current: current, isIndexDoubtful: false))
        case .failed where run?.afterTransfers != nil:
            // Cancelled, or superseded by a result that takes precedence.
            break
        case .failed(let failure) where failure.isRefusal(.batchMismatch):
            endTransfers(.sendWithoutBatch(item.queueID))
        case .failed(let failure): refuse(item, failure)
        default:
            endTransfers(.fail(SyncError(.inconsistentServer, fileUUID: file, sharingGroupUUID: runGroup)))
        }
    }

    /// If the item belongs to a batch, sends the other items without a batch: a batch must be complete.
    mutating func breakBatch(of item: UploadItem) {
        if state.queues[item.queueID]?.batchUUID != nil { endTransfers(.sendWithoutBatch(item.queueID)) }
    }

    private mutating func stagingSucceeded(
        _ item: UploadItem, _ entry: DirectoryEntry, _ creationDate: WireDate?, _ updateDate: WireDate?
    ) {
        state.items.update(item.key) { $0.status = .uploaded }
        var attributes = entry.attributes
        attributes.creationDate = creationDate ?? attributes.creationDate
        attributes.updateDate = updateDate ?? attributes.updateDate
        attributes.appMetaData = item.appMetaData ?? entry.appMetaData?.contents
        attributes.gone = nil
        reportStaged(item, attributes)
    }

    mutating func reportStaged(_ item: UploadItem, _ attributes: SyncAttributes) {
        switch item.kind {
        case .file: report(.singleFileUploadComplete(attributes))
        case .appMetaData: report(.singleAppMetaDataUploadComplete(attributes.fileUUID))
        case .deletion: report(.singleUploadDeletionComplete(attributes.fileUUID))
        case .groupCreate, .groupUpdate, .groupRemoveUser: break
        }
    }

    /// The server's codes for outdated versions and states that a new index may correct.
    package static let refusalsOfWrongVersions = ErrorCode.rawValues([
        .fileVersionMismatch, .appMetaDataVersionMismatch, .fileDeleted, .fileNotDeleted, .uploadConflict,
    ])

    /// Restores a deletion if the upload that should have undeleted the file was refused and no other will undelete it.
    mutating func forgetUndeletion(of file: FileUUID) {
        guard let entry = state.directory[file], entry.deletedOnServer, !entry.deletedLocally else { return }
        guard state.pendingItems(of: file).isEmpty else { return }
        leaveToIndex(file)
    }

    /// Lets the next index decide about a file that others have deleted, and whose upload the app or the server has
    /// rejected: it shows the deletion again. If the file exists again, for instance on a restored server, it is
    /// delivered even in the known version, which the app need not have.
    mutating func leaveToIndex(_ file: FileUUID) {
        state.directory.update(file) {
            $0.deletedOnServer = false
            $0.forceDownload = true
        }
    }

    /// Marks all staged changes to a group as not started, since their versions may no longer be the next ones. Groups
    /// that were created remain.
    mutating func resetItems(of group: SharingGroupUUID) {
        verifiedGroups.remove(group)
        for queue in state.closedQueues(of: group) where queue.commitID == nil {
            for item in state.items(in: queue.id)
            where item.status != .notStarted && item.kind != .groupCreate {
                state.items.update(item.key) { $0.resetStaging() }
            }
        }
    }

    // MARK: Creating and leaving groups

    mutating func receiveCreation(_ reply: ServerReply, _ id: RowID<UploadItem>) {
        guard let item = state.items[id] else { return }
        switch reply {
        case .done:
            confirmCreation(of: runGroup)
            verifiedGroups.insert(runGroup)
            continueUploads(of: item.queueID)
        case .failed(let failure) where failure.isRefusal(.groupExists):
            // If the index lists the group, this device created it, and an earlier reply was lost.
            sendIndex()
        case .failed(let failure): fail(failure)
        default: fail(SyncError(.inconsistentServer, sharingGroupUUID: runGroup))
        }
    }

    /// Records that the server has the group.
    mutating func confirmCreation(of group: SharingGroupUUID) {
        state.groups.update(group) { $0.creationPending = false }
        for item in state.items.rows(where: { $0.kind == .groupCreate && $0.sharingGroupUUID == group }) {
            state.items.update(item.key) { $0.status = .uploaded }
        }
        if let entry = state.groups[group] {
            report(.sharingGroupUploadOperationCompleted(entry.sharingGroup, .creation))
        }
    }

    mutating func receiveLeaving(_ reply: ServerReply, _ id: RowID<UploadItem>) {
        switch reply {
        case .done, .gone, .failed(.refused(status: 410, _, _)):
            groupIsLost(runGroup)
        case .stale(let current):
            state.items.update(id) { $0.status = .notStarted }
            restart(current: current)
        case .failed(let failure): fail(failure)
        default: fail(SyncError(.inconsistentServer, sharingGroupUUID: runGroup))
        }
    }
}
