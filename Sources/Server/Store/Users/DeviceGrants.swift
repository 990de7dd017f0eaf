import MariaDB
public import SyncProtocol

/// Which device grants may begin a switch of accounts.
public enum GrantStanding: Equatable, Sendable {
    /// It may: the account was proved when the grant was issued, or its device has signed in since the grant became old
    /// enough.
    case established
    /// It may not yet: it was issued for an access token alone.
    /// - Parameter until: when it is old enough; after that its device has to sign in once more.
    case young(until: WireDate)
}

/// A recently issued grant.
public struct RecentGrant: Equatable, Sendable {
    public var device: DeviceUUID
    public var createdAt: WireDate
    public var standing: GrantStanding
}

/// Device grants; only their hashes are stored.
///
/// A revoked grant is kept for a while, because it may undo a switch; everywhere else it is invalid.
extension StoreSession {
    /// For how many seconds an unused grant remains valid: 400 days.
    static let grantLifetimeSeconds: Int64 = 400 * 86_400
    /// How many a device may have at once: grants whose reply was lost are never used, and are replaced.
    static let maximumGrantsPerDevice = 8
    private static let daySeconds: Int64 = 86_400

    /// Adds a grant of a device, unless the user no longer exists. Call in a transaction.
    ///
    /// New grants cannot displace older ones: beyond the maximum, the youngest grants that were never presented are
    /// deleted first.
    /// - Parameters:
    ///   - hash: SHA-256 of the secret.
    ///   - isProved: whether the account was proved by more than an access token.
    /// - Returns: whether the user exists.
    public mutating func addGrant(
        _ hash: [UInt8], of device: DeviceUUID, _ userID: UserID, isProved: Bool, at now: WireDate
    ) throws(StoreError) -> Bool {
        guard try holdUser(userID) else { return false }
        try execute(
            """
            INSERT INTO device_grants
                   (grant_hash, user_id, device_uuid, account_epoch, last_used_at, created_at, is_proved)
            SELECT ?, user_id, ?, account_epoch, ?, UTC_TIMESTAMP(6), ?
              FROM users
             WHERE user_id = ?
            """,
            [.bytes(hash), .text(device.rawValue), .date(now), .bool(isProved), .int(userID.rawValue)])
        let mine: [Value] = [.int(userID.rawValue), .text(device.rawValue)]
        let surplus =
            try count(
                "SELECT COUNT(*) FROM device_grants WHERE user_id = ? AND device_uuid = ? AND revoked_at IS NULL", mine)
            - Self.maximumGrantsPerDevice
        if surplus > 0 {
            try execute(
                """
                DELETE FROM device_grants
                 WHERE user_id = ?
                   AND device_uuid = ?
                   AND grant_hash <> ?
                   AND revoked_at IS NULL
                 ORDER BY signed_in_at IS NOT NULL, is_proved, created_at DESC
                 LIMIT ?
                """, mine + [.bytes(hash), .int(Int64(surplus))])
        }
        return true
    }

    /// Whether a user has a valid grant on a device, or on any device but one.
    public mutating func hasGrant(
        _ userID: UserID, on device: DeviceUUID, elsewhere: Bool
    ) throws(StoreError) -> Bool {
        try first(
            """
            SELECT 1
              FROM device_grants
             WHERE user_id = ?
               AND (device_uuid = ?) <> ?
               AND revoked_at IS NULL
             LIMIT 1
            """, [.int(userID.rawValue), .text(device.rawValue), .bool(elsewhere)]
        ) { _ in true } ?? false
    }

    /// How many grants of a user were issued since `time`.
    public mutating func grantCount(of userID: UserID, since time: WireDate) throws(StoreError) -> Int {
        try count(
            "SELECT COUNT(*) FROM device_grants WHERE user_id = ? AND created_at >= ?",
            [.int(userID.rawValue), .date(time)])
    }

