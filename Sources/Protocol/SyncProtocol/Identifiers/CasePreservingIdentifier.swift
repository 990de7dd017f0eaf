/// A textual identifier that keeps the letter case in which it came, and compares without regard to it.
///
/// Identifiers of this kind are made by clients, which are not consistent about letter case. The case is kept because
/// it becomes part of names in cloud storage, which the client computes on its own. Equality, hashing and order
/// fold the ASCII letters only, byte by byte, as UUIDs need no more.
public protocol CasePreservingIdentifier: Sendable, Hashable, Comparable, Codable, CustomStringConvertible, QueryValue {
    /// The text exactly as it came.
    var rawValue: String { get }

    /// Takes the text over as it is, or refuses it by returning nil.
    init?(_ text: String)
}

extension CasePreservingIdentifier {
    /// Equal if the texts differ in the case of ASCII letters at most.
    public static func == (left: Self, right: Self) -> Bool {
        ASCIICase.equal(left.rawValue, right.rawValue)
    }

    /// Feeds the folded bytes to the hasher, so that equal identifiers have equal hashes.
    public func hash(into hasher: inout Hasher) {
        for byte in rawValue.utf8 { hasher.combine(ASCIICase.folded(byte)) }
        hasher.combine(0xFF as UInt8)
    }

    /// Order of the folded bytes: the order in which several groups are locked.
    public static func < (left: Self, right: Self) -> Bool {
        ASCIICase.precedes(left.rawValue, right.rawValue)
    }

    /// The text exactly as it came.
    public var description: String { rawValue }

    /// Parses a query value.
    public init?(queryText: String) {
        self.init(queryText)
    }

    /// The text as it travels in a query.
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
