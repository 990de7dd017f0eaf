internal import MariaDB
public import SyncProtocol

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
