internal import MariaDB
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
    /// An earlier record that could not be opened when the present one, without a refresh token, replaced it.
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
        /// It is deleted; a record that was set aside before stays.
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
    /// Set if the person has withdrawn consent; otherwise the stored value stays.
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
