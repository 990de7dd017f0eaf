import MariaDB
public import OpenSSLCrypto
public import Store
public import SyncProtocol

/// A sealed record and its location.
public struct SealedRecord: Equatable, Sendable {
    /// The row that holds it.
    public enum Place: Equatable, Sendable {
        case user(UserID)
        /// The record that was set aside when a user's record could not be opened.
        case formerOfUser(UserID)
        /// The record of a removed user whose storage is being cleared.
        case departedUser(UserID)
        /// The new account of a proposed switch.
        case accountSwitch(AccountSwitchID, UserID)
        /// The account that a user had in that epoch, from which a switch moves contents.
        case accountMove(AccountSwitchID, UserID, AccountEpoch)
        /// A removed user's grant, until it is revoked.
        case grant(OutboxID, UserID)
        /// By the code's SHA-256.
        case code([UInt8])
    }

    public var place: Place
    public var bytes: [UInt8]
}

extension StoreSession {
    /// The sealed tokens of users in the order of their numbers, after `after`, at most `limit` of them.
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

    /// The records that were set aside because they could not be opened, of users after `after`, at most `limit` of
    /// them.
    public mutating func sealedFormerCredentials(after: UserID?, limit: Int) throws(StoreError) -> [SealedRecord] {
        try all(
            """
            SELECT user_id, former_credentials
              FROM users
             WHERE user_id > ?
               AND former_credentials IS NOT NULL
             ORDER BY user_id
             LIMIT ?
            """, [.int(after?.rawValue ?? .min), .int(Int64(limit))]
        ) { row throws(StoreError) in
            SealedRecord(place: .formerOfUser(UserID(try row.number(0))), bytes: row.optionalBytes(1) ?? [])
        }
    }

    /// The sealed tokens of removed users whose storage is being cleared, after `after`, at most `limit` of them.
    public mutating func sealedDepartures(after: UserID?, limit: Int) throws(StoreError) -> [SealedRecord] {
        try all(
            "SELECT user_id, credentials FROM departed_users WHERE user_id > ? ORDER BY user_id LIMIT ?",
            [.int(after?.rawValue ?? .min), .int(Int64(limit))]
        ) { row throws(StoreError) in
            SealedRecord(place: .departedUser(UserID(try row.number(0))), bytes: row.optionalBytes(1) ?? [])
        }
    }

    /// The sealed tokens of removed users' grants to revoke, after `after`, at most `limit` of them.
    public mutating func sealedGrants(after: OutboxID?, limit: Int) throws(StoreError) -> [SealedRecord] {
        try all(
            """
            SELECT outbox_id, user_id, credentials
              FROM outbox
             WHERE outbox_id > ?
               AND credentials IS NOT NULL
             ORDER BY outbox_id
             LIMIT ?
            """, [.int(after?.rawValue ?? .min), .int(Int64(limit))]
        ) { row throws(StoreError) in
            SealedRecord(
                place: .grant(OutboxID(try row.number("outbox_id")), UserID(try row.number("user_id"))),
                bytes: try row.optionalData("credentials") ?? [])
        }
    }

    /// The sealed tokens of accounts that users may switch to, after `after`, at most `limit` of them.
    public mutating func sealedSwitches(after: AccountSwitchID?, limit: Int) throws(StoreError) -> [SealedRecord] {
        try all(
            """
            SELECT switch_uuid, user_id, credentials
              FROM account_switches
             WHERE switch_uuid > ?
               AND credentials IS NOT NULL
             ORDER BY switch_uuid
             LIMIT ?
            """, [.text(after?.rawValue ?? ""), .int(Int64(limit))]
        ) { row throws(StoreError) in
            SealedRecord(
                place: .accountSwitch(try row.identifier("switch_uuid"), UserID(try row.number("user_id"))),
                bytes: try row.optionalData("credentials") ?? [])
        }
    }

