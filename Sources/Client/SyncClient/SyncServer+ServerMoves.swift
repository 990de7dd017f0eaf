internal import SyncEngine
internal import SyncProtocol
public import SyncServerConnection
internal import Synchronization

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
