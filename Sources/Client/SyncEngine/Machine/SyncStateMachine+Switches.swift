package import SyncProtocol

// The identity above the user's account, and switches of the account (docs/protocol.md, sections 5.10 and 5.11).
extension SyncStateMachine {
    /// The identity that the store belongs to; nil until a server has reported one.
    package var account: AccountState? { state.account[AccountState.only] }

    /// Adopts the identity that the server reports.
    ///
    /// A greater epoch means that another device has switched accounts, or that the reply to this device's confirmation
    /// was lost. Versions are then unchanged, but storage types change, and this user's staged changes are withdrawn. A
    /// smaller epoch means that the server was restored from a backup, and has lost a switch.
    /// - Throws: `differentUser` for another identity; then nothing has changed.
    package mutating func adopt(_ identity: AccountIdentity) throws(SyncError) {
        guard let known = account else {
            var account = AccountState(userAppID: identity.userAppId, epoch: identity.accountEpoch)
            account.mayBeMovedByServer = identity.accountEpoch > AccountEpoch(0)
            state.account.put(account)
            return
        }
        guard known.userAppID == identity.userAppId else { throw SyncError(.differentUser) }
        guard known.epoch != identity.accountEpoch else { return }
        let isOwn = known.phase == .confirming && identity.accountEpoch.rawValue == known.epoch.rawValue + 1
        // Regardless of who confirmed it, this device has not seen the reply with the server's part.
        begin(identity.accountEpoch, isReuploading: isOwn, mayBeMovedByServer: true)
        planReuploads()
    }

    /// Records a proposal that this device has made or joined. An earlier switch continues until this one is confirmed.
    /// - Parameter isConfirmed: Whether the switch that it has joined is already confirmed.
    package mutating func noteProposal(_ switchID: AccountSwitchID, isConfirmed: Bool) {
        state.account.update(AccountState.only) {
            let former = $0.reuploadingSwitchID
            $0.formerSwitchID = former == switchID ? nil : former
            $0.switchID = switchID
            $0.phase = isConfirmed ? .confirming : .proposed
            if former == nil { $0.isPaused = false }
        }
    }

    /// Records that the proposal is about to be confirmed: from now on the server may have carried it out.
    /// - Throws: `noAccountSwitch`.
    /// - Returns: The switch, and the epoch to send.
    package mutating func noteConfirmation() throws(SyncError) -> (AccountSwitchID, AccountEpoch) {
        guard let known = account, let switchID = known.switchID, known.phase != .reuploading else {
            throw SyncError(.noAccountSwitch)
        }
        state.account.update(AccountState.only) { $0.phase = .confirming }
        return (switchID, known.epoch)
    }

    /// Records that the server has carried out the switch.
    /// - Parameter isMovedByServer: Whether the server itself moves the files.
    package mutating func noteConfirmed(
        _ epoch: AccountEpoch, numberAwaiting: Int64, isMovedByServer: Bool = false, at now: WireDate
    ) -> [EngineAction] {
        self.now = now
        guard let known = account, known.phase == .confirming else { return [] }
        begin(epoch, isReuploading: numberAwaiting > 0, mayBeMovedByServer: isMovedByServer)
        if numberAwaiting == 0 { report(.accountSwitchFinished) }
        return takeActions() + resumePendingUploads(at: now)
    }

    /// Records that a proposal is withdrawn or void: an earlier switch continues.
    package mutating func endProposal(at now: WireDate) -> [EngineAction] {
        self.now = now
        guard let known = account, known.phase != nil, known.phase != .reuploading else { return [] }
        state.account.update(AccountState.only) {
            $0.switchID = known.formerSwitchID
            $0.phase = known.formerSwitchID == nil ? nil : .reuploading
            $0.formerSwitchID = nil
        }
        return resumePendingUploads(at: now)
    }

