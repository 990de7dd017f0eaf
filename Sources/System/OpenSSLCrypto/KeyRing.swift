import FoundationEssentials

/// The sealing keys in use: one for new records, and others whose records can be opened.
///
/// A key is replaced in steps: every process can open with the new one; it becomes current, while the old one still
/// opens; every record whose ``SealedBox/keyIdentifier(of:)`` is not ``current``'s is resealed; the old one is dropped.
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

/// A secret key of 32 bytes for ``SealedBox``; never prints its bytes.
public struct SealingKey: Sendable {
    /// Length of a key in bytes: AES-256.
    public static let byteCount = 32

    /// Names the key in sealed records: the first four bytes of its HMAC over a fixed text.
    ///
    /// Derived, so that a key file needs no separate number and cannot be misnumbered; reveals nothing about the key.
    public let identifier: UInt32

    /// The identifier as people and the database see it: eight hexadecimal digits.
    public var name: String { Self.name(of: identifier) }

    /// An identifier as people and the database see it: eight hexadecimal digits.
    public static func name(of identifier: UInt32) -> String {
        let digits = String(identifier, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }

    let bytes: [UInt8]

    /// Creates a key from 32 bytes, which must be random.
    /// - Throws: ``CryptoError/invalidKey`` if there are not exactly 32.
    public init(_ bytes: [UInt8]) throws(CryptoError) {
        guard bytes.count == Self.byteCount else { throw .invalidKey }
        self.bytes = bytes
        let name = hmacSHA256(key: bytes, message: Array("SyncServer sealing key identifier".utf8))
        identifier = name.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// The key that signs manifests. Derived, so that it is kept, backed up and rotated with this one; it reveals nothing
    /// about this one, nor about anything sealed.
    /// - Throws: ``CryptoError/unavailable``.
    public func manifestKey() throws(CryptoError) -> Ed25519Key {
        try Ed25519Key(seed: hmacSHA256(key: bytes, message: Array("SyncServer manifest signing key".utf8)))
    }

    /// Creates a key from the base64 text of 32 bytes, as stored in a key file; white space around the text is ignored.
    /// - Throws: ``CryptoError/invalidKey`` if the text is not base64 (RFC 4648, section 4) of exactly 32 bytes.
    public init(base64 text: String) throws(CryptoError) {
        guard let data = Data(base64Encoded: String(text.trimming(while: \.isWhitespace))) else { throw .invalidKey }
        try self.init([UInt8](data))
    }
}

extension SealingKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Always `<redacted>`.
    public var description: String { "<redacted>" }
    /// Always `<redacted>`.
    public var debugDescription: String { "<redacted>" }
    /// Shows nothing, so that `dump` and string interpolation of an enclosing type print no key.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension String {
    /// The text without the leading and trailing characters that satisfy `isDropped`.
    fileprivate func trimming(while isDropped: (Character) -> Bool) -> Substring {
        var rest = drop(while: isDropped)
        while let last = rest.last, isDropped(last) { rest.removeLast() }
        return rest
    }
}
