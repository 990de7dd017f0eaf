/// Why a token or a key was not accepted, distinguished by the caller's possible reaction.
///
/// No case contains a token, a key or text of a third party.
public enum JSONWebTokenError: Error, Equatable, Sendable {
    /// It is not a signed token in compact form, is too long, or requires unknown extensions: reject it. An invalid key
    /// set also causes this error.
    case malformed
    /// The set does not contain the named key: fetch the set again, unless it was just fetched; otherwise reject the
    /// token.
    case unknownKey
    /// The signature over these bytes was not made with this key: reject the token.
    case badSignature
    /// Its algorithm is not allowed by the caller, or does not match the key: reject it.
    case algorithmNotAllowed
    /// A signing key cannot be read, or has the wrong kind or size: refuse to start.
    case keyUnusable
}

extension JSONWebTokenError: CustomStringConvertible {
    /// One sentence that is safe to show and to log.
    public var description: String {
        switch self {
        case .malformed: "The token is malformed."
        case .unknownKey: "The token is signed with a key that is not published."
        case .badSignature: "The token's signature is wrong."
        case .algorithmNotAllowed: "The token is signed with an algorithm that is not allowed."
        case .keyUnusable: "The signing key cannot be used: it must be PEM, P-256 for ES256 or RSA for RS256."
        }
    }
}
