/// Builds query strings that are byte for byte identical to those of deployed clients.
///
/// Parameters are sorted by name, and each `name=value` is encoded as a whole, so `&`, `+`, `=` and a few others stay
/// unencoded.
public enum ClientQuery {
    private static let literal = Set("!$&'()*+,-.;=_~".utf8)

    /// Returns the query with its leading `?`, or an empty text if every value is nil.
    public static func text(_ parameters: [String: String?]) -> String {
        let pairs = parameters.compactMap { name, value in value.map { (name, $0) } }.sorted { $0.0 < $1.0 }
        guard !pairs.isEmpty else { return "" }
        return "?" + pairs.map { encode("\($0.0)=\($0.1)", literal: literal) }.joined(separator: "&")
    }

    /// Percent-encodes all bytes except ASCII letters, digits, and those in `literal`.
    public static func encode(_ text: String, literal: Set<UInt8> = []) -> String {
        var result = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            case _ where literal.contains(byte):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                result += byte < 16 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return result
    }
}
