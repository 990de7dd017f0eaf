extension [UInt8] {
    /// The bytes as hexadecimal digits in lower case, two per byte.
    public var hexLowercase: String { hexadecimalText(digits: "0123456789abcdef") }

    /// The bytes as hexadecimal digits in upper case, two per byte.
    public var hexUppercase: String { hexadecimalText(digits: "0123456789ABCDEF") }

    /// Decodes hexadecimal digits of either case; nil if `text` is invalid.
    ///
    /// The number of digits must be even, and the text must contain nothing else.
    public init?(hexadecimal text: String) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count / 2)
        var high: UInt8?
        for digit in text.utf8 {
            guard let value = Self.value(ofDigit: digit) else { return nil }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        guard high == nil else { return nil }
        self = bytes
    }

    private func hexadecimalText(digits: StaticString) -> String {
        let digits = Array(digits.description.utf8)
        var text: [UInt8] = []
        text.reserveCapacity(count * 2)
        for byte in self {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func value(ofDigit digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
