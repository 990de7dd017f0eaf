import MariaDB
public import SyncProtocol

/// A switch of an identity from one account to another.
public struct AccountSwitch: Equatable, Sendable {
    /// The stored part of ``AccountSwitchState``.
    public enum State: String, Sendable {
        case proposed, reuploading, finished
    }

    public var id: AccountSwitchID
    public var userID: UserID
    public var state: State
    public var fromAccountType: AccountType
    public var toAccountType: AccountType
    public var toProviderUserID: String
    /// The epoch after the confirmation; `nil` before.
    public var accountEpoch: AccountEpoch?
    /// How many files had to wait for their bytes after the confirmation; `nil` before.
    public var filesTotal: Int64?
    /// When it expires unless it is confirmed.
    public var expiresAt: WireDate
    /// When it was confirmed; `nil` before.
    public var confirmedAt: WireDate?
    /// The switch that this one undoes.
    public var undoes: AccountSwitchID?

    /// Whether it is a switch to that account.
    public func leads(to accountType: AccountType, _ providerUserID: String) -> Bool {
        toAccountType == accountType && toProviderUserID == providerUserID
    }
}

extension AccountSwitch {
    /// The columns of `account_switches` that ``init(_:)`` reads.
    static let columns: ColumnList = [
        "switch_uuid", "user_id", "state", "from_account_type", "to_account_type", "to_provider_user_id",
        "account_epoch", "files_total", "expires_at", "confirmed_at", "undoes",
    ]

    init(_ row: borrowing Row) throws(StoreError) {
        id = try row.identifier("switch_uuid")
        userID = UserID(try row.number("user_id"))
        state = try row.word("state")
        fromAccountType = try row.word("from_account_type")
        toAccountType = try row.word("to_account_type")
        toProviderUserID = try row.string("to_provider_user_id")
        accountEpoch = try row.optionalNumber("account_epoch").map { AccountEpoch($0) }
        filesTotal = try row.optionalNumber("files_total")
        expiresAt = try row.date("expires_at")
        confirmedAt = try row.optionalDate("confirmed_at")
        undoes = try row.optionalIdentifier("undoes")
    }
}

/// The new account of a switch, with all the data that had to be obtained from its provider.
public struct ProposedAccount: Equatable, Sendable {
    public var accountType: AccountType
    public var providerUserID: String
    public var cloudFolderName: String?
    public var cloudFolderID: String?
    /// The sealed tokens; `nil` if the person has to sign in first.
    public var credentials: [UInt8]?
    public var hasOfflineAccess: Bool

    public init(
        accountType: AccountType, providerUserID: String, cloudFolderName: String?, cloudFolderID: String?,
        credentials: [UInt8]?, hasOfflineAccess: Bool
    ) {
        self.accountType = accountType
        self.providerUserID = providerUserID
        self.cloudFolderName = cloudFolderName
        self.cloudFolderID = cloudFolderID
        self.credentials = credentials
        self.hasOfflineAccess = hasOfflineAccess
    }
}

/// Which identity an account belongs to, if any.
public enum AccountBinding: Equatable, Sendable {
    case free
    case active(UserID)
    case retired(UserID)
}

extension StoreSession {
    /// The switch with that number; `nil` for an expired proposal.
    ///
    /// - Parameter locked: whether the row stays locked until the end of the transaction.
    public mutating func accountSwitch(
        _ id: AccountSwitchID, locked: Bool = false, at now: WireDate
    ) throws(StoreError) -> AccountSwitch? {
        let values: [Value] = [.text(id.rawValue), .date(now)]
        if locked {
            return try first(
                """
                SELECT \(AccountSwitch.columns)
                  FROM account_switches
                 WHERE switch_uuid = ?
                   AND (state <> 'proposed' OR expires_at > ?)
                   FOR UPDATE
                """, values, AccountSwitch.init(_:))
        }
        return try first(
            """
            SELECT \(AccountSwitch.columns)
              FROM account_switches
             WHERE switch_uuid = ?
               AND (state <> 'proposed' OR expires_at > ?)
            """, values, AccountSwitch.init(_:))
    }

    /// The newest switch of a user that has not expired.
    public mutating func newestSwitch(of userID: UserID, at now: WireDate) throws(StoreError) -> AccountSwitch? {
        try first(
            """
            SELECT \(AccountSwitch.columns)
              FROM account_switches
             WHERE user_id = ?
               AND (state <> 'proposed' OR expires_at > ?)
             ORDER BY begun_at DESC, state
             LIMIT 1
            """, [.int(userID.rawValue), .date(now)], AccountSwitch.init(_:))
    }

