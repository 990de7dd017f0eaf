import MariaDB
import OpenSSLCrypto
public import Store
import SyncProtocol
public import Vault

/// Checks that the configured keys open the stored tokens. It examines those of the oldest and the newest users: a key
/// replaced without naming the former one leaves old records unreadable, and a wrong key leaves all unreadable.
public struct SealingKeyCheck: Sendable {
    /// The number of oldest, and of newest, users.
    static let sample = 100

    private let records: [SealedRecord]

    /// Reads the sample.
    /// - Throws: ``StoreError``.
    public init(_ session: inout StoreSession) throws(StoreError) {
        let oldest = try session.sealedCredentials(after: nil, limit: Self.sample)
        guard case .user(let last)? = oldest.last?.place, oldest.count == Self.sample else {
            records = oldest
            return
        }
        records = oldest + (try session.newestSealedCredentials(after: last, limit: Self.sample))
    }

    /// Opens the sample.
    public func judge(_ sealer: CredentialSealer) -> Diagnosis {
        var unknown: Set<UInt32> = []
        var underUnknown = 0
        var damaged = 0
        for record in records {
            guard case .user(let userID) = record.place else { continue }
            do {
                _ = try sealer.open(record.bytes, from: .user(userID))
            } catch CryptoError.unknownKey(let identifier) {
                unknown.insert(identifier)
                underUnknown += 1
            } catch {
                damaged += 1
            }
        }
        let total = Quantity.of(records.count, "user")
        if underUnknown > 0 {
            let keys = unknown.sorted().map { String($0, radix: 16) }.joined(separator: ", ")
            return Diagnosis(
                .sealingKeyUnknown,
                "the tokens of \(underUnknown) of \(total) examined are sealed with a key that is not in the "
                    + "configuration (\(keys))",
                fix:
                    "restore the key from its copy, as sealing.keyFile or in sealing.formerKeyFiles; then systemctl "
                    + "reload syncd")
        }
        if damaged > 0 {
            return Diagnosis(
                .tokensDamaged, "the tokens of \(damaged) of \(total) examined cannot be opened",
                fix: "syncctl fsck names the users; a backup contains the former tokens (section 7)")
        }
        return .good("sealingKey", "the sealing key opens the tokens of \(total) examined")
    }
}

extension StoreSession {
    /// The sealed tokens of the newest users after `after`, at most `limit` of them.
    fileprivate mutating func newestSealedCredentials(
        after: UserID, limit: Int
    ) throws(StoreError) -> [SealedRecord] {
        try all(
            """
            SELECT user_id, credentials
              FROM users
             WHERE user_id > ?
               AND credentials IS NOT NULL
             ORDER BY user_id DESC
             LIMIT ?
            """, [.int(after.rawValue), .int(Int64(limit))]
        ) { row throws(StoreError) in
            SealedRecord(place: .user(UserID(try row.number(0))), bytes: row.optionalBytes(1) ?? [])
        }
    }
}
