public import Foundation
import Synchronization

// Switching to another account. The user remains the same, with all groups, files and versions; only the contents of
// the files must be uploaded again, to the storage of the new account.
extension SyncServer {
    /// The consequences of a switch of accounts, for the user who must confirm it. Also explain that their other
    /// devices must sign in with the new account, that uploading uses the network, that others cannot fetch some files
    /// meanwhile, and that the files in the former storage remain there.
    public struct AccountSwitchProposal: Sendable, Hashable {
        /// The type of the former account.
        public let fromAccountType: AccountType
        /// The type of the new account.
        public let toAccountType: AccountType
        /// The number of files that must be uploaded again, in all groups.
        public let numberOfFiles: Int
        /// Their size in bytes, as far as it is known to the server.
        public let approximateBytes: Int64
        /// The names of people whose files are in the user's storage, and are moved as well.
        public let hostedUsers: [String]
        /// Files that this device cannot upload again: the app does not have them, or has changed them.
        public let unavailableFiles: [SyncAttributes]
        /// When the proposal expires.
        public let expiresAt: Date
    }

    /// The progress of a switch of accounts.
    public struct AccountSwitch: Sendable, Hashable {
        /// The next step.
        public enum Phase: Sendable, Hashable {
            /// The user must confirm or cancel it.
            case proposed
            /// The reply to the confirmation is missing: confirm it again.
            case confirming
            /// Files are uploaded again.
            case reuploading
        }

        /// The next step.
        public let phase: Phase
        /// Whether the server itself moves the files, or may be moving them; devices then upload none.
        public let isServerMoving: Bool
        /// Whether the uploads are paused.
        public let isPaused: Bool
        /// The number of files that this device has uploaded again, or found uploaded.
        public let done: Int
        /// The number of files that are known to have waited.
        public let total: Int
        /// Files missing from the app.
        public let unavailable: [FileUUID]
        /// Files for which the app had different contents.
        public let superseded: [FileUUID]
        /// Files that the server refused.
        public let failed: [FileUUID]
    }

    /// The switch of accounts that this device has begun or joined; nil if none.
    public var accountSwitch: AccountSwitch? {
        driver.state.withLock { AccountSwitch($0.machine.state) }
    }

    /// The identity that is kept when accounts are switched; nil if no server has reported one yet.
    public var userAppID: UserAppID? { driver.state.withLock { $0.machine.account?.userAppID } }

    /// Proposes to the server to switch to the account that is signed in now and that is unknown to the server. Nothing
    /// changes before ``confirmAccountSwitch()``. If another device has proposed a switch to that account, this device
    /// joins it.
    /// - Parameter oldAccount: Credentials of the former account, if available; only some servers require them, and
    ///   devices whose grant is too young need them with a new authorization code.
    /// - Throws: `accountInUse`, `owningAccountRequired`, `deviceGrantInvalid`, `deviceGrantTooYoung`,
    ///   `switchInProgress`, `oldAccountProofRequired`, `freshSignInRequired`; `requestRefused` if the storage is not
    ///   writable; others.
    public func proposeAccountSwitch(
        provingOldAccount oldAccount: Credentials? = nil
    ) async throws(SyncError) -> AccountSwitchProposal {
        let connection = try requireConnection()
        guard let userAppID, driver.knownIdentity.deviceGrant != nil else { throw SyncError(.deviceGrantInvalid) }
        let request = BeginAccountSwitchRequest(userAppId: userAppID, cloudFolderName: configuration.cloudFolderName)
        let proposal = try await switching { () throws(ServerConnectionError) in
            try await connection.beginAccountSwitch(request, proving: oldAccount)
        }
        try driver.change { machine throws(SyncError) in
            machine.noteProposal(proposal.switchId, isConfirmed: proposal.state != .proposed)
            return ((), [])
        }
        return AccountSwitchProposal(
            fromAccountType: proposal.fromAccountType, toAccountType: proposal.toAccountType,
            numberOfFiles: Int(proposal.numberOfFiles), approximateBytes: proposal.approximateBytes,
            hostedUsers: proposal.hostedUsers.map(\.name), unavailableFiles: await unavailableFiles(),
            expiresAt: Date(timeIntervalSince1970: TimeInterval(proposal.expiresAt.secondsSince1970)))
    }