    /// The user's most recently confirmed switch, including undos.
    public mutating func newestConfirmedSwitch(of userID: UserID) throws(StoreError) -> AccountSwitch? {
        try first(
            """
            SELECT \(AccountSwitch.columns)
              FROM account_switches
             WHERE user_id = ?
               AND state <> 'proposed'
             ORDER BY account_epoch DESC
             LIMIT 1
            """, [.int(userID.rawValue)], AccountSwitch.init(_:))
    }

    /// The unexpired proposal of a user.
    public mutating func proposedSwitch(of userID: UserID, at now: WireDate) throws(StoreError) -> AccountSwitch? {
        try first(
            """
            SELECT \(AccountSwitch.columns)
              FROM account_switches
             WHERE user_id = ?
               AND state = 'proposed'
               AND expires_at > ?
             LIMIT 1
            """, [.int(userID.rawValue), .date(now)], AccountSwitch.init(_:))
    }

    /// The newest unexpired proposal to switch to an account.
    public mutating func switchProposed(
        to accountType: AccountType, _ providerUserID: String, at now: WireDate
    ) throws(StoreError) -> AccountSwitch? {
        try first(
            """
            SELECT \(AccountSwitch.columns)
              FROM account_switches
             WHERE to_account_type = ?
               AND to_provider_user_id = ?
               AND state = 'proposed'
               AND expires_at > ?
             ORDER BY begun_at DESC
             LIMIT 1
            """, [.text(accountType.rawValue), .text(providerUserID), .date(now)], AccountSwitch.init(_:))
    }

    /// The switch of a user whose files are being uploaded again.
    public mutating func switchInProgress(of userID: UserID) throws(StoreError) -> AccountSwitch? {
        try first(
            """
            SELECT \(AccountSwitch.columns)
              FROM account_switches
             WHERE user_id = ?
               AND state = 'reuploading'
             LIMIT 1
            """, [.int(userID.rawValue)], AccountSwitch.init(_:))
    }

    /// Which identity an account belongs to.
    public mutating func binding(
        of accountType: AccountType, _ providerUserID: String
    ) throws(StoreError) -> AccountBinding {
        if let user = try user(accountType, providerUserID, device: nil)?.user { return .active(user.userID) }
        let retired = try first(
            "SELECT user_id FROM retired_accounts WHERE account_type = ? AND provider_user_id = ?",
            [.text(accountType.rawValue), .text(providerUserID)]
        ) { row throws(StoreError) in UserID(try row.number(0)) }
        return retired.map { .retired($0) } ?? .free
    }

    /// Records a proposal, replacing expired ones of the user; nothing else changes. Call in a transaction that has
    /// locked the user.
    /// - Parameters:
    ///   - grant: SHA-256 of the device grant that begins it; `nil` if the operator undoes a switch.
    ///   - undone: the switch that this one undoes.
    public mutating func propose(
        _ id: AccountSwitchID, of user: UserRecord, to account: ProposedAccount, with grant: [UInt8]? = nil,
        undoing undone: AccountSwitchID? = nil, until: WireDate, at now: WireDate
    ) throws(StoreError) {
        try execute(
            "DELETE FROM account_switches WHERE user_id = ? AND state = 'proposed'", [.int(user.userID.rawValue)])
        let row: ColumnValues = [
            "switch_uuid": .text(id.rawValue), "user_id": .int(user.userID.rawValue),
            "state": .text(AccountSwitch.State.proposed.rawValue),
            "from_account_type": .text(user.accountType.rawValue),
            "to_account_type": .text(account.accountType.rawValue),
            "to_provider_user_id": .text(account.providerUserID),
            "cloud_folder_name": .text(orNull: account.cloudFolderName),
            "cloud_folder_id": .text(orNull: account.cloudFolderID), "credentials": .bytes(orNull: account.credentials),
            "has_refresh_token": .bool(account.hasOfflineAccess), "begun_at": .date(now), "expires_at": .date(until),
            "undoes": .text(orNull: undone?.rawValue),
        ]
        try execute(
            """
            INSERT INTO account_switches (\(row.columns), grant_created_at)
            VALUES (\(valuesOf: row.columns), (SELECT created_at FROM device_grants WHERE grant_hash = ?))
            """, row.values + [.bytes(orNull: grant)])
    }

    /// Withdraws a proposal.
    public mutating func withdraw(_ id: AccountSwitchID) throws(StoreError) {
        try execute(
            "DELETE FROM account_switches WHERE switch_uuid = ? AND state = 'proposed'", [.text(id.rawValue)])
    }

