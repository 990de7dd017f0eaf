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
