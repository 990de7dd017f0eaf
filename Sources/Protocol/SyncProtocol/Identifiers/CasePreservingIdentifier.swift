/// A textual identifier that preserves its letter case, and compares case-insensitively.
///
/// Clients generate identifiers of this kind, and are not consistent about letter case. The case is preserved because
/// it becomes part of names in cloud storage, which the client computes independently. Equality, hashing and order fold
/// only ASCII letters, byte by byte, which is sufficient for UUIDs.
public protocol CasePreservingIdentifier: Sendable, Hashable, Comparable, Codable, CustomStringConvertible, QueryValue {
    /// The text exactly as received.
    var rawValue: String { get }

    /// Creates an identifier from the text, unchanged; nil if the text is not accepted.
    init?(_ text: String)
}

extension CasePreservingIdentifier {
    /// Equal if the texts differ at most in the case of ASCII letters.
    public static func == (left: Self, right: Self) -> Bool {
        ASCIICase.equal(left.rawValue, right.rawValue)
    }

    /// Feeds the folded bytes to the hasher, so that equal identifiers have equal hashes.
    public func hash(into hasher: inout Hasher) {
        ASCIICase.hash(rawValue, into: &hasher)
    }

    /// Order of the folded bytes: the order in which several groups are locked.
    public static func < (left: Self, right: Self) -> Bool {
        ASCIICase.precedes(left.rawValue, right.rawValue)
    }

    /// The text exactly as received.
    public var description: String { rawValue }

    /// Parses a query value.
    public init?(queryText: String) {
        self.init(queryText)
    }

    /// The text as sent in a query.
    public var queryText: String { rawValue }

    /// Decodes a JSON string.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let value = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "expected \(Self.expectedForm.description)")
        }
        self = value
    }

    /// Encodes as a JSON string.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}
