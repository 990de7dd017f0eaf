/// Encodes and decodes names and values of queries and forms.
enum FormText {
    /// `a=b&c=d`, with everything escaped except unreserved characters (RFC 3986, section 2.3).
    static func encode(_ items: [(name: String, value: String)]) -> String {
        items.map { escape($0.name) + "=" + escape($0.value) }.joined(separator: "&")
    }

    private static func escape(_ text: String) -> String {
        var bytes: [UInt8] = []
        let digits = Array("0123456789ABCDEF".utf8)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The decoded text, with `+` for a space; `nil` for a malformed escape or invalid UTF-8.
    static func decode(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(0x20)
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(value), let low = rest.popFirst().flatMap(value) else {
                    return nil
                }
                bytes.append(high << 4 | low)
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

/// The target of a request line (RFC 9112, section 3.2.1), with its query parsed.
struct RequestTarget: Sendable, Equatable {
    let path: String
    private let items: [Item]

    private struct Item: Sendable, Equatable {
        let name: String
        let value: String
    }

    /// `nil` if it is not of the form `/path?query`, or has a malformed escape.
    init?(_ text: String) {
        guard text.hasPrefix("/") else { return nil }
        let halves = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = String(halves[0])
        var items: [Item] = []
        for pair in halves.count == 2 ? halves[1].split(separator: "&") : [] {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = FormText.decode(parts[0]), let value = FormText.decode(parts.count == 2 ? parts[1] : "")
            else { return nil }
            items.append(Item(name: name, value: value))
        }
        self.items = items
    }

    /// The value of a parameter that occurs exactly once.
    func single(_ name: String) -> String? {
        let found = items.filter { $0.name == name }
        return found.count == 1 ? found[0].value : nil
    }
}
