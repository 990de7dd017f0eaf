internal import MariaDB
public import SyncProtocol

/// What became of a deed that is limited to a number in an hour.
public enum QuotaUse: Equatable, Sendable {
    case granted
    /// The account has done it as often as it may; undo the transaction.
    case exhausted(retryAfter: Duration)
}

extension StoreSession {
    /// Counts a deed of an account in the present hour; the first one after an hour's end begins another hour.
    ///
    /// Call in the transaction that does it: undone, it has not counted. The account's row is locked from here on, so that
    /// of two deeds at once only one is the last that is granted. One row is read and written, whatever others do.
    public mutating func use(
        _ quota: Quota, by accountType: AccountType, _ providerUserID: String, limit: Int
    ) throws(StoreError) -> QuotaUse {
        let key: [Value] = [.text(accountType.rawValue), .text(providerUserID), .text(quota.rawValue)]
        // Assignments are made from left to right: window_end is still the former one where uses is set.
        try execute(
            """
            INSERT INTO quota_windows (account_hash, quota, window_end, uses)
            VALUES (UNHEX(SHA2(CONCAT(?, ' ', ?), 256)), ?, UTC_TIMESTAMP() + INTERVAL 1 HOUR, 1)
                ON DUPLICATE KEY UPDATE
                   uses = IF(window_end <= UTC_TIMESTAMP(), 1, uses + 1),
                   window_end = IF(window_end <= UTC_TIMESTAMP(), UTC_TIMESTAMP() + INTERVAL 1 HOUR, window_end)
            """, key)
        let standing = try first(
            """
            SELECT uses, TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), window_end)
              FROM quota_windows
             WHERE account_hash = UNHEX(SHA2(CONCAT(?, ' ', ?), 256))
               AND quota = ?
            """, key
        ) { row throws(StoreError) in (uses: try row.number(0), seconds: try row.number(1)) }
        guard let standing, standing.uses > Int64(limit) else { return .granted }
        return .exhausted(retryAfter: .seconds(max(1, standing.seconds)))
    }

    /// Forgets hours that are over, at most `limit` of them.
    /// - Returns: how many were forgotten.
    public mutating func forgetQuotaWindows(limit: Int) throws(StoreError) -> Int {
        try execute(
            "DELETE FROM quota_windows WHERE window_end < UTC_TIMESTAMP() ORDER BY window_end LIMIT ?",
            [.int(Int64(limit))])
    }

    // MARK: What a user has

    /// How many groups the user is a member of.
    public mutating func groupCount(of userID: UserID) throws(StoreError) -> Int {
        try count("SELECT COUNT(*) FROM memberships WHERE user_id = ?", [.int(userID.rawValue)])
    }

    /// How many invitations the user has made that can still be redeemed.
    public mutating func openInvitationCount(by userID: UserID, at now: WireDate) throws(StoreError) -> Int {
        try count(
            "SELECT COUNT(*) FROM invitations WHERE inviting_user_id = ? AND expires_at > ?",
            [.int(userID.rawValue), .date(now)])
    }

    /// How many changes of the user wait for their commit, and how many bytes of metadata are in them.
    public mutating func stagedSize(of userID: UserID) throws(StoreError) -> (changes: Int, bytes: Int) {
        try first(
            "SELECT COUNT(*), SUM(app_metadata_bytes) FROM staged_changes WHERE user_id = ?", [.int(userID.rawValue)]
        ) { row throws(StoreError) in (Int(try row.number(0)), Int(try row.optionalNumber(1) ?? 0)) } ?? (0, 0)
    }
}
