import MariaDB
public import SyncProtocol

/// The server's move of files after an account switch: it reads their bytes in the former account, and writes them into
/// the current one.
public struct AccountMove: Equatable, Sendable {
    public enum State: String, Sendable {
        case moving
        /// Every file was attempted.
        case done
        /// The former account can no longer be read.
        case failed
        /// The move was cancelled.
        case ended
    }

    /// The switch whose confirmation began it.
    public var switchID: AccountSwitchID
    /// The user as they were before the switch, with the former account and its epoch.
    public var former: UserRecord
    /// Sealed for the move; `nil` once it has ended.
    public var credentials: [UInt8]?
    public var state: State
    /// How often in succession it was postponed.
    public var attempts: Int
    public var lastError: String?
    public var filesMoved: Int64
    public var bytesMoved: Int64
    public var begunAt: WireDate
}

extension AccountMove {
    /// The columns of `account_moves` that ``init(_:)`` reads, of the alias `a`.
    static let columns: ColumnList = [
        "switch_uuid", "user_id", "account_epoch", "account_type", "provider_user_id", "cloud_folder_name",
        "cloud_folder_id", "credentials", "state", "attempts", "last_error", "files_moved", "bytes_moved", "begun_at",
    ]

    init(_ row: borrowing Row) throws(StoreError) {
        switchID = try row.identifier("switch_uuid")
        former = UserRecord(
            userID: UserID(try row.number("user_id")), accountType: try row.word("account_type"),
            providerUserID: try row.string("provider_user_id"), displayName: "",
            cloudFolderName: try row.optionalString("cloud_folder_name"),
            cloudFolderID: try row.optionalString("cloud_folder_id"),
            accountEpoch: AccountEpoch(try row.number("account_epoch")))
        credentials = try row.optionalData("credentials")
        state = try row.word("state")
        attempts = Int(try row.number("attempts"))
        lastError = try row.optionalString("last_error")
        filesMoved = try row.number("files_moved")
        bytesMoved = try row.number("bytes_moved")
        begunAt = try row.date("begun_at")
    }
}

/// What a move needs from the account that a confirmation leaves.
public struct FormerAccount: Equatable, Sendable {
    /// Its tokens, sealed for the move.
    public var credentials: [UInt8]
    /// The version of the user's stored tokens that these correspond to.
    public var version: Int64

    public init(credentials: [UInt8], version: Int64) {
        self.credentials = credentials
        self.version = version
    }
}

extension StoreSession {
    /// The move that a switch began; `nil` if it began none.
    public mutating func accountMove(of id: AccountSwitchID) throws(StoreError) -> AccountMove? {
        try first(
            """
            SELECT \(AccountMove.columns)
              FROM account_moves
             WHERE switch_uuid = ?
            """, [.text(id.rawValue)], AccountMove.init(_:))
    }

    /// Leases the move that has been due for longest; skips rows that another process is leasing. Call in a separate
    /// transaction.
    ///
    /// A user's moves take turns: a move is not due while another one of its user is leased.
    public mutating func leaseMove(
        by leaseOwner: String, until: WireDate, at now: WireDate
    ) throws(StoreError) -> AccountMove? {
        let due = try first(
            """
            SELECT \(AccountMove.columns, of: "a")
              FROM account_moves a
             WHERE a.state = 'moving'
               AND a.available_at <= ?
               AND NOT EXISTS (SELECT 1
                                 FROM account_moves b
                                WHERE b.user_id = a.user_id AND b.lease_owner IS NOT NULL AND b.available_at > ?)
             ORDER BY a.available_at
             LIMIT 1
               FOR UPDATE SKIP LOCKED
            """, [.date(now), .date(now)], AccountMove.init(_:))
        guard let due else { return nil }
        try execute(
            "UPDATE account_moves SET lease_owner = ?, available_at = ? WHERE switch_uuid = ?",
            [.text(leaseOwner), .date(until), .text(due.switchID.rawValue)])
        return due
    }

