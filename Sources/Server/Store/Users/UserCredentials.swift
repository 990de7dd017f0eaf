import MariaDB
public import SyncProtocol

/// A user's sealed tokens.
public struct SealedCredentials: Equatable, Sendable {
    public var record: [UInt8]
    /// Increases with each change; see ``StoreSession/storeCredentials(_:of:ifVersion:)``.
    public var version: Int64
}

/// What is stored about a user's tokens, and what is known about them without opening them.
public struct CredentialRow: Equatable, Sendable {
    /// The sealed tokens; `nil` if none are stored.
    public var record: [UInt8]?
    /// An earlier record that could not be opened when the current one, without a refresh token, replaced it.
    public var formerRecord: [UInt8]?
    /// Increases with each change, including the first tokens.
    public var version: Int64
    /// When the person was last found to have withdrawn consent at the provider.
    public var consentWithdrawnAt: WireDate?
    /// The identity's account to which they belong.
    public var accountEpoch: AccountEpoch
}

/// The replacement of a user's stored tokens.
public struct NewCredentials: Equatable, Sendable {
    /// What happens to the replaced record.
    public enum Replaced: String, Sendable {
        /// It is deleted; a record that was set aside before is kept.
        case forgotten
        /// It is set aside, unless an older one is already set aside.
        case setAside
        /// It is deleted, and so is a record that was set aside.
        case obsolete
    }

    public var record: [UInt8]
    /// Whether the storage can be used while its owner is away; `nil` if that is unknown.
    public var hasOfflineAccess: Bool?
    public var replaced: Replaced
    /// Set if the person has withdrawn consent; otherwise the stored value is kept.
    public var consentWithdrawnAt: WireDate?

    public init(
        _ record: [UInt8], hasOfflineAccess: Bool?, replaced: Replaced = .forgotten, consentWithdrawnAt: WireDate? = nil
    ) {
        self.record = record
        self.hasOfflineAccess = hasOfflineAccess
        self.replaced = replaced
        self.consentWithdrawnAt = consentWithdrawnAt
    }
}

extension StoreSession {
    /// A user's sealed tokens; `nil` if there is no such user or none are stored.
    public mutating func credentials(of userID: UserID) throws(StoreError) -> SealedCredentials? {
        guard let row = try credentialRow(of: userID), let record = row.record else { return nil }
        return SealedCredentials(record: record, version: row.version)
    }

    /// Everything stored about a user's tokens; `nil` if there is no such user.
    public mutating func credentialRow(of userID: UserID) throws(StoreError) -> CredentialRow? {
        try first(
            """
            SELECT credentials, former_credentials, credentials_version, consent_withdrawn_at, account_epoch
              FROM users
             WHERE user_id = ?
            """, [.int(userID.rawValue)]
        ) { row throws(StoreError) in
            CredentialRow(
                record: try row.optionalData("credentials"), formerRecord: try row.optionalData("former_credentials"),
                version: try row.number("credentials_version"),
                consentWithdrawnAt: try row.optionalDate("consent_withdrawn_at"),
                accountEpoch: AccountEpoch(try row.number("account_epoch")))
        }
    }

    /// Replaces a user's sealed tokens.
    ///
    /// - Parameter version: if given, nothing is changed unless the stored version is still this one, so that of two
    ///   processes that renewed a token at once only one result is accepted.
    /// - Returns: whether the tokens were replaced.
    @discardableResult
    public mutating func storeCredentials(
        _ record: [UInt8], of userID: UserID, ifVersion version: Int64? = nil
    ) throws(StoreError) -> Bool {
        try storeCredentials(NewCredentials(record, hasOfflineAccess: nil), of: userID, ifVersion: version)
    }

    /// The same, together with the facts about the tokens that must be known without opening them.
    @discardableResult
    public mutating func storeCredentials(
        _ new: NewCredentials, of userID: UserID, ifVersion version: Int64? = nil
    ) throws(StoreError) -> Bool {
        // Assignments are evaluated from left to right: the first one sees the replaced record.
        try execute(
            """
            UPDATE users
               SET former_credentials = CASE ? WHEN 'setAside' THEN COALESCE(former_credentials, credentials)
                                               WHEN 'obsolete' THEN NULL
                                               ELSE former_credentials END,
                   credentials = ?, credentials_version = credentials_version + 1, has_refresh_token = ?,
                   consent_withdrawn_at = COALESCE(?, consent_withdrawn_at)
             WHERE user_id = ?
               AND (? IS NULL OR credentials_version = ?)
            """,
            [
                .text(new.replaced.rawValue), .bytes(new.record), .int(orNull: new.hasOfflineAccess.map { $0 ? 1 : 0 }),
                .date(orNull: new.consentWithdrawnAt), .int(userID.rawValue), .int(orNull: version),
                .int(orNull: version),
            ]) == 1
    }
}

// MARK: Lease for renewing tokens

extension StoreSession {
    /// Acquires the lease for renewing a user's tokens for `owner`; in a separate transaction, so that all see it.
    ///
    /// The holder of the lease asks the provider, the others wait for the result. It expires by itself, so that the
    /// death of its holder only costs time. Times are from the database's clock.
    /// - Returns: whether `owner` has the lease now.
    public mutating func takeRefreshLease(
        of userID: UserID, for owner: String, seconds: Int
    ) throws(StoreError) -> Bool {
        try execute(
            """
            UPDATE users
               SET refresh_lease_owner = ?, refresh_lease_until = UTC_TIMESTAMP(3) + INTERVAL ? SECOND
             WHERE user_id = ?
               AND (refresh_lease_until IS NULL OR refresh_lease_until <= UTC_TIMESTAMP(3))
            """,
            [.text(owner), .int(Int64(seconds)), .int(userID.rawValue)]) == 1
    }

    /// Releases the lease, if it is still `owner`'s.
    public mutating func endRefreshLease(of userID: UserID, for owner: String) throws(StoreError) {
        try execute(
            """
            UPDATE users
               SET refresh_lease_owner = NULL, refresh_lease_until = NULL
             WHERE user_id = ?
               AND refresh_lease_owner = ?
            """,
            [.int(userID.rawValue), .text(owner)])
    }
}

// MARK: Exchanged codes

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
