internal import MariaDB
public import SyncProtocol

extension StoreSession {
    /// The identity of a user and its epoch; `nil` if there is no such user.
    ///
    /// - Parameter fresh: becomes the identity of a user who has none yet.
    public mutating func identity(
        of userID: UserID, orElse fresh: UserAppID
    ) throws(StoreError) -> (id: UserAppID, epoch: AccountEpoch)? {
        if let known = try identity(of: userID) { return known }
        try execute(
            "UPDATE users SET user_app_id = ? WHERE user_id = ? AND user_app_id IS NULL",
            [.text(fresh.rawValue), .int(userID.rawValue)])
        return try identity(of: userID)
    }

    private mutating func identity(
        of userID: UserID
    ) throws(StoreError) -> (id: UserAppID, epoch: AccountEpoch)? {
        try first(
            "SELECT user_app_id, account_epoch FROM users WHERE user_id = ? AND user_app_id IS NOT NULL",
            [.int(userID.rawValue)]
        ) { row throws(StoreError) in
            (id: try row.identifier("user_app_id"), epoch: AccountEpoch(try row.number("account_epoch")))
        }
    }

    /// The user of an identity.
    public mutating func user(of identity: UserAppID) throws(StoreError) -> UserRecord? {
        try first(
            """
            SELECT \(UserRecord.columns)
              FROM users
             WHERE user_app_id = ?
            """, [.text(identity.rawValue)], UserRecord.init(_:))
    }

    // MARK: Accounts that an identity has left

    /// The present account type of the identity that has switched away from an account; `nil` if no identity has.
    public mutating func activeAccountType(
        insteadOf accountType: AccountType, _ providerUserID: String
    ) throws(StoreError) -> AccountType? {
        try first(
            """
            SELECT u.account_type
              FROM retired_accounts r
              JOIN users u ON u.user_id = r.user_id
             WHERE r.account_type = ?
               AND r.provider_user_id = ?
            """, [.text(accountType.rawValue), .text(providerUserID)]
        ) { row throws(StoreError) in try row.word(0) }
    }

    /// Detaches an account from the identity that has switched away from it.
    public mutating func detachRetiredAccount(
        _ accountType: AccountType, _ providerUserID: String
    ) throws(StoreError) {
        try execute(
            "DELETE FROM retired_accounts WHERE account_type = ? AND provider_user_id = ?",
            [.text(accountType.rawValue), .text(providerUserID)])
    }
}
