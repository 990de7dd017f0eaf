internal import JWTKit

/// A private key that signs tokens.
public struct SigningKey: Sendable {
    /// What it signs with.
    public let algorithm: JSONWebToken.Algorithm
    private let key: any JWTAlgorithm

    /// Reads a P-256 key in PEM, such as the `.p8` files that Apple hands out.
    ///
    /// Line ends may be written as `\n`, backslash and letter, as they are in one line of JSON.
    /// - Throws: ``JSONWebTokenError/keyUnusable``.
    public init(es256PEM pem: String) throws(JSONWebTokenError) {
        let pem = Self.withLineEnds(pem)
        algorithm = .es256
        key = try cryptographicKey { (keys: JWTKeyCollection) async throws in
            try await keys.add(ecdsa: ES256PrivateKey(pem: pem))
        }
    }

    /// Reads an RSA key in PEM, such as those in Google's service account files; line ends as in ``init(es256PEM:)``.
    /// - Throws: ``JSONWebTokenError/keyUnusable``.
    public init(rs256PEM pem: String) throws(JSONWebTokenError) {
        let pem = Self.withLineEnds(pem)
        algorithm = .rs256
        key = try cryptographicKey { (keys: JWTKeyCollection) async throws in
            try await keys.add(rsa: Insecure.RSA.PrivateKey(pem: pem), digestAlgorithm: .sha256)
        }
    }

    /// Returns the signature in the form that tokens have (RFC 7518, sections 3.3 and 3.4).
    func signature(over message: [UInt8]) throws(JSONWebTokenError) -> [UInt8] {
        do {
            return try key.sign(message)
        } catch {
            throw .keyUnusable
        }
    }

    private static func withLineEnds(_ pem: String) -> String {
        pem.split(separator: "\\n", omittingEmptySubsequences: false).joined(separator: "\n")
    }
}
