import MariaDB
public import SyncProtocol

/// The outcome of an action that is rate-limited per hour.
public enum QuotaUse: Equatable, Sendable {
    case granted
    /// The account has used up its limit; roll back the transaction.
    case exhausted(retryAfter: Duration)
}

extension StoreSession {
    /// Counts an action of an account in the current hour; the first one after the end of an hour begins another hour.
    ///
    /// Call in the transaction that performs the action: if it is rolled back, the action is not counted. The account's
    /// row is locked from here on, so that of two concurrent actions only one gets the last permit. Reads and writes
    /// one row, independently of other accounts.
    public mutating func use(
        _ quota: Quota, by accountType: AccountType, _ providerUserID: String, limit: Int
    ) throws(StoreError) -> QuotaUse {
        let key: [Value] = [.text(accountType.rawValue), .text(providerUserID), .text(quota.rawValue)]
        // Assignments are evaluated from left to right: window_end still has its old value where uses is set.
        try execute(
            """
            INSERT INTO quota_windows (account_hash, quota, window_end, uses)
            VALUES (\(SQL.accountHash("?", "?")), ?, UTC_TIMESTAMP() + INTERVAL 1 HOUR, 1)
                ON DUPLICATE KEY UPDATE
                   uses = IF(window_end <= UTC_TIMESTAMP(), 1, uses + 1),
                   window_end = IF(window_end <= UTC_TIMESTAMP(), UTC_TIMESTAMP() + INTERVAL 1 HOUR, window_end)
            """, key)
        let standing = try first(
            """
            SELECT uses, TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), window_end)
              FROM quota_windows
             WHERE account_hash = \(SQL.accountHash("?", "?"))
               AND quota = ?
            """, key
        ) { row throws(StoreError) in (uses: try row.number(0), seconds: try row.number(1)) }
        guard let standing, standing.uses > Int64(limit) else { return .granted }
        return .exhausted(retryAfter: .seconds(max(1, standing.seconds)))
    }

    /// Deletes counters of past hours, at most `limit` of them.
    /// - Returns: how many were deleted.
    public mutating func forgetQuotaWindows(limit: Int) throws(StoreError) -> Int {
        try execute(
            "DELETE FROM quota_windows WHERE window_end < UTC_TIMESTAMP() ORDER BY window_end LIMIT ?",
            [.int(Int64(limit))])
    }

    // MARK: Current use

    /// How many groups the user is a member of.
    public mutating func groupCount(of userID: UserID) throws(StoreError) -> Int {
        try count("SELECT COUNT(*) FROM memberships WHERE user_id = ?", [.int(userID.rawValue)])
    }

    /// How many open invitations the user has created.
    public mutating func openInvitationCount(by userID: UserID, at now: WireDate) throws(StoreError) -> Int {
        try count(
            "SELECT COUNT(*) FROM invitations WHERE inviting_user_id = ? AND expires_at > ?",
            [.int(userID.rawValue), .date(now)])
    }

    /// How many changes the user has staged, and how many bytes of metadata they contain.
    public mutating func stagedSize(of userID: UserID) throws(StoreError) -> (changes: Int, bytes: Int) {
        try first(
            "SELECT COUNT(*), SUM(app_metadata_bytes) FROM staged_changes WHERE user_id = ?", [.int(userID.rawValue)]
        ) { row throws(StoreError) in (Int(try row.number(0)), Int(try row.optionalNumber(1) ?? 0)) } ?? (0, 0)
    }
}

// MARK: Rejected passwords

/// A limit on passwords rejected by servers whose addresses users enter: such a server slows down or locks out everyone
/// behind an address that sends wrong passwords, and all users of this server share one address.
public struct PasswordTryLimit: Sendable {
    /// What the limit counts; part of the key.
    public enum Scope: String, Sendable {
        /// Of one user name at one server.
        case userName = "passwordsOfUserName"
        /// Of user names at one server that do not belong to users here.
        case strangers = "passwordsOfStrangers"
        /// Of user names at one server that belong to users here.
        case users = "passwordsOfUsers"
        /// Passwords that this server invented, at one server.
        case madeUp = "passwordsMadeUp"
    }

