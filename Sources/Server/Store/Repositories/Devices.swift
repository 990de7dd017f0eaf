internal import MariaDB
public import SyncProtocol

/// What became of a device that tried to register.
public enum DeviceRegistration: Equatable, Sendable {
    case registered
    /// The user has as many devices as they may; nothing was changed.
    case tooMany
    /// The user has been removed meanwhile.
    case userUnknown
}

extension StoreSession {
    /// Registers a device of a user; one that is registered already stays so.
    ///
    /// Count and insertion are one step, since the user's row is locked in between. Call inside a transaction.
    /// - Parameter maximum: devices that a user may have; `nil` for any number.
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