    /// Records that the switch whose files were uploaded again is over; a proposal of a later switch is kept.
    ///
    /// Does nothing if another switch has been carried out meanwhile.
    package mutating func endAccountSwitch(_ switchID: AccountSwitchID) -> [EngineAction] {
        guard let known = account, known.reuploadingSwitchID == switchID else { return [] }
        removeReuploads()
        groupsToReupload = []
        report(.accountSwitchFinished)
        guard known.phase == .reuploading else {
            state.account.update(AccountState.only) { $0.formerSwitchID = nil }
            return takeActions()
        }
        state.account.update(AccountState.only) {
            $0.switchID = nil
            $0.phase = nil
            $0.isPaused = false
        }
        return takeActions()
    }

    /// Starts no further uploads of files that wait for their bytes; uploads in progress continue.
    package mutating func pauseReuploads() {
        state.account.update(AccountState.only) { $0.isPaused = true }
    }

    /// Continues after a pause, and retries files that the app did not have or the server refused.
    package mutating func resumeReuploads(at now: WireDate) -> [EngineAction] {
        state.account.update(AccountState.only) { $0.isPaused = false }
        for status in [ReuploadItem.Status.unavailable, .superseded, .failed] {
            for item in state.reuploads.rows(at: .status(status)) {
                state.reuploads.update(item.key) {
                    $0.status = .pending
                    $0.attempts = 0
                }
            }
        }
        return resumePendingUploads(at: now)
    }

    private mutating func begin(_ epoch: AccountEpoch, isReuploading: Bool, mayBeMovedByServer: Bool) {
        removeReuploads()
        state.account.update(AccountState.only) {
            $0.epoch = epoch
            $0.phase = isReuploading ? .reuploading : nil
            if !isReuploading { $0.switchID = nil }
            $0.formerSwitchID = nil
            $0.mayBeMovedByServer = mayBeMovedByServer
            $0.isPaused = false
            $0.reuploadedBytes = 0
        }
        verifiedGroups = []
        for group in state.groups.inOrder where group.indexedVersion != nil {
            state.groups.update(group.key) { $0.indexedVersion = nil }
        }
    }

    mutating func removeReuploads() {
        for item in state.reuploads.inOrder { state.reuploads[item.key] = nil }
    }

    // MARK: One group at a time

    /// Plans a sync of each group that has files, while a switch of this device is in progress. Each is synced once, so
    /// that a group that makes no progress does not keep the library busy.
    mutating func planReuploads() {
        guard let account, account.reuploadingSwitchID != nil, !account.isPaused else { return }
        let groups = Set(state.directory.all.filter { !$0.deletedOnServer }.map(\.sharingGroupUUID))
        groupsToReupload = groups.filter { state.groups[$0]?.removedFromGroup == false }.sorted()
    }

    /// Begins the sync of the next planned group. After the last one, or after any other sync, asks the server whether
    /// files still wait, unless this device still has some to upload.
    /// - Parameter group: The group of the sync that has ended; nil if there was none.
    mutating func continueAccountSwitch(after group: SharingGroupUUID?) {
        groupsToReupload.removeAll { $0 == group }
        guard let account, !account.isPaused, let switchID = account.reuploadingSwitchID else { return }
        if !groupsToReupload.isEmpty {
            begin(SyncRequest(sharingGroupUUID: groupsToReupload.removeFirst()))
        } else if settlement == nil, !state.reuploads.contains(at: .status(.pending)) {
            let token = makeToken()
            settlement = (token, switchID)
            actions.append(.send(token, .settleAccountSwitch(switchID)))
        }
    }

    mutating func receiveSettlement(_ reply: ServerReply) {
        guard let asked = settlement?.switchID else { return }
        settlement = nil
        // For any other reply, the library asks again after the next sync.
        guard case .accountSwitchSettled(let numberAwaiting) = reply, numberAwaiting == 0 else { return }
        actions += endAccountSwitch(asked)
    }
}

// Uploads the contents of files that wait for their bytes, after the downloads of a group and before its uploads. The
// versions are already committed: no master version is involved, and nothing is committed.
extension SyncStateMachine {
    /// The number of failed requests after which a file is skipped.
    private static let maximumAttempts = 5

