/// Percent-encoding in URLs and forms (RFC 3986 section 2.1, WHATWG URL "application/x-www-form-urlencoded").
enum PercentEncoding {
    /// The percent-decoded text; `nil` if an escape is invalid or the result is not UTF-8.
    /// - Parameter plusIsBlank: `true` in queries and forms, where `+` means a space.
    static func decode(_ text: some StringProtocol, plusIsBlank: Bool) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+") where plusIsBlank: bytes.append(0x20)
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(hexValue), let low = rest.popFirst().flatMap(hexValue) else {
                    return nil
                }
                bytes.append(high << 4 | low)
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Escapes everything except letters, digits and `-._~`.
    static func encode(_ text: String) -> String {
        var output = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                output.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                output += digits.count == 1 ? "%0" + digits : "%" + digits
            }
        }
        return output
    }

    private static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

/// The decoded pairs of a query or of a form body, in order.
public struct QueryItems: Sendable, Equatable {
    /// Names and values as received.
    public let items: [Item]

    /// One name and its value; a name without `=` has an empty value.
    public struct Item: Sendable, Equatable {
        /// Decoded name.
        public let name: String
        /// Decoded value.
        public let value: String
    }

    /// Decodes `a=b&c=d`; a pair with invalid escapes is kept unchanged, so that it appears in an error.
    public init(_ text: String) {
        items = text.split(separator: "&", omittingEmptySubsequences: true).map { pair in
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            func decoded(_ half: Substring) -> String {
                PercentEncoding.decode(half, plusIsBlank: true) ?? String(half)
            }
            return Item(name: decoded(halves[0]), value: halves.count == 2 ? decoded(halves[1]) : "")
        }
    }

    /// The value of the first item with that name.
    public subscript(_ name: String) -> String? { items.first { $0.name == name }?.value }
}
