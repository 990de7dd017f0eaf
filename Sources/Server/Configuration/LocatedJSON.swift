/// A JSON value with its position, so that a whole file can be read before its contents are validated.
struct LocatedJSON {
    indirect enum Value {
        case null
        case bool(Bool)
        /// The number as written.
        case number(String)
        case string(String)
        case array([LocatedJSON])
        /// In the order of the file; a name may occur twice.
        case object([Member])
    }

    struct Member {
        var name: String
        /// The position of the name.
        var place: TextPlace
        /// The start of the name's text, in Unicode scalars from the beginning of the file.
        var start: Int
        var value: LocatedJSON
    }

    var value: Value
    var place: TextPlace
    /// The range of its text, in Unicode scalars from the beginning of the file.
    var extent: Range<Int>
}

/// A strict parser of JSON text (RFC 8259) that reports where a mistake is, and its probable cause.
struct LocatedJSONParser {
    /// The text is not JSON.
    struct Mistake: Error {
        var place: TextPlace
        var sentence: String
    }

    private static let maximumDepth = 64
    private static let byteOrderMark: Unicode.Scalar = "\u{FEFF}"

    private let scalars: [Unicode.Scalar]
    private var position = 0
    private var place = TextPlace(line: 1, column: 1)

    /// The value whose text is `bytes`.
    /// - Throws: ``Mistake``, the first one.
    static func parse(_ bytes: [UInt8]) throws(Mistake) -> LocatedJSON {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            let start = String(decoding: bytes.prefix(Self.lengthOfValidUTF8(bytes)), as: UTF8.self)
            let lines = start.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
            throw Mistake(
                place: TextPlace(line: lines.count, column: (lines.last?.count ?? 0) + 1),
                sentence: "the file must be in UTF-8, but this is not UTF-8")
        }
        var parser = LocatedJSONParser(scalars: Array(text.unicodeScalars))
        if parser.next == byteOrderMark { parser.position += 1 }
        let value = try parser.value(depth: 0)
        try parser.skipBlanks()
        if parser.next != nil { throw parser.mistake("there is text after the end of the JSON value") }
        return value
    }

    private init(scalars: [Unicode.Scalar]) { self.scalars = scalars }

    /// The number of bytes at the beginning that are UTF-8.
    private static func lengthOfValidUTF8(_ bytes: [UInt8]) -> Int {
        var decoder = UTF8()
        var iterator = bytes.makeIterator()
        var count = 0
        while case .scalarValue(let scalar) = decoder.decode(&iterator) { count += UTF8.width(scalar) }
        return count
    }

    // MARK: Values

    private mutating func value(depth: Int) throws(Mistake) -> LocatedJSON {
        try skipBlanks()
        guard depth < Self.maximumDepth else { throw mistake("values are nested too deeply") }
        let start = place
        let begin = position
        let value: LocatedJSON.Value
        switch next {
        case "{": value = .object(try members(depth: depth))
        case "[": value = .array(try items(depth: depth))
        case "\"": value = .string(try string())
        case let scalar? where scalar == "-" || Self.isDigit(scalar): value = .number(try number())
        case let scalar? where scalar.properties.isAlphabetic: value = try word()
        case "'": throw mistake("strings must be in double quotation marks")
        case nil: throw mistake(depth == 0 ? "the file is empty" : "the file ends where a value is expected")
        case let other?: throw mistake("a value is expected here, not \(Self.quoted(other))")
        }
        return LocatedJSON(value: value, place: start, extent: begin..<position)
    }

    private mutating func members(depth: Int) throws(Mistake) -> [LocatedJSON.Member] {
        let opening = place
        advance()
        var members: [LocatedJSON.Member] = []
        try skipBlanks()
        if try accept("}") { return members }
        while true {
            try skipBlanks()
            let namePlace = place
            let start = position
            if next == "}" { throw mistake("a comma is not allowed before the closing }") }
            guard next == "\"" else {
                throw mistake(
                    next == nil
                        ? "the object that begins at \(opening) does not end"
                        : "a name in quotation marks is expected here")
            }
            let name = try string()
            guard try accept(":") else { throw mistake("a colon is expected after \"\(name)\"") }
            members.append(
                LocatedJSON.Member(name: name, place: namePlace, start: start, value: try value(depth: depth + 1)))
            if try accept(",") { continue }
            if try accept("}") { return members }
            throw mistake(
                next == nil ? "the object that begins at \(opening) does not end" : "a comma or } is expected here")
        }
    }

    private mutating func items(depth: Int) throws(Mistake) -> [LocatedJSON] {
        let start = place
        advance()
        var items: [LocatedJSON] = []
        if try accept("]") { return items }
        while true {
            try skipBlanks()
            if next == "]" { throw mistake("a comma is not allowed before the closing ]") }
            items.append(try value(depth: depth + 1))
            if try accept(",") { continue }
            if try accept("]") { return items }
            throw mistake(
                next == nil ? "the list that begins at \(start) does not end" : "a comma or ] is expected here")
        }
    }

    private mutating func word() throws(Mistake) -> LocatedJSON.Value {
        let start = place
        var word = ""
        while let scalar = next, scalar.properties.isAlphabetic {
            word.unicodeScalars.append(scalar)
            advance()
        }
        switch word {
        case "true": return .bool(true)
        case "false": return .bool(false)
        case "null": return .null
        default:
            throw Mistake(place: start, sentence: "\(word) is not a value; strings must be in double quotation marks")
        }
    }

    private mutating func number() throws(Mistake) -> String {
        let start = place
        let first = position
        if next == "-" { advance() }
        let isLeadingZero = next == "0"
        let integers = digits()
        var isGood = integers == 1 || integers > 1 && !isLeadingZero
        if next == "." {
            advance()
            isGood = digits() > 0 && isGood
        }
        if next == "e" || next == "E" {
            advance()
            if next == "+" || next == "-" { advance() }
            isGood = digits() > 0 && isGood
        }
        while let scalar = next, scalar.properties.isAlphabetic || scalar.properties.numericType != nil {
            isGood = false
            advance()
        }
        var text = String.UnicodeScalarView()
        text.append(contentsOf: scalars[first..<position])
        guard isGood else { throw Mistake(place: start, sentence: "\(String(text)) is not a number in JSON") }
        return String(text)
    }

    /// Skips digits, and returns their number.
    private mutating func digits() -> Int {
        let first = position
        while let scalar = next, Self.isDigit(scalar) { advance() }
        return position - first
    }

    private static func isDigit(_ scalar: Unicode.Scalar) -> Bool { (0x30...0x39).contains(scalar.value) }

    // MARK: Texts

    private mutating func string() throws(Mistake) -> String {
        let start = place
        advance()
        var text = String.UnicodeScalarView()
        while let scalar = next {
            switch scalar {
            case "\"":
                advance()
                return String(text)
            case "\\": text.append(try escape())
            case "\n": throw Mistake(place: start, sentence: "the string that begins here does not end on its line")
            case _ where scalar.value < 0x20:
                throw mistake("a control character in a string must be written as \\u00XX")
            default:
                text.append(scalar)
                advance()
            }
        }
        throw Mistake(place: start, sentence: "the string that begins here does not end")
    }

    private mutating func escape() throws(Mistake) -> Unicode.Scalar {
        let start = place
        advance()
        let letter = next
        advance()
        switch letter {
        case "\"", "\\", "/": return letter ?? "/"
        case "b": return "\u{8}"
        case "f": return "\u{C}"
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "u": break
        default:
            throw Mistake(place: start, sentence: "JSON has no such escape; a backslash is written as \\\\")
        }
        let unit = try fourDigits(since: start)
        if let scalar = Unicode.Scalar(unit) { return scalar }
        let isPair = unit < 0xDC00 && next == "\\"
        if isPair { advance() }
        if isPair, next == "u" {
            advance()
            let low = try fourDigits(since: start)
            if (0xDC00...0xDFFF).contains(low),
                let scalar = Unicode.Scalar(0x1_0000 + (unit - 0xD800) << 10 + (low - 0xDC00))
            {
                return scalar
            }
        }
        throw Mistake(place: start, sentence: "half of a surrogate pair is not a character")
    }

    private mutating func fourDigits(since start: TextPlace) throws(Mistake) -> UInt32 {
        var digits = ""
        for _ in 0..<4 {
            if let scalar = next, scalar.properties.isASCIIHexDigit { digits.unicodeScalars.append(scalar) }
            advance()
        }
        guard digits.count == 4, let unit = UInt32(digits, radix: 16) else {
            throw Mistake(place: start, sentence: "\\u needs four hexadecimal digits")
        }
        return unit
    }

    // MARK: Characters

    private var next: Unicode.Scalar? { position < scalars.count ? scalars[position] : nil }

    private mutating func advance() {
        guard let scalar = next else { return }
        position += 1
        if scalar == "\n" {
            place = TextPlace(line: place.line + 1, column: 1)
        } else {
            place.column += 1
        }
    }

    private mutating func skipBlanks() throws(Mistake) {
        while let scalar = next {
            switch scalar {
            case " ", "\t", "\n", "\r": advance()
            case "/", "#": throw mistake("JSON does not allow comments")
            default: return
            }
        }
    }

    private mutating func accept(_ scalar: Unicode.Scalar) throws(Mistake) -> Bool {
        try skipBlanks()
        guard next == scalar else { return false }
        advance()
        return true
    }

    private func mistake(_ sentence: String) -> Mistake { Mistake(place: place, sentence: sentence) }

    private static func quoted(_ scalar: Unicode.Scalar) -> String {
        scalar.properties.isWhitespace || scalar.value < 0x20 ? "U+\(String(scalar.value, radix: 16))" : "\(scalar)"
    }
}
