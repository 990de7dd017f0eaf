import MariaDB
public import SyncProtocol

/// A running process of the server, with the identifiers of its sealing keys.
public struct KeyHolder: Equatable, Sendable {
    /// Chosen by the process at its start.
    public var processUUID: String
    public var hostName: String
    public var role: ServerRole
    /// Its process number on its host.
    public var processID: Int32
    /// The identifier of the key that seals.
    public var sealingKey: String
    /// The identifiers of the additional keys that open, sorted.
    public var openingKeys: [String]

    public init(
        processUUID: String, hostName: String, role: ServerRole, processID: Int32, sealingKey: String,
        openingKeys: [String]
    ) {
        self.processUUID = processUUID
        self.hostName = hostName
        self.role = role
        self.processID = processID
        self.sealingKey = sealingKey
        self.openingKeys = openingKeys
    }

    /// Seconds between two renewals.
    public static let renewalSeconds: Int64 = 30
    /// How many seconds after the last renewal a process counts as running: several renewals may fail.
    public static let lifetimeSeconds: Int64 = 120
}

extension StoreSession {
    /// Records that a process runs and which keys it has. May be repeated.
    public mutating func renew(_ holder: KeyHolder, at now: WireDate) throws(StoreError) {
        try execute(
            """
            INSERT INTO key_holders
                   (process_uuid, host_name, role, process_id, sealing_key, opening_keys, seen_at)
            VALUES (?, ?, ?, ?, ?, ?, ?)
                ON DUPLICATE KEY UPDATE seen_at = VALUE(seen_at)
            """,
            [
                .text(holder.processUUID), .text(holder.hostName), .text(holder.role.rawValue),
                .int(Int64(holder.processID)), .text(holder.sealingKey),
                .text(holder.openingKeys.joined(separator: ",")), .date(now),
            ])
    }

    /// Records that a process ends.
    public mutating func removeKeyHolder(_ processUUID: String) throws(StoreError) {
        try execute("DELETE FROM key_holders WHERE process_uuid = ?", [.text(processUUID)])
    }

    /// The processes that run on all hosts, by host, role and number.
    public mutating func keyHolders(at now: WireDate) throws(StoreError) -> [KeyHolder] {
        try all(
            """
            SELECT process_uuid, host_name, role, process_id, sealing_key, opening_keys
              FROM key_holders
             WHERE seen_at >= ?
             ORDER BY host_name, role, process_id
            """, [.date(WireDate(secondsSince1970: now.secondsSince1970 - KeyHolder.lifetimeSeconds))]
        ) { row throws(StoreError) in
            KeyHolder(
                processUUID: try row.string("process_uuid"), hostName: try row.string("host_name"),
                role: try row.word("role"), processID: Int32(truncatingIfNeeded: try row.number("process_id")),
                sealingKey: try row.string("sealing_key"),
                openingKeys: try row.string("opening_keys").split(separator: ",").map(String.init))
        }
    }

    /// Deletes the rows of processes without a renewal since `time`.
    /// - Returns: how many, at most `limit`.
    public mutating func forgetKeyHolders(before time: WireDate, limit: Int) throws(StoreError) -> Int {
        try execute(
            "DELETE FROM key_holders WHERE seen_at < ? ORDER BY seen_at LIMIT ?",
            [.date(time), .int(Int64(limit))])
    }
}
