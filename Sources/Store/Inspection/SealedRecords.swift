internal import MariaDB
public import SyncProtocol

/// A sealed record and where it is kept.
public struct SealedRecord: Equatable, Sendable {
    /// The row that holds it.
    public enum Place: Equatable, Sendable {
        case user(UserID)
        /// By the code's SHA-256.
        case code([UInt8])
    }

    public var place: Place
    public var bytes: [UInt8]
}

extension StoreSession {
    /// The sealed tokens of users in the order of their numbers, those after `after`, at most `limit` of them.
    public mutating func sealedCredentials(after: UserID?, limit: Int) throws(StoreError) -> [SealedRecord] {
        try all(
            """
            SELECT user_id, credentials
              FROM users
             WHERE user_id > ?
               AND credentials IS NOT NULL
             ORDER BY user_id
             LIMIT ?
            """, [.int(after?.rawValue ?? .min), .int(Int64(limit))]
        ) { row throws(StoreError) in
            SealedRecord(place: .user(UserID(try row.number(0))), bytes: row.optionalBytes(1) ?? [])
        }
    }

    /// The sealed results of authorization codes in the order of their hashes, those after `after`, at most `limit`.
    public mutating func sealedCodes(after: [UInt8]?, limit: Int) throws(StoreError) -> [SealedRecord] {
        try all(
            "SELECT code_hash, credentials FROM exchanged_codes WHERE code_hash > ? ORDER BY code_hash LIMIT ?",
            [.bytes(after ?? []), .int(Int64(limit))]
        ) { row throws(StoreError) in
            SealedRecord(place: .code(row.optionalBytes(0) ?? []), bytes: row.optionalBytes(1) ?? [])
        }
    }

    /// Puts the same secret, sealed anew, in the place of a record, unless the record has changed meanwhile.
    ///
    /// The version of a user's credentials stays: what it says has not changed.
    /// - Returns: whether the record still was the one given.
    public mutating func reseal(_ record: SealedRecord, as bytes: [UInt8]) throws(StoreError) -> Bool {
        switch record.place {
        case .user(let userID):
            try execute(
                "UPDATE users SET credentials = ? WHERE user_id = ? AND credentials = ?",
                [.bytes(bytes), .int(userID.rawValue), .bytes(record.bytes)]) == 1
        case .code(let hash):
            try execute(
                "UPDATE exchanged_codes SET credentials = ? WHERE code_hash = ? AND credentials = ?",
                [.bytes(bytes), .bytes(hash), .bytes(record.bytes)]) == 1
        }
    }
}
