import SyncProtocol

/// Encodes and decodes names and values of queries and forms.
enum FormText {
    /// `a=b&c=d`, with everything escaped except unreserved characters (RFC 3986, section 2.3).
    static func encode(_ items: [(name: String, value: String)]) -> String {
        items.map { PercentEncoding.encode($0.name) + "=" + PercentEncoding.encode($0.value) }.joined(separator: "&")
    }

    /// The decoded text, with `+` for a space; `nil` for a malformed escape or invalid UTF-8.
    static func decode(_ text: Substring) -> String? {
        let bytes = text.utf8.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        return PercentEncoding.decode(String(decoding: bytes, as: UTF8.self))
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
