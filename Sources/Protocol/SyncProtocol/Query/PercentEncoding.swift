/// Percent-encoding of texts in URLs and forms (RFC 3986, section 2.1).
public enum PercentEncoding {
    /// Which bytes are left unencoded, in addition to ASCII letters and digits.
    public enum Form: Sendable, Hashable {
        /// As deployed clients write the values of queries: ``!$&'()*+,-.;=_~``.
        case deployedClients
        /// The same except `&`, `+` and `=`, so that no server can misread a value.
        case unambiguous
        /// `-._~`, so that the result fits any part of a URL or a form (RFC 3986, section 2.3).
        case unreserved
    }

    /// `text` with everything except unreserved characters encoded.
    public static func encode(_ text: String) -> String {
        var bytes: [UInt8] = []
        encode(text.utf8, into: &bytes, form: .unreserved)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// `text` decoded once; `nil` if an escape is broken, or the result is not UTF-8.
    public static func decode(_ text: some StringProtocol) -> String? { try? decodeText(Array(text.utf8)[...]) }

    /// Appends `text` as UTF-8.
    static func encode(_ text: some Sequence<UInt8>, into bytes: inout [UInt8], form: Form) {
        for byte in text {
            if isLeftUnencoded(byte, form) {
                bytes.append(byte)
            } else {
                bytes.append(UInt8(ascii: "%"))
                bytes.append(HexadecimalDigit.uppercase(byte >> 4))
                bytes.append(HexadecimalDigit.uppercase(byte))
            }
        }
    }

    /// Decodes once; `+` remains a plus sign. Calls `body` with each byte.
    /// - Throws: ``RequestError/brokenEscape``.
    @inline(__always)
    static func decode(_ text: ArraySlice<UInt8>, _ body: (UInt8) -> Void) throws(RequestError) {
        var position = text.startIndex
        while position < text.endIndex {
            let byte = text[position]
            position += 1
            guard byte == UInt8(ascii: "%") else {
                body(byte)
                continue
            }
            guard text.endIndex - position >= 2,
                let high = HexadecimalDigit.value(of: text[position]),
                let low = HexadecimalDigit.value(of: text[position + 1])
            else { throw .brokenEscape }
            body(high << 4 | low)
            position += 2
        }
    }

    /// Decodes once, to text.
    /// - Throws: ``RequestError/brokenEscape``, ``RequestError/invalidUTF8``.
    static func decodeText(_ text: ArraySlice<UInt8>) throws(RequestError) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        try decode(text) { bytes.append($0) }
        let decoded = String(decoding: bytes, as: UTF8.self)
        // Decoding replaces invalid UTF-8, so the bytes are equal exactly if the text was valid.
        guard decoded.utf8.count == bytes.count, decoded.utf8.elementsEqual(bytes) else { throw .invalidUTF8 }
        return decoded
    }

    private static func isLeftUnencoded(_ byte: UInt8, _ form: Form) -> Bool {
        switch Unicode.Scalar(byte) {
        case "!", "$", "'", "(", ")", "*", ",", ";": form != .unreserved
        case "&", "+", "=": form == .deployedClients
        default: isUnreserved(byte)
        }
    }

    /// Whether a byte is an unreserved character: an ASCII letter or digit, or one of `-._~` (RFC 3986, section 2.3).
    package static func isUnreserved(_ byte: UInt8) -> Bool {
        switch Unicode.Scalar(byte) {
        case "a"..."z", "A"..."Z", "0"..."9", "-", ".", "_", "~": true
        default: false
        }
    }
}

/// Collects the parameters of a request, and writes the query that a client sends.
public struct QueryEncoder {
    private let form: PercentEncoding.Form
    private var parameters: [(name: ParameterName, text: String)] = []

    /// Creates an encoder without parameters.
    /// - Parameter form: the encoding of the values.
    public init(form: PercentEncoding.Form = .deployedClients) {
        self.form = form
    }

    /// Adds a parameter; a parameter without a value is omitted.
    public mutating func add(_ name: ParameterName, _ value: (some QueryValue)?) {
        guard let value else { return }
        parameters.append((name, value.queryText))
    }

    /// The query, without a `?`: pairs sorted by name, percent-encoded, joined by `&`. Empty if there are none.
    public var query: String {
        var bytes: [UInt8] = []
        for (index, parameter) in parameters.sorted(by: { $0.name < $1.name }).enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: "&")) }
            PercentEncoding.encode(parameter.name.rawValue.utf8, into: &bytes, form: form)
            bytes.append(UInt8(ascii: "="))
            PercentEncoding.encode(parameter.text.utf8, into: &bytes, form: form)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
