/// The public half of a ``PrivateKey``: checks signatures.
public struct PublicKey: Sendable, Equatable {
    /// The kind of signatures that the key checks.
    public let kind: SignatureKind
    private let encoded: [UInt8]

    /// Reads a PEM text that holds a `PUBLIC KEY` (RFC 7468, section 13).
    /// - Throws: ``CryptoError/invalidKey`` unless it is RSA of 2,048 to 4,096 bits or P-256.
    public init(pem: String) throws(CryptoError) {
        try self.init(OpenSSLKey(publicPEM: pem))
    }

    init(_ key: consuming OpenSSLKey) throws(CryptoError) {
        guard let kind = key.kind else { throw .invalidKey }
        self.kind = kind
        encoded = try key.publicDER()
    }

    /// The key as PEM.
    public var pem: String {
        get throws(CryptoError) { try OpenSSLKey(publicDER: encoded).publicPEM() }
    }

    /// Whether `signature`, in the form that ``PrivateKey/signature(over:)`` returns, is this key's signature over
    /// `message`.
    public func verifies(_ signature: [UInt8], over message: [UInt8]) -> Bool {
        do throws(CryptoError) {
            let key = try OpenSSLKey(publicDER: encoded)
            switch kind {
            case .rs256: return key.verifies(signature, over: message)
            case .es256: return key.verifies(try ECDSASignature(fixedLength: signature).der, over: message)
            }
        } catch {
            return false
        }
    }

    /// The members of a JSON Web Key that hold the key itself (RFC 7518, sections 6.2.1 and 6.3.1), in a fixed order.
    ///
    /// `kid`, `use` and `alg` are left to the publisher.
    public var webKeyMembers: [(name: String, value: String)] {
        get throws(CryptoError) {
            let key = try OpenSSLKey(publicDER: encoded)
            switch kind {
            case .rs256:
                return [
                    ("kty", "RSA"),
                    ("n", try key.number("n", byteCount: nil).base64URL),
                    ("e", try key.number("e", byteCount: nil).base64URL),
                ]
            case .es256:
                return [
                    ("kty", "EC"), ("crv", "P-256"),
                    ("x", try key.number("qx", byteCount: 32).base64URL),
                    ("y", try key.number("qy", byteCount: 32).base64URL),
                ]
            }
        }
    }
}