    /// Switches to the account of the proposal, and starts to upload files again: what
    /// ``SyncServerDelegate/contentForReupload(of:fileVersion:)`` supplies, group by group, before other uploads. The
    /// uploads survive the process, and end with the event ``SyncEvent/accountSwitchFinished`` once no file waits any
    /// more on any device.
    ///
    /// May be repeated: if the reply was lost, ``accountSwitch`` has the phase `confirming`.
    /// - Throws: `noAccountSwitch` if no valid proposal exists; `accountInUse`; others.
    public func confirmAccountSwitch() async throws(SyncError) {
        _ = try await confirmAccountSwitch(movingContentsFrom: nil)
    }

    /// Withdraws a proposal, without any other change; sign in with the former account again.
    /// - Throws: `noAccountSwitch`; `switchConfirmed`; others.
    public func cancelAccountSwitch() async throws(SyncError) {
        let (connection, switchID) = (try requireConnection(), try switchID(\.switchID))
        try await switching { () throws(ServerConnectionError) in try await connection.cancelAccountSwitch(switchID) }
        try forgetProposal()
    }

    /// Asks the server how many files of a confirmed switch still wait for their bytes, on any device, and ends the
    /// switch if none does. The library also does so after each sync.
    /// - Throws: `noAccountSwitch`; others.
    public func settleAccountSwitch() async throws(SyncError) -> Int {
        let (connection, switchID) = (try requireConnection(), try switchID(\.reuploadingSwitchID))
        let awaiting = try await asked { () throws(ServerConnectionError) in
            try await connection.settleAccountSwitch(switchID)
        }
        if awaiting == 0 { try forgetAccountSwitch(switchID) }
        return Int(awaiting)
    }

    /// Ends a switch although files still wait: the user abandons them.
    /// - Parameter missing: Whether these files stay listed as out of reach, and can still be restored, or are deleted
    ///   for everybody.
    /// - Throws: `noAccountSwitch`; others.
    public func finishAccountSwitch(missing: MissingFiles = .keepGone) async throws(SyncError) {
        let (connection, switchID) = (try requireConnection(), try switchID(\.reuploadingSwitchID))
        _ = try await switching { () throws(ServerConnectionError) in
            try await connection.finishAccountSwitch(FinishAccountSwitchRequest(switchId: switchID, missing: missing))
        }
        try forgetAccountSwitch(switchID)
    }

    /// Starts no further uploads of waiting files, even after a relaunch, until ``resumeAccountSwitch()``, for example
    /// while the network is expensive.
    public func pauseAccountSwitch() throws(SyncError) {
        try driver.change { machine throws(SyncError) in
            machine.pauseReuploads()
            return ((), [])
        }
    }

    /// Continues to upload waiting files, and asks the app again for the missing ones.
    public func resumeAccountSwitch() throws(SyncError) {
        try driver.change { machine throws(SyncError) in ((), machine.resumeReuploads(at: driver.now)) }
    }

    /// Undoes a switch of accounts that another person has made: the account that is signed in now, which the switch
    /// had replaced, belongs to the user again. Possible for 14 days, unless the server's operator has chosen another
    /// period; see ``SyncError/undoUntil``.
    ///
    /// Files have their bytes again immediately, except those that were changed or added since; as after any switch,
    /// the server moves them or devices upload them. Devices that were added with the switch, or after it, must sign in
    /// again. May be repeated.
    /// - Throws: `freshSignInRequired` unless the credentials contain a new authorization code of the account, or its
    ///   password; `deviceGrantInvalid` if this device is no older than the one that switched; `undoExpired`;
    ///   `accountInUse` if another person has signed up with the account; others.
    public func undoAccountSwitch() async throws(SyncError) {
        let connection = try requireConnection()
        guard let credentials = await credentialProvider?.credentials() else { throw SyncError(.signInRequired) }
        guard let userAppID, driver.knownIdentity.deviceGrant != nil else { throw SyncError(.deviceGrantInvalid) }
        let undone = try await switching { () throws(ServerConnectionError) in
            try await connection.undoAccountSwitch(UndoAccountSwitchRequest(userAppId: userAppID))
        }
        try driver.change { machine throws(SyncError) in
            machine.noteProposal(undone.switchId, isConfirmed: true)
            return ((), [])
        }
        try driver.confirmed(
            ConfirmAccountSwitchResponse(
                accountEpoch: undone.accountEpoch, numberAwaiting: undone.numberAwaiting,
                movesContents: undone.movesContents), credentials.accountType)
        try await checkForExistingUser()
    }

