extension JSONWriter {
    /// Whether a byte stands in a JSON string as it is, in either form.
    static func isPlainASCII(_ byte: UInt8) -> Bool {
        byte &- 0x20 < 0x5F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    /// Appends text that stands between quotes.
    ///
    /// The bytes are copied at once and looked at afterwards, since nearly all texts need no escaping.
    mutating func appendEscaped(_ text: String) {
        let form = form
        withBytes { bytes in
            let start = bytes.count
            bytes.append(contentsOf: text.utf8)
            Self.escapeTail(of: &bytes, from: start, form: form)
        }
    }

    /// Appends text that stands between quotes. Invalid UTF-8 is repaired where anything needs escaping, and else copied.
    mutating func appendEscaped(_ text: borrowing RawSpan) {
        let form = form
        withBytes { bytes in
            let start = bytes.count
            // The span vouches for its memory during this call; the bytes are copied, and the pointer goes nowhere.
            unsafe text.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
            Self.escapeTail(of: &bytes, from: start, form: form)
        }
    }

    /// Replaces what must not stand between quotes in `bytes[start...]`.
    private static func escapeTail(of bytes: inout [UInt8], from start: Int, form: Form) {
        var position = start
        let end = bytes.count
        while position < end, isLeftAlone(bytes[position], form: form) { position += 1 }
        guard position < end else { return }
        // From the first byte that needs it on; as that is never inside of a scalar, the rest is text by itself.
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

    /// Number of bytes that `text` takes between the quotes of a string in the ASCII-only form.
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
