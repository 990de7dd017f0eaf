/// The textual form of a UUID: 8-4-4-4-12 hexadecimal digits with hyphens (RFC 9562, section 4).
package enum UUIDText {
    /// Whether `text` is a hyphenated UUID of 36 characters, in either letter case, of any version.
    package static func isWellFormed(_ text: String) -> Bool {
        guard text.utf8.count == 36 else { return false }
        var position = 0
        for byte in text.utf8 {
            switch position {
            case 8, 13, 18, 23:
                guard byte == UInt8(ascii: "-") else { return false }
            default:
                guard HexadecimalDigit.value(of: byte) != nil else { return false }
            }
            position += 1
        }
        return true
    }
}
