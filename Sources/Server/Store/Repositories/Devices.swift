internal import MariaDB
public import SyncProtocol

/// The outcome of registering a device.
public enum DeviceRegistration: Equatable, Sendable {
    case registered
    /// The user already has the maximum number of devices; nothing was changed.
    case tooMany
    /// The user has been removed in the meantime.
    case userUnknown
}

extension StoreSession {
    /// Registers a device of a user; has no effect if it is already registered.
    ///
    /// Count and insertion are atomic, since the user's row is locked. Call in a transaction.
    /// - Parameter maximum: number of devices that a user may have; `nil` for no limit.
    public mutating func register(
        _ device: DeviceUUID, of userID: UserID, maximum: Int?, at now: WireDate
    ) throws(StoreError) -> DeviceRegistration {
        guard try maximum == nil ? holdUser(userID) : lockUser(userID) else { return .userUnknown }
        if let maximum {
            let others = try first(
                "SELECT COUNT(*) FROM devices WHERE user_id = ? AND device_uuid <> ?",
                [.int(userID.rawValue), .text(device.rawValue)]
            ) { row throws(StoreError) in try row.number(0) }
            guard (others ?? 0) < Int64(maximum) else { return .tooMany }
        }
        try execute(
            """
            INSERT INTO devices (user_id, device_uuid, registered_at)
            VALUES (?, ?, ?)
                ON DUPLICATE KEY UPDATE device_uuid = device_uuid
            """,
            [.int(userID.rawValue), .text(device.rawValue), .date(now)])
        return .registered
    }
}