    /// Renews the lease of a move.
    /// - Returns: `false` if `leaseOwner` no longer holds it, or the move has ended.
    public mutating func renewMove(
        _ id: AccountSwitchID, by leaseOwner: String, until: WireDate
    ) throws(StoreError) -> Bool {
        try execute(
            """
            UPDATE account_moves
               SET available_at = ?
             WHERE switch_uuid = ?
               AND lease_owner = ?
               AND state = 'moving'
            """, [.date(until), .text(id.rawValue), .text(leaseOwner)])
        // A separate query, because a renewal within the same second changes no row.
        return try first(
            "SELECT 1 FROM account_moves WHERE switch_uuid = ? AND lease_owner = ? AND state = 'moving'",
            [.text(id.rawValue), .text(leaseOwner)]
        ) { _ in true } ?? false
    }

    /// Ends the lease of a move that continues at `time`.
    /// - Parameter error: why it is postponed, as a short word for the operator; `nil` if nothing failed.
    public mutating func postponeMove(
        _ id: AccountSwitchID, by leaseOwner: String, until time: WireDate, error: String? = nil
    ) throws(StoreError) {
        // Assignments take effect from left to right.
        try execute(
            """
            UPDATE account_moves
               SET available_at = ?, lease_owner = NULL, attempts = IF(? IS NULL, 0, attempts + 1), last_error = ?
             WHERE switch_uuid = ?
               AND lease_owner = ?
            """,
            [
                .date(time), .text(orNull: error), .text(orNull: error.map { String($0.prefix(255)) }),
                .text(id.rawValue), .text(leaseOwner),
            ])
    }

    /// Records that a file was moved.
    public mutating func countMoved(_ bytes: Int64, in id: AccountSwitchID) throws(StoreError) {
        try execute(
            "UPDATE account_moves SET files_moved = files_moved + 1, bytes_moved = bytes_moved + ? WHERE switch_uuid = ?",
            [.int(bytes), .text(id.rawValue)])
    }

    /// Ends a move: deletes its tokens, and its files that were not attempted.
    public mutating func endMove(
        _ id: AccountSwitchID, as state: AccountMove.State, error: String? = nil, at now: WireDate
    ) throws(StoreError) {
        try execute(
            """
            UPDATE account_moves
               SET state = ?, credentials = NULL, lease_owner = NULL, last_error = ?, ended_at = ?
             WHERE switch_uuid = ?
               AND state = 'moving'
            """,
            [
                .text(state.rawValue), .text(orNull: error.map { String($0.prefix(255)) }), .date(now),
                .text(id.rawValue),
            ])
        try execute(
            "DELETE FROM moving_contents WHERE switch_uuid = ? AND failure IS NULL", [.text(id.rawValue)])
    }

    /// Ends all moves of a user without files left to move.
    mutating func endMoves(
        of userID: UserID, as state: AccountMove.State = .ended, at now: WireDate
    ) throws(StoreError) {
        let user: [Value] = [.int(userID.rawValue)]
        try execute(
            """
            DELETE m
              FROM moving_contents m
              JOIN account_moves a ON a.switch_uuid = m.switch_uuid
             WHERE a.user_id = ?
            """, user)
        try execute(
            """
            UPDATE account_moves
               SET state = ?, credentials = NULL, lease_owner = NULL, ended_at = ?
             WHERE user_id = ?
               AND state = 'moving'
            """, [.text(state.rawValue), .date(now)] + user)
    }

    /// Deletes moves that ended before `time`, with their records of files that could not be moved.
    /// - Returns: how many were deleted, at most `limit`.
    public mutating func forgetEndedMoves(before time: WireDate, limit: Int) throws(StoreError) -> Int {
        try execute(
            """
            DELETE FROM account_moves
             WHERE ended_at < ?
             ORDER BY ended_at
             LIMIT ?
            """, [.date(time), .int(Int64(limit))])
    }

    /// The sealed tokens of a move, locked until the transaction ends; `nil` if it has ended.
    public mutating func lockCredentials(ofMove id: AccountSwitchID) throws(StoreError) -> [UInt8]? {
        try first(
            "SELECT credentials FROM account_moves WHERE switch_uuid = ? FOR UPDATE", [.text(id.rawValue)]
        ) { row throws(StoreError) in try row.optionalData("credentials") } ?? nil
    }

    /// Replaces the sealed tokens of a move with renewed ones, while it continues.
    public mutating func storeCredentials(_ record: [UInt8], ofMove id: AccountSwitchID) throws(StoreError) {
        try execute(
            "UPDATE account_moves SET credentials = ? WHERE switch_uuid = ? AND credentials IS NOT NULL",
            [.bytes(record), .text(id.rawValue)])
    }
}

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
