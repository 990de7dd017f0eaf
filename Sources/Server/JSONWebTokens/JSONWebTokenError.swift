/// Why a token or a key was not accepted, by what the caller can do about it.
///
/// No case carries a token, a key or text of a third party.
public enum JSONWebTokenError: Error, Equatable, Sendable {
    /// It is not a signed token in compact form, is too long, or requires extensions that we do not know: reject it. An
    /// invalid key set causes this error, too.
    case malformed
    /// The key that it names is not in the set: fetch the set again, if it was not fetched just now; otherwise reject
    /// it.
    case unknownKey
    /// The signature over these bytes was not made with this key: reject the token.
    case badSignature
    /// It is signed in a way that the caller does not allow, or that does not fit the key: reject it.
    case algorithmNotAllowed
    /// A key of ours cannot be read, or is of the wrong kind or size: refuse to start.
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
