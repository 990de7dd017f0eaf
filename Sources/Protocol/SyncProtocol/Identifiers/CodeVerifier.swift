/// The secret that proves an authorization code to belong to whoever asked for it (RFC 7636, section 4.1).
///
/// 43 to 128 unreserved characters: letters, digits, `-`, `.`, `_` and `~`.
public struct CodeVerifier: Sendable, Hashable {
    /// The verifier as it is sent to the token endpoint.
    public let rawValue: String

    /// Takes a verifier over; nil if it is too short, too long, or has other characters.
    public init?(_ text: String) {
        guard (43...128).contains(text.utf8.count), text.utf8.allSatisfy(Self.isUnreserved) else { return nil }
        rawValue = text
    }

    /// Whether a byte stands for an unreserved character (RFC 3986, section 2.3).
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
