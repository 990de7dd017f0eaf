/// Compares texts, ignoring the case of ASCII letters.
///
/// It works on UTF-8 bytes, so it neither normalises nor depends on a locale.
package enum ASCIICase {
    /// The lower-case form of an ASCII letter, any other byte unchanged.
    package static func folded(_ byte: UInt8) -> UInt8 {
        byte &- 0x41 < 26 ? byte | 0x20 : byte
    }

    /// Whether two texts differ at most in the case of ASCII letters.
    ///
    /// Compares eight bytes at a time: every lookup by an identifier compares one.
    package static func equal(_ left: String, _ right: String) -> Bool {
        guard left.utf8.count == right.utf8.count else { return false }
        var (left, right) = (left, right)
        // The pointers are used within the closures only, and both texts have the same number of bytes.
        return left.withUTF8 { left in
            right.withUTF8 { right in
                unsafe equal(UnsafeRawBufferPointer(left), UnsafeRawBufferPointer(right))
            }
        }
    }

    private static func equal(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        let wordsEnd = left.count & ~7
        for offset in stride(from: 0, to: wordsEnd, by: 8) {
            // Within the bounds of both; any eight bytes are a valid number.
            let leftWord = unsafe left.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            let rightWord = unsafe right.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            if leftWord != rightWord, folded(leftWord) != folded(rightWord) { return false }
        }
        for offset in wordsEnd..<left.count where unsafe folded(left[offset]) != folded(right[offset]) { return false }
        return true
    }

    /// Feeds the folded bytes of a text to a hasher, eight at a time, since the hasher takes as long for a single byte.
    package static func hash(_ text: String, into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { text in
            // The pointer is used within the closure only, and within its bounds.
            let bytes = UnsafeRawBufferPointer(text)
            let wordsEnd = bytes.count & ~7
            for offset in stride(from: 0, to: wordsEnd, by: 8) {
                hasher.combine(folded(unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
            }
            var word: UInt64 = 0
            for offset in wordsEnd..<bytes.count { word = word << 8 | UInt64(folded(unsafe bytes[offset])) }
            hasher.combine(word)
            hasher.combine(bytes.count)
        }
    }

    /// Eight bytes, each of them folded.
    ///
    /// An addition to the lower seven bits of a byte sets its highest bit if they are at least the code of a letter; no
    /// carry leaves the byte.
    private static func folded(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let lowBits = word & (ones &* 0x7F)
        let fromA = lowBits &+ ones &* (0x80 - 0x41)
        let afterZ = lowBits &+ ones &* (0x80 - 0x5B)
        let letters = fromA & ~afterZ & ~word & (ones &* 0x80)
        return word | letters >> 2
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
