internal import SyncEngine
internal import SyncProtocol
public import SyncServerConnection
internal import Synchronization

// Files that the server itself moves to the storage of the new account, while the user can still use the former one.
extension SyncServer {
    /// How far the server is with moving the files of a switch of accounts.
    public struct ServerMove: Sendable, Hashable {
        /// Whether it goes on.
        public enum State: Sendable, Hashable {
            /// The server moves one file after the other.
            case moving
            /// It has tried every file.
            case done
            /// It cannot read the former account any more.
            case failed
            /// The switch was finished, or another one confirmed.
            case ended
        }

        /// Whether it goes on.
        public let state: State
        /// The number of files that were moved.
        public let numberMoved: Int
        /// Their size in bytes.
        public let bytesMoved: Int64
        /// The number of files that the server could not move, and leaves to devices.
        public let numberFailed: Int
    }

    /// As ``confirmAccountSwitch()``, and asks the server to move the files itself. While it does, the devices of the user
    /// upload none of their files again; afterwards, they upload what it has left.
    ///
    /// May be repeated: if the reply was lost, ``accountSwitch`` is in the phase `confirming`.
    /// - Parameter oldAccount: Fresh credentials of the account that is left.
    /// - Returns: Whether the server moves the files. If not, since it cannot read the former storage, or moves none at
    ///   all, they are uploaded from here.
    /// - Throws: `oldAccountProofRequired` if these are not credentials of that account: nothing has changed; as
    ///   ``confirmAccountSwitch()``.
    public func confirmAccountSwitch(
        movingContentsFrom oldAccount: Credentials
    ) async throws(SyncError) -> Bool {
        try await confirmAccountSwitch(movingContentsFrom: Optional(oldAccount))
    }

    /// Asks the server how far it is with moving the files of the switch, on whatever device that was confirmed. If it is
    /// not moving them any more, this device starts to upload what is left.
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
