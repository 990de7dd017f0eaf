internal import MariaDB
public import SyncProtocol

/// A request that the server itself moves contents, as far as possible.
public struct RequestedMove: Equatable, Sendable {
    /// The account that the user is about to leave; `nil` if it has nothing, or cannot be read. Moves out of accounts
    /// left earlier continue in either case.
    public var former: FormerAccount?

    public init(former: FormerAccount?) { self.former = former }
}

/// How the confirmation of a switch starts and ends moves.
extension StoreSession {
    /// Records where the files of a user are before they wait for their bytes, and how to reach the account that the
    /// user is about to leave. Call in the confirmation's transaction, before anything of the user is changed.
    mutating func beginMove(
        by accountSwitch: AccountSwitch, of user: UserRecord, with former: FormerAccount, at now: WireDate
    ) throws(StoreError) {
        let move: ColumnValues = [
            "switch_uuid": .text(accountSwitch.id.rawValue), "credentials": .bytes(former.credentials),
            "state": .text(AccountMove.State.moving.rawValue), "available_at": .date(now), "begun_at": .date(now),
        ]
        let isBegun = try execute(
            """
            INSERT INTO account_moves
                   (\(move.columns), user_id, account_epoch, account_type, provider_user_id, cloud_folder_name,
                    cloud_folder_id)
            SELECT \(valuesOf: move.columns), user_id, account_epoch, account_type, provider_user_id, cloud_folder_name,
                   cloud_folder_id
              FROM users
             WHERE user_id = ?
               AND credentials_version = ?
            """, move.values + [.int(user.userID.rawValue), .int(former.version)])
        guard isBegun == 1 else {
            throw .contention(.contention(code: 0, message: "the tokens were renewed meanwhile"))
        }
        try execute(
            """
            INSERT INTO moving_contents
                   (switch_uuid, sharing_group_id, file_uuid, file_version, object_id, object_revision, provider_hash,
                    available_at)
            SELECT ?, sharing_group_id, file_uuid, file_version, object_id, object_revision, provider_hash, ?
              FROM files
             WHERE owning_user_id = ?
               AND content_state = 'stored'
               AND NOT is_deleted
            """, [.text(accountSwitch.id.rawValue), .date(now), .int(user.userID.rawValue)])
    }

    /// Assigns to waiting files the objects that they had in an account to which their owner now returns. Call after
    /// they were marked as waiting, with the storage type of that account.
    /// - Returns: how many no longer wait.
    mutating func giveBack(
        to userID: UserID, by accountSwitch: AccountSwitch
    ) throws(StoreError) -> Int64 {
        Int64(
            try execute(
                """
                UPDATE files f
                  JOIN moving_contents m ON m.sharing_group_id = f.sharing_group_id AND m.file_uuid = f.file_uuid
                  JOIN account_moves a ON a.switch_uuid = m.switch_uuid
                  JOIN account_switches s ON s.switch_uuid = ?
                   SET f.object_id = m.object_id, f.object_revision = m.object_revision,
                       f.provider_hash = m.provider_hash, f.content_state = 'stored'
                 WHERE a.user_id = ?
                   AND a.account_type = ?
                   AND a.provider_user_id = ?
                   AND BINARY a.cloud_folder_name <=> BINARY s.cloud_folder_name
                   AND m.failure IS NULL
                   AND m.file_version = f.file_version
                   AND f.owning_user_id = a.user_id
                   AND f.content_state = 'awaiting'
                   AND NOT f.is_deleted
                """,
                [
                    .text(accountSwitch.id.rawValue), .int(userID.rawValue),
                    .text(accountSwitch.toAccountType.rawValue), .text(accountSwitch.toProviderUserID),
                ]))
    }

    /// Ends the moves out of an account that belongs to its owner again.
    mutating func endMoves(outOf accountSwitch: AccountSwitch, at now: WireDate) throws(StoreError) {
        let moves = try all(
            """
            SELECT switch_uuid
              FROM account_moves
             WHERE user_id = ?
               AND account_type = ?
               AND provider_user_id = ?
            """,
            [
                .int(accountSwitch.userID.rawValue), .text(accountSwitch.toAccountType.rawValue),
                .text(accountSwitch.toProviderUserID),
            ]
        ) { row throws(StoreError) in try row.identifier("switch_uuid", as: AccountSwitchID.self) }
        for move in moves { try endMove(move, as: .ended, at: now) }
    }

    /// Whether the server moves contents of a user, or has done so after that switch.
    public mutating func movesContents(
        of userID: UserID, since id: AccountSwitchID
    ) throws(StoreError) -> Bool {
        try first(
            "SELECT 1 FROM account_moves WHERE user_id = ? AND (switch_uuid = ? OR state = 'moving') LIMIT 1",
            [.int(userID.rawValue), .text(id.rawValue)]
        ) { _ in true } ?? false
    }

    /// An object that a user has in storage, to test whether the storage can be read.
    public mutating func anyObject(of userID: UserID) throws(StoreError) -> String? {
        try first(
            """
            SELECT object_id
              FROM files
             WHERE owning_user_id = ?
               AND object_id IS NOT NULL
               AND NOT is_deleted
             LIMIT 1
            """, [.int(userID.rawValue)]
        ) { row throws(StoreError) in try row.optionalString(0) } ?? nil
    }
}