    /// Drops a file's planned or completed upload if the index shows that it no longer applies.
    mutating func noteReupload(of row: FileInfo, _ version: FileVersion) {
        guard let known = state.reuploads[row.fileUUID] else { return }
        let isOther = known.fileVersion != version || row.deleted
        if isOther || row.awaitingReupload == (known.status == .done) { state.reuploads[row.fileUUID] = nil }
    }

    /// Plans to upload the group's waiting files that are not planned yet. Downloads are complete at this point, so the
    /// versions match the server's.
    private mutating func planReuploads(in group: SharingGroupUUID) {
        guard let permission = state.groups[group]?.permission, permission >= .write else { return }
        for entry in state.directory.rows(at: .waiting(group)) where state.reuploads[entry.fileUUID] == nil {
            guard isOwn(entry.owningUserID) || configuration.reuploadsForOthers, !entry.forceDownload,
                let version = entry.fileVersion
            else { continue }
            state.reuploads.put(
                ReuploadItem(
                    fileUUID: entry.fileUUID, sharingGroupUUID: group, fileGroupUUID: entry.fileGroupUUID,
                    fileVersion: version))
        }
    }

    /// Whether this device would upload files of the group again. Others, or the server, may have uploaded them
    /// already, which does not change the master version.
    func hasFilesToReupload(in group: SharingGroupUUID) -> Bool {
        state.directory.rows(at: .waiting(group)).contains {
            isOwn($0.owningUserID) || configuration.reuploadsForOthers
        }
    }

    private func isOwn(_ owner: UserID?) -> Bool { owner != nil && owner == configuration.userID }

    mutating func startReuploads() {
        planReuploads(in: runGroup)
        guard state.reuploads.contains(at: .waiting(runGroup)), account?.isPaused != true else {
            startUploads()
            return
        }
        if account?.mayBeMovedByServer == true, !ownReuploads.isEmpty {
            send(.askForServerMove(account?.reuploadingSwitchID), .askingForServerMove)
        } else {
            beginReuploads()
        }
    }

    private mutating func beginReuploads() {
        guard state.reuploads.contains(at: .waiting(runGroup)) else {
            startUploads()
            return
        }
        run?.step = .reuploading
        run?.token = nil
        continueReuploads()
    }

    /// The user's own files that must be uploaded again in the group.
    private var ownReuploads: [ReuploadItem] {
        state.reuploads.rows(at: .waiting(runGroup)).filter { isOwn(state.directory[$0.fileUUID]?.owningUserID) }
    }

    /// Leaves the user's files to the server while it moves them. The next sync plans them again.
    mutating func receiveServerMove(_ reply: ServerReply) {
        switch reply {
        case .serverMove(isUnderWay: true):
            for item in ownReuploads { state.reuploads[item.key] = nil }
        case .serverMove(isUnderWay: nil): break
        case .serverMove(isUnderWay: false), .failed(.refused(status: 404, _, _)):
            state.account.update(AccountState.only) { $0.mayBeMovedByServer = false }
        case .failed(let failure):
            fail(failure)
            return
        default:
            fail(SyncError(.inconsistentServer, sharingGroupUUID: runGroup))
            return
        }
        beginReuploads()
    }

    /// Records the server's report about its move; once the move is over, this device uploads the remaining files.
    package mutating func noteServerMove(isUnderWay: Bool?, at now: WireDate) -> [EngineAction] {
        guard isUnderWay == false, account?.mayBeMovedByServer == true else { return [] }
        state.account.update(AccountState.only) { $0.mayBeMovedByServer = false }
        return resumePendingUploads(at: now)
    }

