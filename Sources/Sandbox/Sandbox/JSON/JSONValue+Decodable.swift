internal import FoundationEssentials

extension JSONValue: Decodable {
    /// The accepted depth of arrays and objects; lower than Foundation's own limit, which may be too deep for a
    /// worker's stack.
    private static let deepest = 64

    /// The value represented by all of `bytes` (RFC 8259, UTF-8), at most 64 levels deep.
    ///
    /// Members are sorted by name, because `JSONDecoder` does not report their order; of equal names the first counts.
    /// Numbers whose value is an exact `Int` become one, however they are written: `1.0` is 1. Others become doubles.
    /// - Throws: `DecodingError` for anything except one JSON value surrounded only by white space, and for numbers
    ///   beyond the range of doubles.
    public init(parsing bytes: [UInt8]) throws {
        guard !Self.hasWhatOnlyFoundationAccepts(bytes) else {
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "The text is not strict JSON."))
        }
        self = try JSONDecoder().decode(JSONValue.self, from: Data(bytes))
    }

    /// Decodes a value of any kind.
    public init(from decoder: any Decoder) throws {
        if let members = try? decoder.container(keyedBy: MemberName.self) {
            try Self.requireDepth(decoder)
            var object: JSONObject = [:]
            for name in members.allKeys.sorted(by: { $0.stringValue < $1.stringValue }) {
                object[name.stringValue] = try members.decode(JSONValue.self, forKey: name)
            }
            self = .object(object)
        } else if var elements = try? decoder.unkeyedContainer() {
            try Self.requireDepth(decoder)
            var array: [JSONValue] = []
            while !elements.isAtEnd { array.append(try elements.decode(JSONValue.self)) }
            self = .array(array)
        } else {
            self = try Self.scalar(try decoder.singleValueContainer())
        }
    }

    private static func scalar(_ value: any SingleValueDecodingContainer) throws -> JSONValue {
        if let text = try? value.decode(String.self) { return .string(text) }
        if value.decodeNil() { return .null }
        if let isTrue = try? value.decode(Bool.self) { return .bool(isTrue) }
        // Tries integers first: as doubles they would lose digits beyond 2^53.
        if let whole = try? value.decode(Int.self) { return .int(whole) }
        return .double(try value.decode(Double.self))
    }

    private static func requireDepth(_ decoder: any Decoder) throws {
        guard decoder.codingPath.count < deepest else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: [], debugDescription: "There are more than \(deepest) levels."))
        }
    }

    /// Whether the text has a byte order mark, is UTF-16 or UTF-32 (and therefore contains zero bytes), or has a comma
    /// before a closing bracket: Foundation accepts all of these, but a provider does not.
    private static func hasWhatOnlyFoundationAccepts(_ bytes: [UInt8]) -> Bool {
        if bytes.first == 0xEF || bytes.contains(0) { return true }
        var (isInString, isEscaped, followsComma) = (false, false, false)
        for byte in bytes {
            switch byte {
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\") where isInString: isEscaped = true
            case UInt8(ascii: "\""): (isInString, followsComma) = (!isInString, false)
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                if followsComma && !isInString { return true }
            case 0x20, 0x0A, 0x0D, 0x09: break
            default: followsComma = byte == UInt8(ascii: ",") && !isInString
            }
        }
        return false
    }

    /// A member with any name.
    private struct MemberName: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
