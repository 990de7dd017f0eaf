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

    /// Records that the switch whose files were uploaded again is over; a proposal of a later switch stays.
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
