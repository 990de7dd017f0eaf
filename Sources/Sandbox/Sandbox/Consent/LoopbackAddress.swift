/// A parsed redirect URI on the machine where the browser runs (RFC 8252, section 7.3).
struct LoopbackAddress: Equatable {
    /// The URI without its port, which providers ignore when they compare.
    let withoutPort: String
    /// Whether the host is a name, as Microsoft requires.
    let isNamed: Bool
    /// Empty, or begins with a slash.
    let path: String

    /// `nil` for a different kind of URI.
    init?(_ uri: String) {
        guard uri.hasPrefix("http://"), !uri.contains("#"), !uri.contains("@") else { return nil }
        let authority = uri.dropFirst(7).prefix { $0 != "/" && $0 != "?" }
        path = String(uri.dropFirst(7 + authority.count))
        guard let host = ["127.0.0.1", "[::1]", "localhost"].first(where: authority.hasPrefix) else { return nil }
        let port = authority.dropFirst(host.count)
        guard port.isEmpty || port.first == ":" && UInt16(port.dropFirst()).map({ $0 > 0 }) == true else { return nil }
        isNamed = host == "localhost"
        withoutPort = "http://" + host + path
    }
}
