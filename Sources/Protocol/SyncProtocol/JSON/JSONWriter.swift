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
