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

extension PublicKey {
    /// The RSA key of these numbers, big-endian, as in a JSON Web Key (RFC 7518, section 6.3.1).
    /// - Throws: ``CryptoError/invalidKey`` unless they are a key of 2,048 to 4,096 bits.
    public init(rsaModulus modulus: [UInt8], exponent: [UInt8]) throws(CryptoError) {
        // RFC 3279, section 2.3.1: rsaEncryption, NULL; RFC 8017, appendix A.1.1: RSAPublicKey.
        let algorithm: [UInt8] = [
            0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
        ]
        let numbers = DER.sequence(DER.unsignedInteger(modulus) + DER.unsignedInteger(exponent))
        try self.init(checking: DER.sequence(algorithm + DER.bitString(numbers)))
    }

    /// The key on P-256 with this point, as in a JSON Web Key (RFC 7518, section 6.2.1).
    /// - Throws: ``CryptoError/invalidKey`` unless both have 32 bytes and the point is on the curve.
    public init(p256X x: [UInt8], y: [UInt8]) throws(CryptoError) {
        guard x.count == 32, y.count == 32 else { throw .invalidKey }
        // RFC 5480, section 2: ecPublicKey, prime256v1; an uncompressed point.
        let algorithm: [UInt8] = [
            0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01,
            0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07,
        ]
        try self.init(checking: DER.sequence(algorithm + DER.bitString([0x04] + x + y)))
    }

    private init(checking encoded: [UInt8]) throws(CryptoError) {
        let key = try OpenSSLKey(publicDER: encoded)
        // Check the size first: the time to check a modulus grows with the cube of its length.
        guard key.kind != nil, key.isValidPublicKey else { throw .forgettingDetails(.invalidKey) }
        try self.init(key)
    }
}

/// The parts of a public key's encoding (X.690, sections 8 and 10).
private enum DER {
    static func sequence(_ contents: [UInt8]) -> [UInt8] { value(0x30, contents) }

    static func bitString(_ bytes: [UInt8]) -> [UInt8] { value(0x03, [0] + bytes) }

    /// A number without leading zeros, except for one that keeps it positive.
    static func unsignedInteger(_ bigEndian: [UInt8]) -> [UInt8] {
        let digits = bigEndian.drop { $0 == 0 }
        let isNegative = (digits.first ?? 0x80) & 0x80 != 0
        return value(0x02, (isNegative ? [0] : []) + digits)
    }

    private static func value(_ tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
        let count = contents.count
        guard count >= 0x80 else { return [tag, UInt8(count)] + contents }
        var length: [UInt8] = []
        var rest = count
        while rest > 0 {
            length.insert(UInt8(truncatingIfNeeded: rest), at: 0)
            rest >>= 8
        }
        return [tag, 0x80 | UInt8(length.count)] + length + contents
    }
}
