/// Hexadecimal digits in ASCII.
package enum HexadecimalDigit {
    /// The value 0–15 of a digit of either letter case; nil for any other byte.
    package static func value(of byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte &- 0x30
        case 0x41...0x46: byte &- 0x37
        case 0x61...0x66: byte &- 0x57
        default: nil
        }
    }

    /// The lower-case digit for the low four bits of `value`.
    package static func lowercase(_ value: UInt8) -> UInt8 {
        let digit = value & 0xF
        return digit < 10 ? digit &+ 0x30 : digit &+ 0x57
    }

    /// The upper-case digit for the low four bits of `value`.
    package static func uppercase(_ value: UInt8) -> UInt8 {
        let digit = value & 0xF
        return digit < 10 ? digit &+ 0x30 : digit &+ 0x37
    }
}
