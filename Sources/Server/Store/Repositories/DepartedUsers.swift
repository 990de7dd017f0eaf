internal import MariaDB
public import SyncProtocol

// Users who were removed while their storage contained our objects, never committed or no longer needed. The outbox
// deletes these objects with the tokens that are kept here until it has finished, for at most ``accessSeconds``.
extension StoreSession {
    /// For how many seconds after a removal the outbox may use the tokens.
    static let accessSeconds: Int64 = 3_600

    /// Keeps access to a user's storage if it contains something to clear; drops all other outbox work for them. Call
    /// before the user's row is deleted.
    mutating func keepAccessForClearing(of userID: UserID, at now: WireDate) throws(StoreError) {
        let user: [Value] = [.int(userID.rawValue)]
        try execute("DELETE FROM outbox WHERE user_id = ? AND kind <> 'deleteObject'", user)
        let isKept = try execute(
            """
            INSERT INTO departed_users
                   (\(UserRecord.keptColumns), credentials, forgotten_at)
            SELECT \(UserRecord.keptColumns), credentials, ?
              FROM users u
             WHERE user_id = ?
               AND credentials IS NOT NULL
               AND EXISTS (SELECT 1 FROM outbox o WHERE o.user_id = u.user_id)
            """,
            [.date(WireDate(secondsSince1970: now.secondsSince1970 + Self.accessSeconds))] + user)
        guard isKept == 1 else {
            _ = try execute("DELETE FROM outbox WHERE user_id = ?", user)
            return
        }
        // Postponed work, perhaps for a day, is attempted a last time now.
        try execute("UPDATE outbox SET available_at = ? WHERE user_id = ? AND lease_owner IS NULL", [.date(now)] + user)
    }

    /// A removed user whose storage is still to be cleared, with the sealed tokens.
    public mutating func departedUser(
        _ userID: UserID
    ) throws(StoreError) -> (user: UserRecord, credentials: [UInt8])? {
        try first(
            """
            SELECT \(UserRecord.keptColumns), '' AS display_name, 0 AS account_epoch, credentials
              FROM departed_users
             WHERE user_id = ?
            """, [.int(userID.rawValue)]
        ) { row throws(StoreError) in
            (user: try UserRecord(row), credentials: try row.optionalData("credentials") ?? [])
        }
    }

    /// The sealed tokens of a removed user, locked until the transaction ends; `nil` if they are no longer needed.
    public mutating func lockCredentials(ofDeparted userID: UserID) throws(StoreError) -> [UInt8]? {
        try first(
            "SELECT credentials FROM departed_users WHERE user_id = ? FOR UPDATE", [.int(userID.rawValue)]
        ) { row throws(StoreError) in try row.optionalData("credentials") } ?? nil
    }

    /// Replaces the sealed tokens of a removed user with renewed ones, as long as they are needed.
    public mutating func storeCredentials(_ record: [UInt8], ofDeparted userID: UserID) throws(StoreError) {
        try execute(
            "UPDATE departed_users SET credentials = ? WHERE user_id = ?", [.bytes(record), .int(userID.rawValue)])
    }

    /// Deletes the record of a removed user for whom the outbox has nothing left to do.
    public mutating func forgetDepartedUser(_ userID: UserID) throws(StoreError) {
        try execute(
            """
            DELETE FROM departed_users
             WHERE user_id = ?
               AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.user_id = departed_users.user_id AND o.storage_type IS NOT NULL)
            """, [.int(userID.rawValue)])
    }

    /// Deletes the records of removed users whose time is over, and the unfinished outbox work for them.
    /// - Returns: how many users were deleted, at most `limit`.
    public mutating func forgetDepartedUsers(at now: WireDate, limit: Int) throws(StoreError) -> Int {
        let users = try all(
            """
            SELECT user_id
              FROM departed_users
             WHERE forgotten_at <= ?
             ORDER BY forgotten_at
             LIMIT ?
               FOR UPDATE SKIP LOCKED
            """, [.date(now), .int(Int64(limit))]
        ) { row throws(StoreError) in try row.number(0) }
        for user in users {
            try execute("DELETE FROM outbox WHERE user_id = ? AND storage_type IS NOT NULL", [.int(user)])
            try execute("DELETE FROM departed_users WHERE user_id = ?", [.int(user)])
        }
        return users.count
    }

    /// Transfers the remaining clearing for a removed user to the user who signs up with the same account: from now on
    /// the objects are theirs, and are protected if new files refer to them.
    mutating func takeOverClearing(
        of accountType: AccountType, _ providerUserID: String, by userID: UserID
    ) throws(StoreError) {
        let account: [Value] = [.text(accountType.rawValue), .text(providerUserID)]
        try execute(
            """
            UPDATE outbox o
              JOIN departed_users d ON d.user_id = o.user_id
               SET o.user_id = ?
             WHERE d.account_type = ?
               AND d.provider_user_id = ?
               AND o.kind = 'deleteObject'
            """, [.int(userID.rawValue)] + account)
        try execute("DELETE FROM departed_users WHERE account_type = ? AND provider_user_id = ?", account)
    }
}
