extension [UInt8] {
    /// The bytes as base64url without padding (RFC 4648, section 5; RFC 7515, section 2).
    public var base64URL: String {
        var text: [UInt8] = []
        text.reserveCapacity((count * 4 + 2) / 3)
        var bits: UInt32 = 0
        var bitCount = 0
        for byte in self {
            bits = bits << 8 | UInt32(byte)
            bitCount += 8
            while bitCount >= 6 {
                bitCount -= 6
                text.append(Self.base64URLDigits[Int(bits >> UInt32(bitCount) & 63)])
            }
        }
        if bitCount > 0 { text.append(Self.base64URLDigits[Int(bits << UInt32(6 - bitCount) & 63)]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes base64url without padding; nil if `text` is invalid.
    ///
    /// Each value has exactly one encoding: padding, white space, the digits `+` and `/`, and nonzero unused bits are
    /// rejected (RFC 4648, section 3.5), so that no two different texts decode to the same token.
    public init?(base64URL text: some StringProtocol) {
        guard text.utf8.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count * 3 / 4)
        var bits: UInt32 = 0
        var bitCount = 0
        for digit in text.utf8 {
            guard let value = Self.value(ofBase64URLDigit: digit) else { return nil }
            bits = bits << 6 | UInt32(value)
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
            }
        }
        guard bits & (1 << UInt32(bitCount) - 1) == 0 else { return nil }
        self = bytes
    }

    private static let base64URLDigits = [UInt8](
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    private static func value(ofBase64URLDigit digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
