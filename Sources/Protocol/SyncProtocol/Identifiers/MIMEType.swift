/// The kind of contents that a file has, for example `image/jpeg`; fixed for the life of a file.
///
/// Any text of 1 to 100 characters is a value; whether a type may be uploaded is decided by ``MIMETypeTable``.
/// Compared exactly, as clients do.
public struct MIMEType: Sendable, Hashable, Codable, CustomStringConvertible, QueryValue {
    /// What a query value must look like.
    public static let expectedForm = ExpectedForm.mimeType

    /// Longest accepted text, in Unicode scalars.
    public static let maximumCharacters = 100

    /// The type as it travels.
    public let rawValue: String

    /// Takes the text over; nil if it is empty or longer than 100 characters.
    public init?(_ text: String) {
        guard (1...Self.maximumCharacters).contains(text.unicodeScalars.count) else { return nil }
        rawValue = text
    }

    /// The type as it travels.
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
