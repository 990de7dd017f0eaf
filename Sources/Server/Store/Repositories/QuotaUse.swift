internal import MariaDB
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
