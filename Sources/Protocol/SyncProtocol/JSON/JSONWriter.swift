/// Writes JSON (RFC 8259) directly as bytes, member by member, without an intermediate model.
///
/// The writer inserts commas; the caller must match each `begin` with its `end`, and use distinct names for members.
/// The text has no line breaks or whitespace, so it is always a single line.
public struct JSONWriter: Sendable {
    /// How characters outside ASCII are written.
    public enum Form: Sendable, Hashable {
        /// As UTF-8: for bodies.
        case utf8
        /// As `\uXXXX`, as a surrogate pair beyond U+FFFF: for header values, in which other encodings would be
        /// corrupted.
        case asciiOnly
    }

    /// The bytes written so far.
    public private(set) var bytes: [UInt8] = []
    /// How characters outside ASCII are written.
    public let form: Form
    /// Whether a value has been completed, so that the next one on this level needs a comma.
    private var needsComma = false

    /// Creates an empty writer.
    public init(form: Form = .utf8, reservingBytes: Int = 256) {
        self.form = form
        bytes.reserveCapacity(reservingBytes)
    }

    // MARK: Structure

    /// Writes an object whose members are written by `members`.
    public mutating func object(_ members: (inout JSONWriter) -> Void) {
        beginObject()
        members(&self)
        endObject()
    }

    /// Writes an array whose elements are written by `elements`.
    public mutating func array(_ elements: (inout JSONWriter) -> Void) {
        beginArray()
        elements(&self)
        endArray()
    }

    /// Opens an object, as an element or after ``key(_:)``.
    public mutating func beginObject() {
        begin(UInt8(ascii: "{"))
    }

    /// Closes the innermost object.
    public mutating func endObject() {
        end(UInt8(ascii: "}"))
    }

    /// Opens an array, as an element or after ``key(_:)``.
    public mutating func beginArray() {
        begin(UInt8(ascii: "["))
    }

    /// Closes the innermost array.
    public mutating func endArray() {
        end(UInt8(ascii: "]"))
    }

    /// Writes the name of a member; its value must come next.
    public mutating func key(_ key: JSONKey) {
        separate()
        bytes.append(contentsOf: key.text.utf8)
        needsComma = false
    }

    // MARK: Values

    /// Writes a string.
    public mutating func value(text: String) {
        openString()
        appendEscaped(text)
        closeString()
    }

    /// Writes a string from bytes that are UTF-8; no `String` is created if they are plain ASCII.
    public mutating func value(text: borrowing RawSpan) {
        openString()
        appendEscaped(text)
        closeString()
    }

    /// Writes an integer.
    public mutating func value(_ number: some FixedWidthInteger & SignedInteger) {
        separate()
        appendDecimal(Int64(number))
        needsComma = true
    }

    /// Writes `true` or `false`.
    public mutating func value(_ isTrue: Bool) {
        separate()
        bytes.append(contentsOf: isTrue ? Self.trueBytes : Self.falseBytes)
        needsComma = true
    }

    /// Writes a number that may have a fraction; infinities and NaN, which JSON does not support, become `null`.
    public mutating func value(_ number: Double) {
        separate()
        bytes.append(contentsOf: (number.isFinite ? number.description : "null").utf8)
        needsComma = true
    }

    /// Writes a date as a string.
    public mutating func value(_ date: WireDate) {
        openString()
        date.append(to: &bytes)
        closeString()
    }

    // MARK: Draining

    /// Passes on what has been written so far and drops it, keeping the memory; for replies too long to be held as a
    /// whole.
    public mutating func drain(_ consume: (borrowing [UInt8]) throws -> Void) rethrows {
        try consume(bytes)
        bytes.removeAll(keepingCapacity: true)
    }

    /// Drops the first `count` bytes, which have been sent, keeping the memory.
    public mutating func dropFirst(_ count: Int) {
        bytes.removeSubrange(..<count)
    }

    // MARK: Private detail

    private static let trueBytes = Array("true".utf8)
    private static let falseBytes = Array("false".utf8)

