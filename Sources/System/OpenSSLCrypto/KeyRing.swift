/// The sealing keys in use: one for new records, and older ones whose records can still be opened.
///
/// A key is replaced by making the new one current, keeping the old one, resealing every record whose
/// ``SealedBox/keyIdentifier(of:)`` is not ``current``'s, and then dropping the old one.
public struct KeyRing: Sendable {
    /// Seals new records.
    public let current: SealingKey
    private let keys: [UInt32: SealingKey]

    /// Creates a ring of the current key and any number of older ones.
    public init(current: SealingKey, older: [SealingKey] = []) {
        self.current = current
        // The current key wins if an identifier occurs twice, so that newly sealed records can be opened.
        keys = Dictionary((older + [current]).map { ($0.identifier, $0) }, uniquingKeysWith: { $1 })
    }

    /// Whether records that name this key can be opened.
    public func contains(identifier: UInt32) -> Bool { keys[identifier] != nil }

    /// The key with that identifier, or nil if it is not in the ring.
    func key(identifier: UInt32) -> SealingKey? { keys[identifier] }
}