    /// Deletes expired proposals, with their tokens.
    /// - Returns: how many were deleted, at most `limit`.
    public mutating func forgetExpiredSwitches(at now: WireDate, limit: Int) throws(StoreError) -> Int {
        try execute(
            """
            DELETE FROM account_switches
             WHERE state = 'proposed'
               AND expires_at < ?
             ORDER BY expires_at
             LIMIT ?
            """, [.date(now), .int(Int64(limit))])
    }

    /// Deletes switches that were finished before `time`.
    /// - Returns: how many were deleted, at most `limit`.
    public mutating func forgetFinishedSwitches(before time: WireDate, limit: Int) throws(StoreError) -> Int {
        try execute(
            """
            DELETE FROM account_switches
             WHERE state = 'finished'
               AND expires_at < ?
               AND finished_at < ?
             ORDER BY expires_at
             LIMIT ?
            """, [.date(time), .date(time), .int(Int64(limit))])
    }

    // MARK: Effects of a switch

    /// How many living files a user owns, and their total bytes, as far as known.
    public mutating func ownedContents(of userID: UserID) throws(StoreError) -> (files: Int64, bytes: Int64) {
        try first(
            "SELECT COUNT(*), SUM(size_bytes) FROM files WHERE owning_user_id = ? AND NOT is_deleted",
            [.int(userID.rawValue)]
        ) { row throws(StoreError) in
            (files: try row.number(0), bytes: try row.optionalNumber(1) ?? 0)
        } ?? (files: 0, bytes: 0)
    }

    /// The users whose new files go to a user's storage, at most `limit` of them.
    public mutating func hostedUsers(
        of userID: UserID, limit: Int
    ) throws(StoreError) -> [BeginAccountSwitchResponse.HostedUser] {
        try all(
            """
            SELECT DISTINCT u.user_id, u.display_name
              FROM memberships m
              JOIN users u ON u.user_id = m.user_id
             WHERE m.owning_user_id = ?
             ORDER BY u.user_id
             LIMIT ?
            """, [.int(userID.rawValue), .int(Int64(limit))]
        ) { row throws(StoreError) in
            BeginAccountSwitchResponse.HostedUser(
                userId: UserID(try row.number("user_id")), name: try row.string("display_name"))
        }
    }

    /// How many files of a user wait for their bytes.
    public mutating func awaitingCount(of userID: UserID) throws(StoreError) -> Int64 {
        Int64(
            try count(
                """
                SELECT COUNT(*)
                  FROM files
                 WHERE owning_user_id = ?
                   AND object_id IS NULL
                   AND content_state = 'awaiting'
                   AND NOT is_deleted
                """, [.int(userID.rawValue)]))
    }

    /// The files of a user that wait for their bytes, in the order of the cursor, at most `limit` of them.
    public mutating func awaitingFiles(
        of userID: UserID, after cursor: AccountSwitchCursor?, limit: Int
    ) throws(StoreError) -> [(cursor: AccountSwitchCursor, file: GetAccountSwitchStatusResponse.AwaitingFile)] {
        try all(
            """
            SELECT f.sharing_group_id, f.file_uuid, f.file_group_uuid, f.file_version, f.mime_type, g.sharing_group_uuid
              FROM files f
              JOIN sharing_groups g ON g.sharing_group_id = f.sharing_group_id
             WHERE f.owning_user_id = ?
               AND f.object_id IS NULL
               AND f.content_state = 'awaiting'
               AND NOT f.is_deleted
               AND (f.sharing_group_id > ? OR f.sharing_group_id = ? AND f.file_uuid > ?)
             ORDER BY f.sharing_group_id, f.file_uuid
             LIMIT ?
            """,
            [
                .int(userID.rawValue), .int(cursor?.group ?? .min), .int(cursor?.group ?? .min),
                .text(cursor?.file.rawValue ?? ""), .int(Int64(limit)),
            ]
        ) { row throws(StoreError) in
            let file: FileUUID = try row.identifier("file_uuid")
            guard let mimeType = MIMEType(try row.string("mime_type")) else { throw try row.corrupt("mime_type") }
            return (
                cursor: AccountSwitchCursor(group: try row.number("sharing_group_id"), file: file),
                file: GetAccountSwitchStatusResponse.AwaitingFile(
                    fileUUID: file, sharingGroupUUID: try row.identifier("sharing_group_uuid"),
                    fileGroupUUID: try row.optionalIdentifier("file_group_uuid"),
                    fileVersion: FileVersion(try row.number32("file_version")), mimeType: mimeType,
                    owningUserId: userID)
            )
        }
    }
}
