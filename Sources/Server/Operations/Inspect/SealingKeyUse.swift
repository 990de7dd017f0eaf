internal import MariaDB
public import OpenSSLCrypto
public import Store

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
