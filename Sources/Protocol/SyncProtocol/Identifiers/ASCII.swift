/// Compares texts, ignoring the case of ASCII letters.
///
/// It works on UTF-8 bytes, so it neither normalises nor depends on a locale.
package enum ASCIICase {
    /// The lower-case form of an ASCII letter, any other byte unchanged.
    package static func folded(_ byte: UInt8) -> UInt8 {
        byte &- 0x41 < 26 ? byte | 0x20 : byte
    }

    /// Whether two texts differ at most in the case of ASCII letters.
    package static func equal(_ left: String, _ right: String) -> Bool {
        left.utf8.count == right.utf8.count
            && left.utf8.elementsEqual(right.utf8) { folded($0) == folded($1) }
    }

    /// Whether the folded bytes of `left` come before those of `right`.
    package static func precedes(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8) { folded($0) < folded($1) }
    }
}

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

/// Decimal numbers without signs, whitespace, exponents or anything else.
package enum StrictDecimal {
    /// Parses the digits in `text` as a number.
    ///
    /// Nil if there is no digit, if there is any other byte (so `+5`, `-5` and ` 5` are refused), or if the number does
    /// not fit `type`. Leading zeros are accepted.
    package static func parse<Number: FixedWidthInteger>(
        _ text: some Sequence<UInt8>, as type: Number.Type = Number.self
    ) -> Number? {
        var number: Number?
        for byte in text {
            guard byte &- 0x30 < 10 else { return nil }
            let (shifted, overflow) = (number ?? 0).multipliedReportingOverflow(by: 10)
            let (sum, carry) = shifted.addingReportingOverflow(Number(truncatingIfNeeded: byte &- 0x30))
            guard !overflow, !carry else { return nil }
            number = sum
        }
        return number
    }
}
