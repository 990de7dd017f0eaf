/// Builds query strings byte for byte as deployed clients do.
///
/// Sorted by name, each `name=value` encoded as a whole, so `&`, `+`, `=` and a few others stay as they are.
public enum ClientQuery {
    private static let literal = Set("!$&'()*+,-.;=_~".utf8)

    /// The query with its leading `?`, or nothing if every value is nil.
    public static func text(_ parameters: [String: String?]) -> String {
        let pairs = parameters.compactMap { name, value in value.map { (name, $0) } }.sorted { $0.0 < $1.0 }
        guard !pairs.isEmpty else { return "" }
        return "?" + pairs.map { encode("\($0.0)=\($0.1)", literal: literal) }.joined(separator: "&")
    }

    /// Percent-encodes everything that is neither an ASCII letter or digit nor in `literal`.
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
