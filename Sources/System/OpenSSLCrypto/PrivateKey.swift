internal import COpenSSL

/// A key that signs with SHA-256: RSA as RS256 does, or P-256 as ES256 does (RFC 7518, sections 3.3 and 3.4).
///
/// A value of plain bytes that any thread may use; OpenSSL's own object lives only as long as one call.
public struct PrivateKey: Sendable {
    /// The kind of signatures that the key creates.
    public let kind: SignatureKind
    private let encoded: [UInt8]

    /// Generates a new key; RSA keys have 2,048 bits and take tens of milliseconds.
    /// - Throws: ``CryptoError/unavailable``.
    public init(generating kind: SignatureKind) throws(CryptoError) {
        try self.init(OpenSSLKey(generating: kind))
    }

    /// Reads the first private key of a PEM text, PKCS#8 or an older format, not encrypted.
    /// - Throws: ``CryptoError/invalidKey`` unless it is RSA of 2,048 to 4,096 bits or P-256.
    public init(pem: String) throws(CryptoError) {
        try self.init(OpenSSLKey(privatePEM: pem))
    }

    private init(_ key: consuming OpenSSLKey) throws(CryptoError) {
        guard let kind = key.kind else { throw .invalidKey }
        self.kind = kind
        encoded = try key.privateDER()
    }

    /// The key as PEM, PKCS#8, not encrypted: a secret.
    public var pem: String {
        get throws(CryptoError) { try OpenSSLKey(privateDER: encoded).privatePEM() }
    }

    /// The public half.
    public var publicKey: PublicKey {
        get throws(CryptoError) { try PublicKey(OpenSSLKey(privateDER: encoded)) }
    }

    /// Returns the signature over `message`: as long as the modulus for RSA, 64 bytes (r and s) for P-256.
    /// - Throws: ``CryptoError/unavailable``.
    public func signature(over message: [UInt8]) throws(CryptoError) -> [UInt8] {
        let signature = try OpenSSLKey(privateDER: encoded).signature(over: message)
        switch kind {
        case .rs256: return signature
        case .es256: return try ECDSASignature(der: signature).fixedLength
        }
    }
}

/// The two signature algorithms that providers use.
public enum SignatureKind: String, Sendable, CaseIterable {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    case rs256 = "RS256"
    /// ECDSA on the curve P-256 with SHA-256.
    case es256 = "ES256"
}