    private mutating func continueReuploads() {
        if endsTransfers() { return }
        while mayUpload, account?.isPaused != true, let item = nextReupload() {
            guard let entry = state.directory[item.fileUUID] else {
                state.reuploads[item.key] = nil
                continue
            }
            run?.reuploadedGroup = item.fileGroupUUID
            state.reuploads.update(item.key) { $0.status = .uploading }
            transfer(
                .reupload(item.fileUUID),
                .reuploadFile(
                    FileReupload(
                        attributes: entry.attributes, fileVersion: item.fileVersion,
                        cloudStorageType: entry.cloudStorageType, switchID: account?.reuploadingSwitchID)))
        }
        if isLineFree { startUploads() }
    }

    /// The next file, preferably of the same file group as the last one.
    private func nextReupload() -> ReuploadItem? {
        run?.reuploadedGroup.flatMap { state.reuploads.first(at: .waitingTogether($0)) }
            ?? state.reuploads.first(at: .waiting(runGroup))
    }

    mutating func receiveReupload(_ reply: ServerReply, _ file: FileUUID) {
        switch reply {
        case .reuploaded(let result): settle(result, file)
        case .gone(let reason, _, _, _):
            if reason == .authTokenExpiredOrRevoked, isOwn(state.directory[file]?.owningUserID) {
                endTransfers(.fail(SyncError(.storageUnauthorized)))
                again(file)
            } else {
                end(file, as: .failed, "\(reason)")
            }
        case .failed where run?.afterTransfers != nil: again(file)
        case .failed(let failure) where failure.isRefusal(.contentMismatch):
            end(file, as: .superseded, nil)
        case .failed(.localFile): end(file, as: .unavailable, nil)
        case .failed(let failure) where failure.isRefusal(.cloudQuotaExceeded):
            endTransfers(.fail(SyncError(.storageFull)))
            again(file)
        case .failed(.refused(status: 404, _, _)): state.reuploads[file] = nil
        case .failed(let failure): noteFailure(failure, file)
        default: endTransfers(.fail(SyncError(.inconsistentServer, fileUUID: file, sharingGroupUUID: runGroup)))
        }
        continueReuploads()
    }

    private mutating func settle(_ result: ServerReply.ReuploadResult, _ file: FileUUID) {
        switch result {
        case .stored, .alreadyStored:
            state.directory.update(file) { $0.awaitingReupload = false }
            if case .stored(let bytes) = result {
                state.account.update(AccountState.only) { $0.reuploadedBytes += bytes }
            }
            end(file, as: .done, nil)
        case .outdated: state.reuploads[file] = nil
        case .notAvailable: end(file, as: .unavailable, nil)
        case .differentVersion: end(file, as: .superseded, nil)
        }
    }

    private mutating func noteFailure(_ failure: RequestFailure, _ file: FileUUID) {
        let error = Self.error(for: failure, group: runGroup)
        // Without a reply, or after a switch on another device, the file is not the cause.
        guard case .refused(let status, _, _) = failure, status != 429, !failure.isRefusal(.staleEpoch) else {
            again(file, error.description)
            endTransfers(.fail(error))
            return
        }
        let attempts = (state.reuploads[file]?.attempts ?? 0) + 1
        state.reuploads.update(file) { $0.attempts = attempts }
        if status < 500 || attempts >= Self.maximumAttempts {
            end(file, as: .failed, error.description)
        } else {
            again(file, error.description)
            endTransfers(.fail(error))
        }
    }

    /// Records that a file no longer waits because its next version is committed.
    mutating func noteSuperseded(_ item: UploadItem) {
        guard item.kind == .file, let file = item.fileUUID, let known = state.reuploads[file], known.status != .done
        else { return }
        end(file, as: .done, nil)
    }

    private mutating func again(_ file: FileUUID, _ error: String? = nil) {
        state.reuploads.update(file) {
            $0.status = .pending
            $0.lastError = error ?? $0.lastError
        }
    }

    private mutating func end(_ file: FileUUID, as status: ReuploadItem.Status, _ error: String?) {
        state.reuploads.update(file) {
            $0.status = status
            $0.lastError = error
        }
        report(
            .accountSwitchProgress(
                done: state.reuploads.count(at: .status(.done)), total: state.reuploads.count,
                bytes: account?.reuploadedBytes ?? 0))
    }
}
