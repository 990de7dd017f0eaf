/// The host of an absolute https URL, parsed strictly so that all parsers agree on the host (RFC 3986, section 3.2).
public struct HTTPSAddress: Equatable, Sendable {
    private static let scheme = "https://"

    /// In lower case, without a port.
    public let host: String
    /// From the first slash, without the query; empty if there is no slash.
    public let path: Substring

    /// Reads a URL.
    ///
    /// - Returns: `nil` if it is not https, has no host, or contains anything that parsers could disagree about: a user
    ///   name, a port, a backslash, white space, a control character.
    public init?(_ url: String) {
        guard url.hasPrefix(Self.scheme) else { return nil }
        let rest = url.dropFirst(Self.scheme.count)
        let host = rest.prefix { !"/?#".contains($0) }
        let isPlain = host.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        guard isPlain, let first = host.first, first != "." else { return nil }
        guard url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }) else { return nil }
        self.host = host.lowercased()
        path = rest[host.endIndex...].prefix { $0 != "?" && $0 != "#" }
    }
}
