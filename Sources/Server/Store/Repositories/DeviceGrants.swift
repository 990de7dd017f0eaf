internal import MariaDB
public import SyncProtocol

/// Device grants, of which only hashes are stored.
extension StoreSession {
    /// For how many seconds an unused grant remains valid: 400 days.
    static let grantLifetimeSeconds: Int64 = 400 * 86_400
    /// How many a device may have at once: those whose reply was lost are never used, and the oldest give way.
    static let maximumGrantsPerDevice = 8
    private static let daySeconds: Int64 = 86_400

    /// Adds a grant of a device, unless the user no longer exists. Call in a transaction.
    /// - Parameter hash: SHA-256 of the secret.
    /// - Returns: whether there is such a user.
    public mutating func addGrant(
        _ hash: [UInt8], of device: DeviceUUID, _ userID: UserID, at now: WireDate
    ) throws(StoreError) -> Bool {
        guard try holdUser(userID) else { return false }
        try execute(
            """
            INSERT INTO device_grants (grant_hash, user_id, device_uuid, account_epoch, last_used_at)
            SELECT ?, user_id, ?, account_epoch, ?
              FROM users
             WHERE user_id = ?
            """, [.bytes(hash), .text(device.rawValue), .date(now), .int(userID.rawValue)])
        let mine: [Value] = [.int(userID.rawValue), .text(device.rawValue)]
        let surplus =
            try count("SELECT COUNT(*) FROM device_grants WHERE user_id = ? AND device_uuid = ?", mine)
            - Self.maximumGrantsPerDevice
        if surplus > 0 {
            try execute(
                """
                DELETE FROM device_grants
                 WHERE user_id = ?
                   AND device_uuid = ?
                   AND grant_hash <> ?
                 ORDER BY last_used_at
                 LIMIT ?
                """, mine + [.bytes(hash), .int(Int64(surplus))])
        }
        return true
    }

    /// Whether a device of the user has that grant; a valid one counts as used now, to the day.
    /// - Parameter hash: SHA-256 of the secret.
    public mutating func useGrant(
        _ hash: [UInt8], of device: DeviceUUID, _ userID: UserID, at now: WireDate
    ) throws(StoreError) -> Bool {
        let oldest = WireDate(secondsSince1970: now.secondsSince1970 - Self.grantLifetimeSeconds)
        let isValid = try first(
            """
            SELECT 1
              FROM device_grants
             WHERE grant_hash = ?
               AND user_id = ?
               AND device_uuid = ?
               AND last_used_at > ?
            """, [.bytes(hash), .int(userID.rawValue), .text(device.rawValue), .date(oldest)]
        ) { _ in true }
        guard isValid == true else { return false }
        let yesterday = WireDate(secondsSince1970: now.secondsSince1970 - Self.daySeconds)
        try execute(
            """
            UPDATE device_grants g
              JOIN users u ON u.user_id = g.user_id
               SET g.last_used_at = GREATEST(g.last_used_at, ?), g.account_epoch = u.account_epoch
             WHERE g.grant_hash = ?
               AND (g.last_used_at < ? OR g.account_epoch <> u.account_epoch)
            """, [.date(now), .bytes(hash), .date(yesterday)])
        return true
    }

    /// Revokes the grants of one of the user's devices, or of all except one.
    public mutating func revokeGrants(
        of userID: UserID, onDevice device: DeviceUUID?, exceptOn kept: DeviceUUID
    ) throws(StoreError) {
        if let device {
            try execute(
                "DELETE FROM device_grants WHERE user_id = ? AND device_uuid = ?",
                [.int(userID.rawValue), .text(device.rawValue)])
        } else {
            try execute(
                "DELETE FROM device_grants WHERE user_id = ? AND device_uuid <> ?",
                [.int(userID.rawValue), .text(kept.rawValue)])
        }
    }

    /// Deletes grants that are no longer valid.
    /// - Returns: how many were deleted, at most `limit`.
    public mutating func forgetGrants(at now: WireDate, limit: Int) throws(StoreError) -> Int {
        try execute(
            "DELETE FROM device_grants WHERE last_used_at <= ? ORDER BY last_used_at LIMIT ?",
            [
                .date(WireDate(secondsSince1970: now.secondsSince1970 - Self.grantLifetimeSeconds)),
                .int(Int64(limit)),
            ])
    }
}
