package import Foundation

extension URLComponents {
    /// Host and, if there is one, port (RFC 3986, section 3.2), without user information; nil if there is no host.
    package var authority: String? {
        guard let host, !host.isEmpty else { return nil }
        // An IPv6 address is in brackets there, whether or not Foundation includes them.
        let literal = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        return port.map { "\(literal):\($0)" } ?? literal
    }
}