    public let scope: Scope
    /// SHA-256 of the counted subject.
    public let key: [UInt8]
    /// Attempts allowed at once; one more is allowed after each ``intervalSeconds``.
    public let burst: Int64
    public let intervalSeconds: Int64

    public init(_ scope: Scope, _ key: [UInt8], burst: Int64, intervalSeconds: Int64) {
        self.scope = scope
        self.key = key
        self.burst = burst
        self.intervalSeconds = intervalSeconds
    }
}

/// The outcome of reserving attempts.
public enum PasswordTry: Equatable, Sendable {
    case granted
    /// One of the limits is reached; roll back the transaction.
    case exhausted(retryAfter: Duration)
}

// The rows are those of quotas: a hash, a word, and a time. The time is when all attempts are available again (GCRA,
// ITU-T I.371), so that no half hour, wherever it begins, has more than the burst and the attempts that become
// available within it.
extension StoreSession {
    /// Reserves an attempt of each of `limits`, in this order. The examined rows stay locked until the transaction
    /// ends.
    public mutating func take(_ limits: [PasswordTryLimit]) throws(StoreError) -> PasswordTry {
        for limit in limits {
            let seconds = try secondsUntilFull(limit, locked: true)
            let excess = seconds + limit.intervalSeconds - limit.burst * limit.intervalSeconds
            guard excess <= 0 else { return .exhausted(retryAfter: .seconds(excess)) }
            try execute(
                """
                INSERT INTO quota_windows (account_hash, quota, window_end, uses)
                VALUES (?, ?, UTC_TIMESTAMP() + INTERVAL ? SECOND, 1)
                    ON DUPLICATE KEY UPDATE
                       window_end = GREATEST(window_end, UTC_TIMESTAMP()) + INTERVAL ? SECOND
                """,
                [
                    .bytes(limit.key), .text(limit.scope.rawValue), .int(limit.intervalSeconds),
                    .int(limit.intervalSeconds),
                ])
        }
        return .granted
    }

    /// Returns attempts: the password was right, or no server has checked it.
    public mutating func giveBack(_ limits: [PasswordTryLimit]) throws(StoreError) {
        for limit in limits {
            try execute(
                """
                UPDATE quota_windows
                   SET window_end = window_end - INTERVAL ? SECOND
                 WHERE account_hash = ?
                   AND quota = ?
                """, [.int(limit.intervalSeconds), .bytes(limit.key), .text(limit.scope.rawValue)])
        }
    }

    /// How many attempts of a limit are used and not available again yet.
    public mutating func triesTaken(of limit: PasswordTryLimit) throws(StoreError) -> Int64 {
        (try secondsUntilFull(limit, locked: false) + limit.intervalSeconds - 1) / limit.intervalSeconds
    }

    private mutating func secondsUntilFull(_ limit: PasswordTryLimit, locked: Bool) throws(StoreError) -> Int64 {
        let lock: SQL = locked ? "FOR UPDATE" : ""
        let seconds = try first(
            """
            SELECT TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), window_end)
              FROM quota_windows
             WHERE account_hash = ?
               AND quota = ?
               \(lock)
            """, [.bytes(limit.key), .text(limit.scope.rawValue)]
        ) { row throws(StoreError) in try row.number(0) }
        return max(0, seconds ?? 0)
    }

    /// Whether a server was recently found to reject invalid passwords.
    public mutating func checksPasswords(_ key: [UInt8]) throws(StoreError) -> Bool {
        try first(
            "SELECT 1 FROM quota_windows WHERE account_hash = ? AND quota = ? AND window_end > UTC_TIMESTAMP()",
            [.bytes(key), .text(Self.checkedWord)]
        ) { _ in true } ?? false
    }

    /// Records that a server rejects invalid passwords.
    /// - Parameter seconds: for how long the record is valid.
    public mutating func recordPasswordCheck(_ key: [UInt8], seconds: Int64) throws(StoreError) {
        try execute(
            """
            INSERT INTO quota_windows (account_hash, quota, window_end, uses)
            VALUES (?, ?, UTC_TIMESTAMP() + INTERVAL ? SECOND, 1)
                ON DUPLICATE KEY UPDATE window_end = VALUES(window_end)
            """, [.bytes(key), .text(Self.checkedWord), .int(seconds)])
    }

    private static let checkedWord = "passwordsChecked"
}
