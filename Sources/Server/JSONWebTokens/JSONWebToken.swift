internal import FoundationEssentials
internal import OpenSSLCrypto

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
    /// - Throws: ``JSONWebTokenError``; ``JSONWebTokenError/unknownKey`` also for a token that names no key.
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
