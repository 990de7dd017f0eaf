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
