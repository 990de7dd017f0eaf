/// A redirect URI that points to a program on the machine where the browser runs (RFC 8252, section 7.3).
///
/// Always `http`, a loopback host, a port and optionally a path: `http://127.0.0.1:49152/code`. The host is
/// `127.0.0.1`, `[::1]` or `localhost`, which Microsoft requires (RFC 8252, section 8.3, advises against it).
public struct LoopbackRedirectURI: Sendable, Hashable {
    /// The loopback hosts, as written in a URI.
    public enum Host: String, Sendable, Hashable, CaseIterable {
        case ipv4 = "127.0.0.1"
        case ipv6 = "[::1]"
        case localhost
    }

    /// Maximum length of an accepted URI, in bytes.
    public static let maximumLength = 255
    private static let scheme = "http://"

    /// The URI as providers compare it, character by character.
    public let rawValue: String
    public let host: Host
    public let port: UInt16
    /// The path: empty, or begins with a slash; still percent-encoded.
    public let path: String

    /// Creates a redirect URI from text, unchanged; nil if it has a different form, a query, a fragment or a user, or
    /// does not point to loopback.
    public init?(_ text: String) {
        guard text.utf8.count <= Self.maximumLength, text.hasPrefix(Self.scheme) else { return nil }
        let authority = text.dropFirst(Self.scheme.count).prefix { $0 != "/" }
        guard let host = Host.allCases.first(where: { authority.hasPrefix($0.rawValue + ":") }) else { return nil }
        let digits = authority.dropFirst(host.rawValue.count + 1)
        guard let port = UInt16(digits), port > 0, String(port) == digits else { return nil }
        let path = String(text.dropFirst(Self.scheme.count + authority.count))
        guard Self.isPath(path) else { return nil }
        (rawValue, self.host, self.port, self.path) = (text, host, port, path)
    }

    /// The URI of a listener; nil if `path` is not a valid path, or `port` is 0.
    public init?(host: Host, port: UInt16, path: String) {
        self.init("\(Self.scheme)\(host.rawValue):\(port)\(path)")
    }

    /// Whether `text` is empty or an absolute path of plain characters and complete escapes (RFC 3986, section 3.3).
    private static func isPath(_ text: String) -> Bool {
        guard text.isEmpty || text.hasPrefix("/") else { return false }
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "/"): break
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst(), let low = rest.popFirst(), HexadecimalDigit.value(of: high) != nil,
                    HexadecimalDigit.value(of: low) != nil
                else { return false }
            default:
                guard CodeVerifier.isUnreserved(byte) else { return false }
            }
        }
        return true
    }
}

/// The secret that proves that an authorization code belongs to the client that requested it (RFC 7636, section 4.1).
///
/// 43 to 128 unreserved characters: letters, digits, `-`, `.`, `_` and `~`.
public struct CodeVerifier: Sendable, Hashable {
    /// The verifier as it is sent to the token endpoint.
    public let rawValue: String

    /// Creates a verifier; nil if it is too short, too long, or contains other characters.
    public init?(_ text: String) {
        guard (43...128).contains(text.utf8.count), text.utf8.allSatisfy(Self.isUnreserved) else { return nil }
        rawValue = text
    }

    /// Whether a byte is an unreserved character (RFC 3986, section 2.3).
    static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}

// A verifier is a secret until its code has been exchanged.
extension CodeVerifier: CustomStringConvertible, CustomReflectable {
    public var description: String { "<redacted>" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
