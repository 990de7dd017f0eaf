/// Why a text is not JSON, with the byte offset of the error.
public struct JSONSyntaxError: Error, Equatable {
    /// Offset in bytes from the start of the text.
    public let offset: Int
}

/// Reads one JSON value (RFC 8259) from UTF-8 bytes: strict, at most 64 levels deep.
public struct JSONParser {
    private let bytes: [UInt8]
    private var position = 0
    private static let deepest = 64

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The value that the whole of `bytes` stands for.
    /// - Throws: ``JSONSyntaxError`` for anything that is not one JSON value, with nothing but white space around it.
    public static func parse(_ bytes: [UInt8]) throws(JSONSyntaxError) -> JSONValue {
        var parser = JSONParser(bytes)
        let value = try parser.value(depth: 0)
        parser.skipBlanks()
        guard parser.position == bytes.count else { throw parser.failure }
        return value
    }

    private var failure: JSONSyntaxError { JSONSyntaxError(offset: position) }
    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipBlanks() {
        while let byte = current, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { position += 1 }
    }

    private mutating func expect(_ literal: StaticString, _ value: JSONValue) throws(JSONSyntaxError) -> JSONValue {
        for byte in String(describing: literal).utf8 {
            guard current == byte else { throw failure }
            position += 1
        }
        return value
    }

    private mutating func value(depth: Int) throws(JSONSyntaxError) -> JSONValue {
        guard depth < Self.deepest else { throw failure }
        skipBlanks()
        switch current {
        case UInt8(ascii: "{"): return .object(try object(depth: depth))
        case UInt8(ascii: "["): return .array(try array(depth: depth))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try expect("true", .bool(true))
        case UInt8(ascii: "f"): return try expect("false", .bool(false))
        case UInt8(ascii: "n"): return try expect("null", .null)
        default: return try number()
        }
    }

    private mutating func object(depth: Int) throws(JSONSyntaxError) -> JSONObject {
        var object: JSONObject = [:]
        position += 1
        skipBlanks()
        if current == UInt8(ascii: "}") {
            position += 1
            return object
        }
        while true {
            skipBlanks()
            guard current == UInt8(ascii: "\"") else { throw failure }
            let name = try string()
            skipBlanks()
            guard current == UInt8(ascii: ":") else { throw failure }
            position += 1
            object[name] = try value(depth: depth + 1)
            guard try anotherFollows(before: UInt8(ascii: "}")) else { return object }
        }
    }

    private mutating func array(depth: Int) throws(JSONSyntaxError) -> [JSONValue] {
        var elements: [JSONValue] = []
        position += 1
        skipBlanks()
        if current == UInt8(ascii: "]") {
            position += 1
            return elements
        }
        while true {
            elements.append(try value(depth: depth + 1))
            guard try anotherFollows(before: UInt8(ascii: "]")) else { return elements }
        }
    }

    private mutating func anotherFollows(before end: UInt8) throws(JSONSyntaxError) -> Bool {
        skipBlanks()
        guard let byte = current, byte == end || byte == UInt8(ascii: ",") else { throw failure }
        position += 1
        return byte != end
    }

    private mutating func string() throws(JSONSyntaxError) -> String {
        position += 1
        var utf8: [UInt8] = []
        while let byte = current {
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let text = String(validating: utf8, as: UTF8.self) else { throw failure }
                return text
            case UInt8(ascii: "\\"): utf8.append(contentsOf: String(try escapedScalar()).utf8)
            case 0..<0x20: throw failure
            default: utf8.append(byte)
            }
        }
        throw failure
    }

    private mutating func escapedScalar() throws(JSONSyntaxError) -> Character {
        guard let byte = current else { throw failure }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Character(Unicode.Scalar(byte))
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            let first = try codeUnit()
            if let scalar = Unicode.Scalar(first) { return Character(scalar) }
            guard (0xd800..<0xdc00).contains(first), current == UInt8(ascii: "\\") else { throw failure }
            position += 1
            guard current == UInt8(ascii: "u") else { throw failure }
            position += 1
            let second = try codeUnit()
            guard (0xdc00..<0xe000).contains(second),
                let scalar = Unicode.Scalar(0x10000 + (first - 0xd800) << 10 + (second - 0xdc00))
            else { throw failure }
            return Character(scalar)
        default: throw failure
        }
    }

    private mutating func codeUnit() throws(JSONSyntaxError) -> UInt32 {
        guard position + 4 <= bytes.count,
            let text = String(validating: bytes[position..<position + 4], as: UTF8.self),
            text.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }), let unit = UInt32(text, radix: 16)
        else { throw failure }
        position += 4
        return unit
    }

    private mutating func number() throws(JSONSyntaxError) -> JSONValue {
        let start = position
        while let byte = current,
            (0x30...0x39).contains(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+")
                || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E")
        { position += 1 }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if text.first != "+", let whole = Int(text) { return .int(whole) }
        guard text.first != "+", text.first != ".", let number = Double(text) else { throw failure }
        return .double(number)
    }
}