    /// The user's grants that the server has recently issued, after this device's grant, as of the last sign-in. Show
    /// them to the user, who can identify unfamiliar devices; revoke those with ``revokeDeviceGrants(of:)``.
    public var newerDeviceGrants: [AccountIdentity.NewerGrant] { driver.newerGrants.withLock { $0 } }

    /// Revokes the grants of a lost device, or with nil those of all other devices: they can no longer begin a switch
    /// of accounts. Without a new authorization code in the credentials, or a password, only grants younger than this
    /// device's are revoked.
    /// - Returns: The number of grants that were revoked, and of those that remain because they are older.
    @discardableResult
    public func revokeDeviceGrants(
        of device: DeviceUUID? = nil
    ) async throws(SyncError) -> RevokeDeviceGrantsResponse {
        let connection = try requireConnection()
        return try await asked { () throws(ServerConnectionError) in try await connection.revokeDeviceGrants(of: device)
        }
    }

    // MARK: Parts

    /// - Parameter oldAccount: Credentials of the former account, if the server should move the files.
    /// - Returns: Whether the server moves them.
    func confirmAccountSwitch(movingContentsFrom oldAccount: Credentials?) async throws(SyncError) -> Bool {
        let connection = try requireConnection()
        guard let credentials = await credentialProvider?.credentials() else { throw SyncError(.signInRequired) }
        let (switchID, epoch) = try driver.change { machine throws(SyncError) in (try machine.noteConfirmation(), []) }
        let request = ConfirmAccountSwitchRequest(
            switchId: switchID, expectedEpoch: epoch, moveContents: oldAccount != nil)
        do {
            let outcome = try await switching { () throws(ServerConnectionError) in
                try await connection.confirmAccountSwitch(request, proving: oldAccount)
            }
            try driver.confirmed(outcome, credentials.accountType)
            return outcome.movesContents == true
        } catch {
            if error.code == .noAccountSwitch || error.code == .accountInUse { try forgetProposal() }
            throw error
        }
    }

    private func switchID(
        _ path: KeyPath<AccountState, AccountSwitchID?>
    ) throws(SyncError) -> AccountSwitchID {
        guard let switchID = driver.state.withLock({ $0.machine.account?[keyPath: path] }) else {
            throw SyncError(.noAccountSwitch)
        }
        return switchID
    }

    private func forgetProposal() throws(SyncError) {
        try driver.change { machine throws(SyncError) in ((), machine.endProposal(at: driver.now)) }
    }

    private func forgetAccountSwitch(_ switchID: AccountSwitchID) throws(SyncError) {
        try driver.change { machine throws(SyncError) in ((), machine.endAccountSwitch(switchID)) }
    }

    /// The user's files that the app cannot supply; files whose owner is not known yet count as the user's.
    private func unavailableFiles() async -> [SyncAttributes] {
        let files = driver.state.withLock { state in
            state.machine.state.directory.rows { entry in
                !entry.deletedOnServer && entry.fileVersion != nil
                    && (entry.owningUserID.map { $0.description == state.userID } ?? true)
            }
        }
        var unavailable: [SyncAttributes] = []
        for file in files {
            guard let version = file.fileVersion else { continue }
            if case .file = await driver.content(of: file.attributes, version) { continue }
            unavailable.append(file.attributes)
        }
        return unavailable
    }

    private func switching<Value: Sendable>(
        _ body: () async throws(ServerConnectionError) -> AccountSwitchOutcome<Value>
    ) async throws(SyncError) -> Value {
        switch try await asked(nil, body) {
        case .success(let value): return value
        case .refused(let refusal): throw SyncError(refusal)
        }
    }
}