    /// Whether a device of the user has that grant; records the day of use of a valid one.
    /// - Parameters:
    ///   - hash: SHA-256 of the secret.
    ///   - minimumAge: the required age of a grant, in seconds, if the request signs in with the user's account;
    ///     otherwise `nil`.
    public mutating func useGrant(
        _ hash: [UInt8], of device: DeviceUUID, _ userID: UserID, signingInAt minimumAge: Int64?, at now: WireDate
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
               AND revoked_at IS NULL
            """, [.bytes(hash), .int(userID.rawValue), .text(device.rawValue), .date(oldest)]
        ) { _ in true }
        guard isValid == true else { return false }
        let yesterday = WireDate(secondsSince1970: now.secondsSince1970 - Self.daySeconds)
        // Assignments take effect from left to right.
        try execute(
            """
            UPDATE device_grants g
              JOIN users u ON u.user_id = g.user_id
               SET g.created_at = COALESCE(g.created_at, g.last_used_at),
                   g.last_used_at = GREATEST(g.last_used_at, ?), g.account_epoch = u.account_epoch
             WHERE g.grant_hash = ?
               AND (g.last_used_at < ? OR g.account_epoch <> u.account_epoch OR g.created_at IS NULL)
            """, [.date(now), .bytes(hash), .date(yesterday)])
        guard let minimumAge else { return true }
        // Written at most once a day, and at once when the grant has become old enough.
        try execute(
            """
            UPDATE device_grants
               SET signed_in_at = ?
             WHERE grant_hash = ?
               AND (signed_in_at IS NULL
                    OR signed_in_at < ?
                    OR signed_in_at < created_at + INTERVAL ? SECOND AND created_at + INTERVAL ? SECOND <= ?)
            """,
            [.date(now), .bytes(hash), .date(yesterday), .int(minimumAge), .int(minimumAge), .date(now)])
        return true
    }

    /// Whether a grant may begin a switch; `nil` if it is not a valid grant of that device and user.
    /// - Parameter minimumAge: the required age, in seconds, of a grant that was issued for an access token alone.
    public mutating func standing(
        ofGrant hash: [UInt8], of device: DeviceUUID, _ userID: UserID, minimumAge: Int64, at now: WireDate
    ) throws(StoreError) -> GrantStanding? {
        guard try useGrant(hash, of: device, userID, signingInAt: nil, at: now) else { return nil }
        return try first(
            """
            SELECT is_proved OR COALESCE(signed_in_at >= created_at + INTERVAL ? SECOND, FALSE) AS is_established,
                   CAST(created_at + INTERVAL ? SECOND AS DATETIME(0)) AS usable_from
              FROM device_grants
             WHERE grant_hash = ?
            """, [.int(minimumAge), .int(minimumAge), .bytes(hash)]
        ) { row throws(StoreError) in try Self.standing(row) }
    }

    private static func standing(_ row: borrowing Row) throws(StoreError) -> GrantStanding {
        try row.flag("is_established") ? .established : .young(until: try row.date("usable_from"))
    }

    /// The grants of a user that the caller could revoke, because they are younger than the caller's grant: the newest
    /// first, at most `limit` of them.
    /// - Parameter time: grants issued earlier are not included.
    public mutating func grants(
        of userID: UserID, youngerThan hash: [UInt8], since time: WireDate, minimumAge: Int64, limit: Int
    ) throws(StoreError) -> [RecentGrant] {
        try all(
            """
            SELECT is_proved OR COALESCE(signed_in_at >= created_at + INTERVAL ? SECOND, FALSE) AS is_established,
                   CAST(created_at + INTERVAL ? SECOND AS DATETIME(0)) AS usable_from,
                   device_uuid, CAST(created_at AS DATETIME(0)) AS issued_at
              FROM device_grants
             WHERE user_id = ?
               AND revoked_at IS NULL
               AND created_at > (SELECT created_at FROM device_grants WHERE grant_hash = ?)
               AND created_at >= ?
             ORDER BY created_at DESC
             LIMIT ?
            """,
            [
                .int(minimumAge), .int(minimumAge), .int(userID.rawValue), .bytes(hash), .date(time),
                .int(Int64(limit)),
            ]
        ) { row throws(StoreError) in
            RecentGrant(
                device: try row.identifier("device_uuid"), createdAt: try row.date("issued_at"),
                standing: try Self.standing(row))
        }
    }

    /// Revokes the grants of one of the user's devices, or of all except one.
    ///
    /// - Parameter older: SHA-256 of the grant that authorizes the revocation: only that grant and younger ones are
    ///   revoked; `nil` if the account was proved: all of them are.
    /// - Returns: how many were revoked, and how many were kept although the request names them, because they are
    ///   older.
    public mutating func revokeGrants(
        of userID: UserID, onDevice device: DeviceUUID?, exceptOn kept: DeviceUUID, onTheWordOf older: [UInt8]?,
        at now: WireDate
    ) throws(StoreError) -> (revoked: Int, kept: Int) {
        let named: [Value] = [
            .int(userID.rawValue), .text(orNull: device?.rawValue), .text(orNull: device?.rawValue),
            .text(kept.rawValue),
        ]
        let all = try count(
            """
            SELECT COUNT(*)
              FROM device_grants
             WHERE user_id = ?
               AND revoked_at IS NULL
               AND (device_uuid = ? OR ? IS NULL AND device_uuid <> ?)
            """, named)
        let mayRevoke: [Value] = [.bytes(orNull: older), .bytes(orNull: older), .bytes(orNull: older)]
        let revoked = try execute(
            """
            UPDATE device_grants g
              LEFT JOIN device_grants o ON o.grant_hash = ?
               SET g.revoked_at = ?
             WHERE g.user_id = ?
               AND g.revoked_at IS NULL
               AND (g.device_uuid = ? OR ? IS NULL AND g.device_uuid <> ?)
               AND (? IS NULL OR g.grant_hash = ?
                    OR COALESCE(g.created_at, g.last_used_at) > COALESCE(o.created_at, o.last_used_at))
            """, [.bytes(orNull: older), .date(now)] + named + mayRevoke.dropLast())
        return (revoked, all - revoked)
    }

    /// Deletes invalid grants, and those that were revoked before `time`.
    /// - Returns: how many were deleted, at most `limit` of either kind.
    public mutating func forgetGrants(
        revokedBefore time: WireDate, at now: WireDate, limit: Int
    ) throws(StoreError) -> Int {
        let unused = try execute(
            "DELETE FROM device_grants WHERE last_used_at <= ? ORDER BY last_used_at LIMIT ?",
            [
                .date(WireDate(secondsSince1970: now.secondsSince1970 - Self.grantLifetimeSeconds)),
                .int(Int64(limit)),
            ])
        let revoked = try execute(
            "DELETE FROM device_grants WHERE revoked_at < ? ORDER BY revoked_at LIMIT ?",
            [.date(time), .int(Int64(limit))])
        return unused + revoked
    }
}
