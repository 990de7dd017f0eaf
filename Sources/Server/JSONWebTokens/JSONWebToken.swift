import FoundationEssentials
import OpenSSLCrypto
import UntrustedInput

/// JSON Web Tokens (RFC 7519) as signed texts in compact form (RFC 7515, section 3.1).
///
/// OpenSSL computes signatures; all other checks happen here, strictly: the algorithm comes from the key and the
/// caller's list, never from the token alone, and only the necessary parts of a token are examined before its signature
/// has been verified (RFC 8725, sections 3.1 and 3.2).
public enum JSONWebToken {
    /// The algorithms used by the supported providers (RFC 7518, section 3.1).
    public enum Algorithm: String, Sendable, CaseIterable, Codable {
        /// RSASSA-PKCS1-v1_5 with SHA-256.
        case rs256 = "RS256"
        /// ECDSA on P-256 with SHA-256.
        case es256 = "ES256"
    }

    /// The maximum length of an examined token, in bytes. Providers' tokens have one to four thousand.
    public static let maximumBytes = 16_384

    /// How far the issue time of the server's own tokens is set back: a service whose clock is slow would reject a
    /// token from its future.
    public static let clockAllowanceSeconds: Int64 = 60

    /// Checks the signature of `token` and returns the bytes of its payload.
    ///
    /// The caller must check the claims (issuer, audience, times).
    /// - Throws: ``JSONWebTokenError``; ``JSONWebTokenError/unknownKey`` if the token names an unknown key, or none.
    public static func verifiedPayload(
        of token: String, with keys: JSONWebKeySet, algorithms: Set<Algorithm>
    ) throws(JSONWebTokenError) -> [UInt8] {
        let parts = try CompactJWS(token)
        guard let algorithm = parts.algorithm, algorithms.contains(algorithm) else { throw .algorithmNotAllowed }
        guard let keyID = parts.keyID else { throw .unknownKey }
        let key = try keys.key(named: keyID, for: algorithm)
        guard key.verifies(parts.signature, over: parts.signingInput) else { throw .badSignature }
        return parts.payload
    }

    /// Returns a signed token of `claims`, with `keyID` as its `kid` if given.
    ///
    /// - Throws: ``JSONWebTokenError/malformed`` if `claims` cannot be JSON; ``JSONWebTokenError/keyUnusable`` if
    ///   signing with the key failed.
    public static func signed(
        _ claims: some Encodable & Sendable, keyID: String?, with key: SigningKey
    ) throws(JSONWebTokenError) -> String {
        let header = Header(alg: key.algorithm.rawValue, kid: keyID, typ: "JWT")
        let signingInput = try base64URL(header) + "." + base64URL(claims)
        return try signingInput + "." + key.signature(over: Array(signingInput.utf8)).base64URL
    }

    private struct Header: Encodable {
        let alg: String
        let kid: String?
        let typ: String
    }

    private static func base64URL(_ value: some Encodable) throws(JSONWebTokenError) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        do {
            return try [UInt8](encoder.encode(value)).base64URL
        } catch {
            throw .malformed
        }
    }
}

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

/// A token split into its parts, none of them trusted yet (RFC 7515, section 5.2).
struct CompactJWS {
    /// `alg`; nil for `none`, for shared secrets, and for any other algorithm not in use.
    let algorithm: JSONWebToken.Algorithm?
    /// `kid`, if the header names one.
    let keyID: String?
    /// What the signature covers: the first two parts, verbatim.
    let signingInput: [UInt8]
    /// The second part, decoded.
    let payload: [UInt8]
    /// The third part, decoded.
    let signature: [UInt8]

    /// - Throws: ``JSONWebTokenError/malformed`` unless it has three parts of strict base64url, a header in JSON with
    ///   an `alg`, and no `crit`: critical extensions are not supported (RFC 7515, section 4.1.11).
    init(_ token: String) throws(JSONWebTokenError) {
        guard token.utf8.count <= JSONWebToken.maximumBytes else { throw .malformed }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3,
            let header = [UInt8](base64URL: parts[0]),
            let payload = [UInt8](base64URL: parts[1]),
            let signature = [UInt8](base64URL: parts[2]),
            let fields = try? UntrustedJSON.decode(Header.self, from: header),
            !fields.hasCriticalExtensions
        else { throw .malformed }
        algorithm = JSONWebToken.Algorithm(rawValue: fields.alg)
        keyID = fields.kid
        signingInput = Array(token.utf8.prefix(parts[0].utf8.count + 1 + parts[1].utf8.count))
        self.payload = payload
        self.signature = signature
    }

    private struct Header: Decodable {
        let alg: String
        let kid: String?
        let hasCriticalExtensions: Bool

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Member.self)
            alg = try members.decode(String.self, forKey: .alg)
            kid = try members.decodeIfPresent(String.self, forKey: .kid)
            hasCriticalExtensions = members.contains(.crit)
        }

        private enum Member: CodingKey {
            case alg, kid, crit
        }
    }
}