extension SyncError {
    init(_ refusal: AccountSwitchRefusal) {
        let code: Code =
            switch refusal {
            case .accountInUse: .accountInUse
            case .owningAccountRequired: .owningAccountRequired
            case .grantInvalid: .deviceGrantInvalid
            case .grantTooYoung: .deviceGrantTooYoung
            case .freshSignInRequired: .freshSignInRequired
            case .undoExpired: .undoExpired
            case .inProgress: .switchInProgress
            case .oldAccountProofRequired: .oldAccountProofRequired
            // A caller with another epoch must also check again.
            case .unknown, .staleEpoch: .noAccountSwitch
            case .confirmed: .switchConfirmed
            }
        self.init(code)
        if case .grantTooYoung(let time) = refusal { usableFrom = time }
    }
}

extension SyncServer.AccountSwitch {
    init?(_ state: ClientState) {
        guard let account = state.account[AccountState.only], let phase = account.phase else { return nil }
        self.phase =
            switch phase {
            case .proposed: .proposed
            case .confirming: .confirming
            case .reuploading: .reuploading
            }
        isServerMoving = account.mayBeMovedByServer && phase == .reuploading
        isPaused = account.isPaused
        done = state.reuploads.count(at: .status(.done))
        total = state.reuploads.count
        unavailable = state.reuploads.rows(at: .status(.unavailable)).map(\.fileUUID)
        superseded = state.reuploads.rows(at: .status(.superseded)).map(\.fileUUID)
        failed = state.reuploads.rows(at: .status(.failed)).map(\.fileUUID)
    }
}

// Files that the server itself moves to the new account's storage, while the user can still use the former account.
extension SyncServer {
    /// The server's progress in moving the files of a switch of accounts.
    public struct ServerMove: Sendable, Hashable {
        /// The state of the move.
        public enum State: Sendable, Hashable {
            /// The server is moving files, one at a time.
            case moving
            /// It has tried every file.
            case done
            /// It can no longer read the former account.
            case failed
            /// The switch was finished, or another one confirmed.
            case ended
        }

        /// The state of the move.
        public let state: State
        /// The number of files that were moved.
        public let numberMoved: Int
        /// Their size in bytes.
        public let bytesMoved: Int64
        /// The number of files that the server could not move, and leaves to devices.
        public let numberFailed: Int
    }

    /// Like ``confirmAccountSwitch()``, and asks the server to move the files itself. While it moves them, the user's
    /// devices upload none of the files; afterwards, they upload the remaining ones.
    ///
    /// May be repeated: if the reply was lost, ``accountSwitch`` has the phase `confirming`.
    /// - Parameter oldAccount: Fresh credentials of the former account.
    /// - Returns: Whether the server moves the files. If it cannot read the former storage, or does not move files,
    ///   this device uploads them.
    /// - Throws: `oldAccountProofRequired` if these are not credentials of that account: nothing has changed; as
    ///   ``confirmAccountSwitch()``.
    public func confirmAccountSwitch(
        movingContentsFrom oldAccount: Credentials
    ) async throws(SyncError) -> Bool {
        try await confirmAccountSwitch(movingContentsFrom: Optional(oldAccount))
    }

    /// Asks the server for its progress in moving the files of the switch, regardless of which device confirmed it. If
    /// the server is no longer moving them, this device starts to upload the remaining files.
    /// - Returns: Nil if the server has not moved files of the switch.
    /// - Throws: `networkError` and others.
    public func accountSwitchServerMove() async throws(SyncError) -> ServerMove? {
        let connection = try requireConnection()
        let switchID = driver.state.withLock { $0.machine.account?.reuploadingSwitchID }
        let status = try await asked { () throws(ServerConnectionError) in
            try await connection.accountSwitchStatus(of: switchID)
        }
        try driver.change { machine throws(SyncError) in
            ((), machine.noteServerMove(isUnderWay: status.isMoveUnderWay, at: driver.now))
        }
        return status?.serverMove.map { ServerMove($0) }
    }
}

extension SyncServer.ServerMove {
    init(_ move: GetAccountSwitchStatusResponse.ServerMove) {
        state =
            switch move.state {
            case .moving: .moving
            case .done: .done
            case .failed: .failed
            case .ended: .ended
            }
        numberMoved = Int(move.numberMoved)
        bytesMoved = move.bytesMoved
        numberFailed = Int(move.numberFailed)
    }
}