    private mutating func begin(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func end(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    private mutating func openString() {
        separate()
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func closeString() {
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
    }

    /// Lets an extension append text inside the quotes.
    mutating func withBytes(_ body: (inout [UInt8]) -> Void) {
        body(&bytes)
    }

    private mutating func appendDecimal(_ number: Int64) {
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        var rest = number.magnitude
        guard rest >= 10 else {
            bytes.append(0x30 + UInt8(truncatingIfNeeded: rest))
            return
        }
        let start = bytes.count
        while rest > 0 {
            let (quotient, remainder) = rest.quotientAndRemainder(dividingBy: 10)
            bytes.append(0x30 + UInt8(truncatingIfNeeded: remainder))
            rest = quotient
        }
        bytes[start...].reverse()
    }
}

extension JSONWriter {
    /// Writes a member whose value is a string.
    public mutating func field(_ name: JSONKey, text: String) {
        key(name)
        value(text: text)
    }

    /// Writes a member whose value is a string, unless it is nil.
    public mutating func field(_ name: JSONKey, text: String?) {
        if let text { field(name, text: text) }
    }

    /// Writes a member whose value is a string, from UTF-8 as stored in a database column.
    public mutating func field(_ name: JSONKey, text: borrowing RawSpan) {
        key(name)
        value(text: text)
    }

    /// Writes a member whose value is an identifier, unless it is nil.
    public mutating func field(_ name: JSONKey, _ identifier: (some CasePreservingIdentifier)?) {
        if let identifier { field(name, text: identifier.rawValue) }
    }

    /// Writes a member whose value is a typed number, unless it is nil.
    public mutating func field(_ name: JSONKey, _ number: (some WireInteger)?) {
        guard let number else { return }
        key(name)
        value(number.rawValue)
    }

    /// Writes a member whose value is an integer.
    public mutating func field(_ name: JSONKey, _ number: some FixedWidthInteger & SignedInteger) {
        key(name)
        value(number)
    }

    /// Writes a member whose value is `true` or `false`.
    public mutating func field(_ name: JSONKey, _ isTrue: Bool) {
        key(name)
        value(isTrue)
    }

    /// Writes a member whose value is a date, unless it is nil.
    public mutating func field(_ name: JSONKey, _ date: WireDate?) {
        guard let date else { return }
        key(name)
        value(date)
    }

    /// Writes a member whose value is an array with an object for each of `elements`.
    public mutating func field<Element>(
        _ name: JSONKey, objects elements: [Element], _ members: (Element, inout JSONWriter) -> Void
    ) {
        key(name)
        array { writer in
            for element in elements { writer.object { members(element, &$0) } }
        }
    }

    /// Writes a member whose value is a word of a closed set, unless it is nil.
    public mutating func field<Word: RawRepresentable<String>>(_ name: JSONKey, _ word: Word?) {
        if let word { field(name, text: word.rawValue) }
    }
}

/// The name of a member of a JSON object, ready to be copied into the text.
///
/// A name is written unchanged, so it must not need escaping: printable ASCII without quotes or backslashes.
public struct JSONKey: Sendable, ExpressibleByStringLiteral {
    /// The name in quotes, and a colon.
    let text: String

    /// Creates a key from a name.
    public init(stringLiteral name: String) {
        self.init(text: "\"\(name)\":")
    }

    /// Creates a key from a name that already includes its quotes and colon; if it is a literal, copying it involves no
    /// reference counting.
    init(text: String) {
        assert(
            text.utf8.dropFirst().dropLast(2).allSatisfy { JSONWriter.isPlainASCII($0) },
            "the name of a member must need no escaping")
        self.text = text
    }
}

extension JSONWriter {
    /// Whether a byte appears unchanged in a JSON string, in either form.
    static func isPlainASCII(_ byte: UInt8) -> Bool {
        byte &- 0x20 < 0x5F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    /// Appends text inside quotes, escaped where needed.
    ///
    /// The bytes are copied first and examined afterwards, since nearly all texts need no escaping.
    mutating func appendEscaped(_ text: String) {
        let form = form
        withBytes { bytes in
            let start = bytes.count
            bytes.append(contentsOf: text.utf8)
            Self.escapeTail(of: &bytes, from: start, form: form)
        }
    }

    /// Appends text inside quotes, escaped where needed.
    ///
    /// Invalid UTF-8 is repaired after the first byte that needs escaping, and copied before it; databases contain
    /// none.
    mutating func appendEscaped(_ text: borrowing RawSpan) {
        let form = form
        withBytes { bytes in
            let start = bytes.count
            // The span guarantees its memory during this call; the bytes are copied, and the pointer does not escape.
            unsafe text.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
            if form == .asciiOnly || Self.needsEscaping(text) {
                Self.escapeTail(of: &bytes, from: start, form: form)
            }
        }
    }

    /// Whether any byte needs escaping inside quotes, in the form for bodies.
    ///
    /// Examines eight bytes at a time: subtracting 1 from a byte that is 0 sets its highest bit, which finds zeros
    /// after an XOR with the searched byte; likewise for bytes less than 32. A borrow affects only bytes above one that
    /// has already been found.
    private static func needsEscaping(_ text: borrowing RawSpan) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highBits: UInt64 = 0x8080_8080_8080_8080
        let wordCount = text.byteCount / 8
        for word in 0..<wordCount {
            // Checked against the span's bounds; any eight bytes are a valid number.
            let bytes = unsafe text.unsafeLoadUnaligned(fromByteOffset: word * 8, as: UInt64.self)
            let quotes = bytes ^ (ones &* 0x22)
            let backslashes = bytes ^ (ones &* 0x5C)
            let found =
                (bytes &- ones &* 0x20) & ~bytes | (quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes
            if found & highBits != 0 { return true }
        }
        for offset in wordCount * 8..<text.byteCount {
            let byte = unsafe text.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
            if !isLeftAlone(byte, form: .utf8) { return true }
        }
        return false
    }

    /// Escapes what needs escaping inside quotes in `bytes[start...]`.
    private static func escapeTail(of bytes: inout [UInt8], from start: Int, form: Form) {
        var position = start
        let end = bytes.count
        while position < end, isLeftAlone(bytes[position], form: form) { position += 1 }
        guard position < end else { return }
        // Starts at the first byte that needs escaping, which is never inside a scalar, so the rest is valid text by
        // itself.
        let rest = String(decoding: bytes[position...], as: UTF8.self)
        bytes.removeSubrange(position...)
        for scalar in rest.unicodeScalars { append(scalar, to: &bytes, form: form) }
    }

    private static func isLeftAlone(_ byte: UInt8, form: Form) -> Bool {
        isPlainASCII(byte) || (byte >= 0x7F && form == .utf8)
    }

    private static func append(_ scalar: Unicode.Scalar, to bytes: inout [UInt8], form: Form) {
        switch scalar {
        case "\"": bytes.append(contentsOf: [0x5C, 0x22])
        case "\\": bytes.append(contentsOf: [0x5C, 0x5C])
        case "\n": bytes.append(contentsOf: [0x5C, UInt8(ascii: "n")])
        case "\r": bytes.append(contentsOf: [0x5C, UInt8(ascii: "r")])
        case "\t": bytes.append(contentsOf: [0x5C, UInt8(ascii: "t")])
        case " "..."~": bytes.append(UInt8(truncatingIfNeeded: scalar.value))
        case _ where form == .utf8 && scalar.value >= 0x7F: bytes.append(contentsOf: UTF8.encode(scalar)!)
        default:
            for unit in UTF16.encode(scalar)! {
                bytes.append(contentsOf: [0x5C, UInt8(ascii: "u")])
                for shift in [12, 8, 4, 0] as [UInt16] {
                    bytes.append(HexadecimalDigit.lowercase(UInt8(truncatingIfNeeded: unit >> shift)))
                }
            }
        }
    }

    /// The number of bytes that `text` occupies inside the quotes of a string in the ASCII-only form.
    static func asciiEscapedLength(of text: String) -> Int {
        text.unicodeScalars.reduce(into: 0) { length, scalar in
            switch scalar {
            case "\"", "\\", "\n", "\r", "\t": length += 2
            case " "..."~": length += 1
            default: length += scalar.value > 0xFFFF ? 12 : 6
            }
        }
    }
}
