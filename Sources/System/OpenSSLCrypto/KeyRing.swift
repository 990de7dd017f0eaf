/// The sealing keys in use: one for new records, and others whose records can be opened.
///
/// A key is replaced in steps: every process can open with the new one; it becomes current, while the old one still opens;
/// every record whose ``SealedBox/keyIdentifier(of:)`` is not ``current``'s is resealed; the old one is dropped.
public struct KeyRing: Sendable {
    /// Seals new records.
    public let current: SealingKey
    private let keys: [UInt32: SealingKey]

    /// Creates a ring of the current key and any number of others, which only open.
    public init(current: SealingKey, older: [SealingKey] = []) {
        self.current = current
        // The current key wins if an identifier occurs twice, so that newly sealed records can be opened.
        keys = Dictionary((older + [current]).map { ($0.identifier, $0) }, uniquingKeysWith: { $1 })
    }

    /// The names of the keys that only open, sorted.
    public var openingNames: [String] {
        keys.keys.filter { $0 != current.identifier }.map(SealingKey.name(of:)).sorted()
    }

    /// Whether records that name this key can be opened.
    public func contains(identifier: UInt32) -> Bool { keys[identifier] != nil }

    /// The key with that identifier, or nil if it is not in the ring.
    func key(identifier: UInt32) -> SealingKey? { keys[identifier] }
}