    /// The sealed tokens of accounts from which contents are moved, after `after`, at most `limit` of them.
    public mutating func sealedMoves(after: AccountSwitchID?, limit: Int) throws(StoreError) -> [SealedRecord] {
        try all(
            """
            SELECT switch_uuid, user_id, account_epoch, credentials
              FROM account_moves
             WHERE switch_uuid > ?
               AND credentials IS NOT NULL
             ORDER BY switch_uuid
             LIMIT ?
            """, [.text(after?.rawValue ?? ""), .int(Int64(limit))]
        ) { row throws(StoreError) in
            SealedRecord(
                place: .accountMove(
                    try row.identifier("switch_uuid"), UserID(try row.number("user_id")),
                    AccountEpoch(try row.number("account_epoch"))),
                bytes: try row.optionalData("credentials") ?? [])
        }
    }

    /// The sealed results of authorization codes in the order of their hashes, after `after`, at most `limit`.
    public mutating func sealedCodes(after: [UInt8]?, limit: Int) throws(StoreError) -> [SealedRecord] {
        try all(
            """
            SELECT code_hash, credentials
              FROM exchanged_codes
             WHERE code_hash > ?
               AND credentials IS NOT NULL
             ORDER BY code_hash
             LIMIT ?
            """, [.bytes(after ?? []), .int(Int64(limit))]
        ) { row throws(StoreError) in
            SealedRecord(place: .code(row.optionalBytes(0) ?? []), bytes: row.optionalBytes(1) ?? [])
        }
    }

    /// Replaces a record with the resealed secret, unless the record has changed in the meantime.
    ///
    /// The version of a user's credentials stays the same: their content has not changed.
    /// - Returns: whether the record was still unchanged.
    public mutating func reseal(_ record: SealedRecord, as bytes: [UInt8]) throws(StoreError) -> Bool {
        switch record.place {
        case .user(let userID):
            try execute(
                "UPDATE users SET credentials = ? WHERE user_id = ? AND credentials = ?",
                [.bytes(bytes), .int(userID.rawValue), .bytes(record.bytes)]) == 1
        case .formerOfUser(let userID):
            try execute(
                "UPDATE users SET former_credentials = ? WHERE user_id = ? AND former_credentials = ?",
                [.bytes(bytes), .int(userID.rawValue), .bytes(record.bytes)]) == 1
        case .departedUser(let userID):
            try execute(
                "UPDATE departed_users SET credentials = ? WHERE user_id = ? AND credentials = ?",
                [.bytes(bytes), .int(userID.rawValue), .bytes(record.bytes)]) == 1
        case .accountSwitch(let id, _):
            try execute(
                "UPDATE account_switches SET credentials = ? WHERE switch_uuid = ? AND credentials = ?",
                [.bytes(bytes), .text(id.rawValue), .bytes(record.bytes)]) == 1
        case .accountMove(let id, _, _):
            try execute(
                "UPDATE account_moves SET credentials = ? WHERE switch_uuid = ? AND credentials = ?",
                [.bytes(bytes), .text(id.rawValue), .bytes(record.bytes)]) == 1
        case .grant(let item, _):
            try execute(
                "UPDATE outbox SET credentials = ? WHERE outbox_id = ? AND credentials = ?",
                [.bytes(bytes), .int(item.rawValue), .bytes(record.bytes)]) == 1
        case .code(let hash):
            try execute(
                "UPDATE exchanged_codes SET credentials = ? WHERE code_hash = ? AND credentials = ?",
                [.bytes(bytes), .bytes(hash), .bytes(record.bytes)]) == 1
        }
    }
}

/// Users whose tokens are sealed with a key.
public struct SealingKeyUse: Equatable, Sendable {
    /// The key's name, see ``SealingKey``.
    public var key: String
    public var users: Int
}

extension StoreSession {
    /// The keys of sealed users' tokens that are not in `ring`.
    public mutating func sealingKeys(missingIn ring: KeyRing) throws(StoreError) -> [SealingKeyUse] {
        try all(
            """
            SELECT MIN(credentials), COUNT(*)
              FROM users
             WHERE credentials IS NOT NULL
             GROUP BY LEFT(credentials, 5)
            """, []
        ) { row throws(StoreError) in
            (key: row.optionalBytes(0).flatMap { SealedBox.keyIdentifier(of: $0) }, users: Int(try row.number(1)))
        }.compactMap { use in
            guard let key = use.key, !ring.contains(identifier: key) else { return nil }
            return SealingKeyUse(key: SealingKey.name(of: key), users: use.users)
        }
    }
}
