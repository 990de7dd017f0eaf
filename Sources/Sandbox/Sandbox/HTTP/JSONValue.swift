import FoundationEssentials

/// A JSON value whose objects keep the order of their members.
///
/// People and tests compare the providers' responses, so members keep their insertion order; those of decoded objects
/// are sorted by name. Numbers are integers (`int`) wherever that is exact.
public enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case int(Int)
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    /// The text, if this is a string.
    public var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The integer, if this is one.
    public var int: Int? {
        switch self {
        case .int(let value): value
        case .double(let value): Int(exactly: value)
        default: nil
        }
    }

    /// The number, integer or not, if this is one.
    public var double: Double? {
        switch self {
        case .int(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    /// The boolean, if this is one.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The elements, if this is an array.
    public var array: [JSONValue]? {
        if case .array(let value) = self { value } else { nil }
    }

    /// The members, if this is an object.
    public var object: JSONObject? {
        if case .object(let value) = self { value } else { nil }
    }

    /// The member with that name, if this is an object that has one.
    public subscript(_ name: String) -> JSONValue? { object?[name] }
}

/// The members of a JSON object, in order, each name once.
public struct JSONObject: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    /// Names and values, in order.
    public private(set) var members: [(name: String, value: JSONValue)]

    /// An object with these members; if names are equal, the last value counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        members = []
        for (name, value) in elements { self[name] = value }
    }

    /// The value of a member; `nil` if it does not exist. Setting `nil` removes the member.
    public subscript(_ name: String) -> JSONValue? {
        get { members.first { $0.name == name }?.value }
        set {
            let place = members.firstIndex { $0.name == name }
            switch (place, newValue) {
            case (let place?, let value?): members[place].value = value
            case (let place?, nil): members.remove(at: place)
            case (nil, let value?): members.append((name, value))
            case (nil, nil): break
            }
        }
    }

    /// Equal if names, values and their order are equal.
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        left.members.elementsEqual(right.members) { $0.name == $1.name && $0.value == $1.value }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// An integer.
    public init(integerLiteral value: Int) { self = .int(value) }
    /// A boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// An array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// An object.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        var object: JSONObject = [:]
        for (name, value) in elements { object[name] = value }
        self = .object(object)
    }
}

extension Optional where Wrapped == JSONValue {
    /// A string; `nil` for a member that may be absent.
    static func string(_ text: String?) -> JSONValue? { text.map { .string($0) } }
    /// An integer; `nil` for a member that may be absent.
    static func int(_ number: Int?) -> JSONValue? { number.map { .int($0) } }
}

extension JSONValue: Decodable {
    /// The accepted depth of arrays and objects; lower than Foundation's own limit, which may be too deep for a
    /// worker's stack.
    private static let deepest = 64

    /// The value represented by all of `bytes` (RFC 8259, UTF-8), at most 64 levels deep.
    ///
    /// Members are sorted by name, because `JSONDecoder` does not report their order; if names are equal, the first
    /// counts. Numbers whose value is an exact `Int` become one, however they are written: `1.0` is 1. Others become
    /// doubles.
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

/// Entries of the state directory and of the control interface as JSON: members named like the entry's properties, and
/// times in the providers' format.
enum EntryJSON {
    static func bytes(of entry: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .custom { date, encoder in try date.text.encode(to: encoder) }
        return [UInt8](try encoder.encode(entry))
    }

    /// - Throws: `DecodingError`, for example if a member is missing.
    static func entry<Entry: Decodable>(_ type: Entry.Type, from bytes: [UInt8]) throws -> Entry {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            let value = try decoder.singleValueContainer()
            guard let date = Date(text: try value.decode(String.self)) else {
                throw DecodingError.dataCorruptedError(in: value, debugDescription: "The text is not a time.")
            }
            return date
        }
        return try decoder.decode(type, from: Data(bytes))
    }
}

extension JSONValue {
    /// The value as JSON text, indented by two spaces as Google prints it, or on one line.
    public func text(isPretty: Bool = false) -> String {
        var output = ""
        write(to: &output, indent: isPretty ? 0 : nil)
        return output
    }

    /// The value as UTF-8 JSON text.
    public func bytes(isPretty: Bool = false) -> [UInt8] { Array(text(isPretty: isPretty).utf8) }

    private func write(to output: inout String, indent: Int?) {
        switch self {
        case .null: output += "null"
        case .bool(let value): output += value ? "true" : "false"
        case .int(let value): output += String(value)
        case .double(let value): output += value.isFinite ? String(value) : "null"
        case .string(let value): Self.write(value, to: &output)
        case .array(let elements):
            Self.write(elements, between: ("[", "]"), to: &output, indent: indent) { element, output, indent in
                element.write(to: &output, indent: indent)
            }
        case .object(let object):
            Self.write(object.members, between: ("{", "}"), to: &output, indent: indent) { member, output, indent in
                Self.write(member.name, to: &output)
                output += indent == nil ? ":" : ": "
                member.value.write(to: &output, indent: indent)
            }
        }
    }

    private static func write<Element>(
        _ elements: [Element], between brackets: (String, String), to output: inout String, indent: Int?,
        _ one: (Element, inout String, Int?) -> Void
    ) {
        output += brackets.0
        let inner = indent.map { $0 + 1 }
        for (index, element) in elements.enumerated() {
            if index > 0 { output += "," }
            if let inner { output += "\n" + String(repeating: "  ", count: inner) }
            one(element, &output, inner)
        }
        if let indent, !elements.isEmpty { output += "\n" + String(repeating: "  ", count: indent) }
        output += brackets.1
    }

    private static func write(_ text: String, to output: inout String) {
        output += "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": output += "\\\""
            case "\\": output += "\\\\"
            case "\n": output += "\\n"
            case "\r": output += "\\r"
            case "\t": output += "\\t"
            case "\u{0}"..."\u{1f}", "\u{2028}", "\u{2029}":
                let digits = String(scalar.value, radix: 16)
                output += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: output.unicodeScalars.append(scalar)
            }
        }
        output += "\""
    }
}
