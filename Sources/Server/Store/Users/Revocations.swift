import MariaDB
public import SyncProtocol

/// The grant of a removed user, until it is revoked at the provider.
public struct AbandonedGrant: Equatable, Sendable {
    public var accountType: AccountType
    /// The sealed credentials, as they were stored with the user.
    public var record: [UInt8]
    /// When the user was removed.
    public var abandonedAt: WireDate
}

/// The state of the grant of an account that may sign up again.
public enum PendingRevocation: Equatable, Sendable {
    case none
    /// The provider has not been asked yet: the account may keep its grant, sealed for the user with that number.
    case waiting([UInt8], UserID)
    /// The grant is being revoked now.
    case underWay
}

/// Revocations are rows of the outbox. As long as the provider has not been asked, the account may sign up again and
/// keep its grant; that, and the start of the revocation, are committed changes to the same row, so they are
/// serialized.
extension StoreSession {
    /// Schedules the revocation of a user's grant at the provider for ``accessSeconds`` from now, when nothing else
    /// needs the grant. Until then the account may sign up again as if nothing had happened.
    mutating func addRevocation(of userID: UserID, at now: WireDate) throws(StoreError) {
        try execute(
            """
            INSERT INTO outbox
                   (kind, user_id, account_type, account_hash, credentials, available_at, created_at, request_id)
            SELECT 'revokeGrant', user_id, account_type,
                   \(SQL.accountHash("account_type", "provider_user_id")), credentials, ?, ?, ?
              FROM users
             WHERE user_id = ?
               AND credentials IS NOT NULL
            """,
            [
                .date(WireDate(secondsSince1970: now.secondsSince1970 + Self.accessSeconds)), .date(now),
                requestValue, .int(userID.rawValue),
            ])
    }

    /// Whether the grant of an account without a user is about to be revoked.
    public mutating func pendingRevocation(
        of accountType: AccountType, _ providerUserID: String
    ) throws(StoreError) -> PendingRevocation {
        try first(
            """
            SELECT credentials, user_id, COALESCE(asked_until > UTC_TIMESTAMP(3), FALSE) AS is_being_asked
              FROM outbox
             WHERE account_hash = \(SQL.accountHash("?", "?"))
             ORDER BY is_being_asked DESC, outbox_id DESC
             LIMIT 1
            """,
            [.text(accountType.rawValue), .text(providerUserID)]
        ) { row throws(StoreError) -> PendingRevocation in
            if try row.flag("is_being_asked") { return .underWay }
            return .waiting(try row.optionalData("credentials") ?? [], UserID(try row.number("user_id")))
        } ?? .none
    }

    /// Cancels the revocations of an account that has a user again. Call in the transaction that adds the user.
    ///
    /// - Parameter isGrantKept: whether the user continues with a grant that was waiting to be revoked.
    /// - Returns: `false` if the provider is being asked, or has been asked, to revoke the grant to be kept: then the
    ///   new user's tokens are invalid or about to become so.
    public mutating func cancelRevocations(
        of accountType: AccountType, _ providerUserID: String, isGrantKept: Bool
    ) throws(StoreError) -> Bool {
        let account: [Value] = [.text(accountType.rawValue), .text(providerUserID)]
        let dropped = try execute(
            """
            DELETE FROM outbox
             WHERE account_hash = \(SQL.accountHash("?", "?"))
               AND (asked_until IS NULL OR asked_until <= UTC_TIMESTAMP(3))
            """, account)
        if isGrantKept && dropped == 0 { return false }
        return try pendingRevocation(of: accountType, providerUserID) == .none
    }

    /// Records that the provider is about to be asked; in a separate transaction, so that all see it.
    ///
    /// - Parameter seconds: the maximum duration, by the database's clock.
    /// - Returns: `false` if `leaseOwner` no longer holds the work, or it was dropped.
    public mutating func beginRevocation(
        _ item: OutboxID, by leaseOwner: String, seconds: Int
    ) throws(StoreError) -> Bool {
        try execute(
            """
            UPDATE outbox
               SET asked_until = UTC_TIMESTAMP(3) + INTERVAL ? SECOND
             WHERE outbox_id = ?
               AND lease_owner = ?
            """,
            [.int(Int64(seconds)), .int(item.rawValue), .text(leaseOwner)]) == 1
    }
}

extension AbandonedGrant {
    /// `nil` if a row of the outbox is incomplete.
    init?(_ row: borrowing Row) throws(StoreError) {
        guard let accountType: AccountType = try row.optionalWord("account_type"),
            let record = try row.optionalData("credentials")
        else { return nil }
        self.accountType = accountType
        self.record = record
        abandonedAt = try row.date("created_at")
    }
}
