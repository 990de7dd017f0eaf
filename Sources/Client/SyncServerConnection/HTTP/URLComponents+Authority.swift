package import Foundation

extension URLComponents {
    /// The host and, if present, the port (RFC 3986, section 3.2), without user information; nil without a host.
    package var authority: String? {
        guard let host, !host.isEmpty else { return nil }
        // An IPv6 address needs brackets, whether or not Foundation includes them.
        let literal = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        return port.map { "\(literal):\($0)" } ?? literal
    }
}
