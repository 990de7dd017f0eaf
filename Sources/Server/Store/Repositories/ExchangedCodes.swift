internal import MariaDB
public import SyncProtocol

/// Who may exchange an authorization code, or the result of the exchange.
public enum CodeReservation: Equatable, Sendable {
    /// Only the caller may send the code to its provider.
    case reserved
    /// Another request is exchanging the code now.
    case underWay
    /// The code was exchanged; the sealed result.
    case exchanged([UInt8])
    /// The code was sent to the provider, and there is no result: it was rejected, its result was lost, or its user has
    /// been removed.
    case spent
}

/// Results of exchanged authorization codes: a code works once, but a request may arrive twice.
extension StoreSession {
    /// The sealed result of an authorization code that was exchanged before.
    public mutating func exchangedCode(_ hash: [UInt8]) throws(StoreError) -> [UInt8]? {
        try first("SELECT credentials FROM exchanged_codes WHERE code_hash = ?", [.bytes(hash)]) { row in
            row.optionalBytes(0)
        } ?? nil
    }

    /// Reserves the exchange of an account's code for `owner`, unless another request has exchanged it or is doing so.
    ///
    /// Call in a separate transaction: the committed row is the lease. If `owner` dies, it is unknown whether the code
    /// was used, so it counts as spent: a client must not use a code more than once (RFC 6749, section 4.1.2). Times
    /// are from the database's clock.
    public mutating func reserveCode(
        _ hash: [UInt8], of accountType: AccountType, _ providerUserID: String, for owner: String, seconds: Int,
        at now: WireDate
    ) throws(StoreError) -> CodeReservation {
        try execute(
            """
            INSERT INTO exchanged_codes (code_hash, account_hash, lease_owner, lease_until, exchanged_at)
            VALUES (?, \(SQL.accountHash("?", "?")), ?, UTC_TIMESTAMP(3) + INTERVAL ? SECOND, ?)
                ON DUPLICATE KEY UPDATE code_hash = code_hash
            """,
            [
                .bytes(hash), .text(accountType.rawValue), .text(providerUserID), .text(owner), .int(Int64(seconds)),
                .date(now),
            ])
        return try first(
            """
            SELECT credentials, lease_owner <=> ? AS is_own,
                   COALESCE(lease_until > UTC_TIMESTAMP(3), FALSE) AS is_leased
              FROM exchanged_codes
             WHERE code_hash = ?
            """,
            [.text(owner), .bytes(hash)]
        ) { row throws(StoreError) -> CodeReservation in
            if let credentials = try row.optionalData("credentials") { return .exchanged(credentials) }
            guard try row.flag("is_leased") else { return .spent }
            return try row.flag("is_own") ? .reserved : .underWay
        } ?? .spent
    }

    /// Stores the sealed result of a code and ends the lease; without a result the code is spent.
    ///
    /// - Returns: `false` if `owner` no longer holds the lease, which happens if the user is removed in the meantime;
    ///   then nothing was stored.
    @discardableResult
    public mutating func endCodeExchange(
        _ hash: [UInt8], by owner: String, credentials: [UInt8]?
    ) throws(StoreError) -> Bool {
        try execute(
            """
            UPDATE exchanged_codes
               SET credentials = ?, lease_owner = NULL, lease_until = NULL
             WHERE code_hash = ?
               AND lease_owner = ?
            """,
            [.bytes(orNull: credentials), .bytes(hash), .text(owner)]) == 1
    }

    /// Ends a lease when the provider certainly has not received the code: it may still be exchanged.
    public mutating func releaseCode(_ hash: [UInt8], by owner: String) throws(StoreError) {
        try execute(
            "DELETE FROM exchanged_codes WHERE code_hash = ? AND lease_owner = ?", [.bytes(hash), .text(owner)])
    }

    /// Marks all codes of a user's account spent: their results are deleted with the user.
    mutating func spendCodes(of userID: UserID) throws(StoreError) {
        try execute(
            """
            UPDATE exchanged_codes c
              JOIN users u ON c.account_hash = \(SQL.accountHash("u.account_type", "u.provider_user_id"))
               SET c.credentials = NULL, c.lease_owner = NULL, c.lease_until = NULL
             WHERE u.user_id = ?
            """, [.int(userID.rawValue)])
    }

    /// Deletes results that are older than `time`, at most `limit` of them.
    /// - Returns: how many were deleted.
    public mutating func forgetExchangedCodes(before time: WireDate, limit: Int) throws(StoreError) -> Int {
        try execute(
            "DELETE FROM exchanged_codes WHERE exchanged_at < ? ORDER BY exchanged_at LIMIT ?",
            [.date(time), .int(Int64(limit))])
    }
}
