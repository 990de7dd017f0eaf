import Logging
import SyncEngine
import SyncProtocol
import SyncServerConnection
import SyncStore
import Synchronization

// The user of the store, and the user's account.
extension SyncDriver {
    /// The known identity of the store's user.
    var knownIdentity: KnownIdentity { identity.withLock { $0 } }

    /// Records the signed-in user. A store belongs to one user until it is fully reset.
    /// - Throws: `differentUser`; `storeError`.
    func bind(_ user: SignedInUser, _ accountType: AccountType) throws(SyncError) {
        try state.withLock { state throws(SyncError) in
            try requireUsable(state)
            do throws(SyncError) { try adopt(user, &state) } catch {
                if error.code == .differentUser {
                    state.machine.block(with: error)
                    setStatus(.blocked(error), &state)
                }
                throw error
            }
            do {
                try database.set(Setting.userID, to: user.userID.description)
            } catch { throw SyncError(.storeError) }
            state.userID = user.userID.description
            state.machine.use(userID: user.userID)
            try use(accountType, &state)
            state.machine.block(with: nil)
            if case .blocked = state.status { setStatus(.atRest(state.machine), &state) }
        }
    }

    /// Adopts the identity that the server reports, if it is the store's.
    private func adopt(_ user: SignedInUser, _ state: inout State) throws(SyncError) {
        guard state.userID == nil || state.userID == user.userID.description else { throw SyncError(.differentUser) }
        guard let reported = user.identity else { return }
        try change(&state) { machine throws(SyncError) in
            try machine.adopt(reported)
            return ((), [])
        }
        newerGrants.withLock { $0 = reported.newerGrants }
        guard let grant = reported.deviceGrant else { return }
        do {
            try grants.save(grant)
            identity.withLock { $0.deviceGrant = grant }
        } catch {
            // The server issues another grant at the next sign-in.
            logger.error("Could not store the device's grant", metadata: ["error": "\(type(of: error))"])
        }
    }

    /// Sets the user, if known, their storage and the server's capabilities, for a client without a connection.
    func use(accountStorage: CloudStorageType?, _ userID: UserID?, _ capabilities: ServerCapabilities) {
        state.withLock { state in
            if let userID {
                state.userID = userID.description
                state.machine.use(userID: userID)
            }
            state.machine.use(accountStorage: accountStorage)
            state.machine.use(capabilities)
        }
    }

    private func use(_ accountType: AccountType, _ state: inout State) throws(SyncError) {
        do {
            try database.set(Setting.accountStorage, to: accountType.cloudStorageType?.rawValue)
        } catch { throw SyncError(.storeError) }
        state.machine.use(accountStorage: accountType.cloudStorageType)
    }

    /// Records that the server has carried out a switch to an account, and starts to upload again.
    func confirmed(_ outcome: ConfirmAccountSwitchResponse, _ accountType: AccountType) throws(SyncError) {
        try state.withLock { state throws(SyncError) in
            try requireUsable(state)
            try use(accountType, &state)
            try change(&state) { machine throws(SyncError) in
                let actions = machine.noteConfirmed(
                    outcome.accountEpoch, numberAwaiting: outcome.numberAwaiting,
                    isMovedByServer: outcome.movesContents == true, at: now)
                return ((), actions)
            }
        }
    }

    /// Drops pending changes, or the whole store, including the user.
    func reset(_ type: ResetType) throws(SyncError) {
        try inboxTurn.withLock { _ throws(SyncError) in
            try resetState(type)
            for entry in inbox.entries() { try inbox.discard(entry) }
        }
    }

    private func resetState(_ type: ResetType) throws(SyncError) {
        try state.withLock { state throws(SyncError) in
            try change(&state) { machine throws(SyncError) in ((), try machine.reset(type, at: now)) }
            guard type == .all else { return }
            do { try database.set(Setting.userID, to: nil) } catch { throw SyncError(.storeError) }
            state.userID = nil
            state.machine.use(userID: nil)
            try? grants.save(nil)
            identity.withLock { $0.deviceGrant = nil }
            state.machine.block(with: nil)
        }
    }
}

extension ServerConnection {
    /// The status of a switch; nil if the server knows none.
    /// - Parameter switchID: The switch; nil for the newest.
    func accountSwitchStatus(
        of switchID: AccountSwitchID?
    ) async throws(ServerConnectionError) -> GetAccountSwitchStatusResponse? {
        guard
            case .success(let status) = try await accountSwitchStatus(
                GetAccountSwitchStatusRequest(switchId: switchID)), status.state != .none
        else { return nil }
        return status
    }

    /// Ends a confirmed switch for which no files are waiting. After a lost reply, asking again reveals the result.
    /// - Returns: The number of files that still wait; at zero the switch is over.
    func settleAccountSwitch(_ switchID: AccountSwitchID) async throws(ServerConnectionError) -> Int64 {
        let outcome = try await accountSwitchStatus(GetAccountSwitchStatusRequest(switchId: switchID))
        guard case .success(let status) = outcome, status.state == .reuploading else { return 0 }
        if status.numberAwaiting == 0 {
            _ = try await finishAccountSwitch(FinishAccountSwitchRequest(switchId: switchID))
        }
        return status.numberAwaiting
    }
}

extension GetAccountSwitchStatusResponse? {
    /// Whether the server itself moves files of the switch; nil if that is unknown, since the switch is only proposed.
    var isMoveUnderWay: Bool? {
        guard let self, self.state == .proposed else { return self?.serverMove?.state == .moving }
        return nil
    }
}
