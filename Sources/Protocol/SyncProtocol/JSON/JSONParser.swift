/// A strict parser of JSON text (RFC 8259), by recursive descent over UTF-8 bytes.
///
/// It parses the few small objects that clients send. Foundation's decoder would accept too much: a member that occurs
/// twice, `1.0` for an integer, a comma after the last element (docs/adr/0053-readers-of-json.md). A lone surrogate in
/// a string is an error, since it represents no character; `\u0000` is a character like any other. Values may be nested
/// 64 levels deep.
struct JSONParser {
    /// The text is not JSON, or not of the expected shape.
    struct SyntaxError: Error {}

    /// Maximum nesting depth of arrays and objects.
    static let maximumDepth = 64

    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    /// Parses bytes; those of a string that are not UTF-8 become U+FFFD.
    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The next byte that is not whitespace, without consuming it; nil at the end.
    mutating func peek() -> UInt8? {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return bytes[position]
            }
        }
        return nil
    }

    /// Consumes `scalar`, after whitespace.
    mutating func expect(_ scalar: Unicode.Scalar) throws(SyntaxError) {
        guard peek() == UInt8(ascii: scalar) else { throw SyntaxError() }
        position += 1
    }

    /// Consumes `scalar`, after whitespace, if it is next.
    mutating func accept(_ scalar: Unicode.Scalar) -> Bool {
        guard peek() == UInt8(ascii: scalar) else { return false }
        position += 1
        return true
    }

    /// Checks that only whitespace is left.
    mutating func expectEnd() throws(SyntaxError) {
        guard peek() == nil else { throw SyntaxError() }
    }

    /// Parses an object, calling `member` with each name; it must consume the value.
    mutating func object(_ member: (String, inout JSONParser) throws(SyntaxError) -> Void) throws(SyntaxError) {
        try expect("{")
        if accept("}") { return }
        repeat {
            let name = try string()
            try expect(":")
            try member(name, &self)
        } while accept(",")
        try expect("}")
    }

    /// Parses a string.
    mutating func string() throws(SyntaxError) -> String {
        try expect("\"")
        var text: [UInt8] = []
        while true {
            let byte = try take()
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): try escape(into: &text)
            case 0..<0x20: throw SyntaxError()
            default: text.append(byte)
            }
        }
    }

    /// Consumes the text of a number.
    mutating func number() throws(SyntaxError) -> ArraySlice<UInt8> {
        _ = peek()
        let start = position
        _ = acceptByte("-")
        if !acceptByte("0") { try digits() }
        if acceptByte(".") { try digits() }
        if acceptByte("e") || acceptByte("E") {
            if !acceptByte("+") { _ = acceptByte("-") }
            try digits()
        }
        return bytes[start..<position]
    }

    /// Skips any value.
    mutating func skipValue(depth: Int = 0) throws(SyntaxError) {
        guard depth < Self.maximumDepth else { throw SyntaxError() }
        switch peek() {
        case UInt8(ascii: "{"):
            try object { (_, parser) throws(SyntaxError) in try parser.skipValue(depth: depth + 1) }
        case UInt8(ascii: "["):
            try expect("[")
            if accept("]") { return }
            repeat { try skipValue(depth: depth + 1) } while accept(",")
            try expect("]")
        case UInt8(ascii: "\""): _ = try string()
        case UInt8(ascii: "t"): try literal("true")
        case UInt8(ascii: "f"): try literal("false")
        case UInt8(ascii: "n"): try literal("null")
        default: _ = try number()
        }
    }

    private mutating func take() throws(SyntaxError) -> UInt8 {
        guard position < bytes.count else { throw SyntaxError() }
        defer { position += 1 }
        return bytes[position]
    }

    private mutating func acceptByte(_ scalar: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: scalar) else { return false }
        position += 1
        return true
    }

    private mutating func digits() throws(SyntaxError) {
        let start = position
        while position < bytes.count, bytes[position] &- 0x30 < 10 { position += 1 }
        guard position > start else { throw SyntaxError() }
    }

    private mutating func literal(_ text: String) throws(SyntaxError) {
        for byte in text.utf8 {
            guard try take() == byte else { throw SyntaxError() }
        }
    }

    private mutating func escape(into text: inout [UInt8]) throws(SyntaxError) {
        switch Unicode.Scalar(try take()) {
        case "\"": text.append(UInt8(ascii: "\""))
        case "\\": text.append(UInt8(ascii: "\\"))
        case "/": text.append(UInt8(ascii: "/"))
        case "b": text.append(0x08)
        case "f": text.append(0x0C)
        case "n": text.append(0x0A)
        case "r": text.append(0x0D)
        case "t": text.append(0x09)
        case "u": text.append(contentsOf: String(try unicodeEscape()).utf8)
        default: throw SyntaxError()
        }
    }

    private mutating func unicodeEscape() throws(SyntaxError) -> Unicode.Scalar {
        let first = try fourDigits()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xDC00, try take() == UInt8(ascii: "\\"), try take() == UInt8(ascii: "u") else {
            throw SyntaxError()
        }
        let second = try fourDigits()
        guard (0xDC00...0xDFFF).contains(second),
            let scalar = Unicode.Scalar(0x1_0000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else { throw SyntaxError() }
        return scalar
    }

    private mutating func fourDigits() throws(SyntaxError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = HexadecimalDigit.value(of: try take()) else { throw SyntaxError() }
            value = value << 4 | UInt32(digit)
        }
        return value
    }
}
