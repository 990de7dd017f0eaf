internal import OpenSSLCrypto

/// A private key that signs tokens.
public struct SigningKey: Sendable {
    private let key: PrivateKey

    /// The key's signature algorithm.
    public var algorithm: JSONWebToken.Algorithm { JSONWebToken.Algorithm(key.kind) }

    /// Reads a P-256 key in PEM, such as the `.p8` files from Apple.
    ///
    /// Newlines may be written as `\n`, a backslash and a letter, as in a single line of JSON.
    /// - Throws: ``JSONWebTokenError/keyUnusable``.
    public init(es256PEM pem: String) throws(JSONWebTokenError) { try self.init(pem, .es256) }

    /// Reads an RSA key in PEM, such as those in Google's service account files; newlines as in ``init(es256PEM:)``.
    /// - Throws: ``JSONWebTokenError/keyUnusable``.
    public init(rs256PEM pem: String) throws(JSONWebTokenError) { try self.init(pem, .rs256) }

    private init(_ pem: String, _ algorithm: JSONWebToken.Algorithm) throws(JSONWebTokenError) {
        let lines = pem.split(separator: "\\n", omittingEmptySubsequences: false).joined(separator: "\n")
        do {
            key = try PrivateKey(pem: lines)
        } catch {
            throw .keyUnusable
        }
        guard self.algorithm == algorithm else { throw .keyUnusable }
    }

    /// Returns the signature in the form used in tokens (RFC 7518, sections 3.3 and 3.4).
    func signature(over message: [UInt8]) throws(JSONWebTokenError) -> [UInt8] {
        do {
            return try key.signature(over: message)
        } catch {
            throw .keyUnusable
        }
    }
}

extension JSONWebToken.Algorithm {
    /// The signature algorithm of keys of that kind.
    init(_ kind: SignatureKind) {
        switch kind {
        case .rs256: self = .rs256
        case .es256: self = .es256
        }
    }
}
