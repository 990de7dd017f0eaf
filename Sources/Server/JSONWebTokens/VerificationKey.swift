internal import OpenSSLCrypto

/// A public key that verifies the signatures of one algorithm.
struct VerificationKey: Sendable {
    private let key: PublicKey

    /// The only algorithm for this key.
    var algorithm: JSONWebToken.Algorithm { JSONWebToken.Algorithm(key.kind) }

    /// - Throws: ``JSONWebTokenError/keyUnusable`` if it is not meant for verifying RS256 or ES256 signatures, or RSA
    ///   with less than 2,048 bits (RFC 7518, section 3.3) or more than 4,096.
    init(_ published: PublishedKey) throws(JSONWebTokenError) {
        guard published.use == nil || published.use == "sig" else { throw .keyUnusable }
        do throws(CryptoError) {
            switch published.kty {
            case "RSA":
                guard let modulus = published.n.flatMap({ [UInt8](base64URL: $0) }),
                    let exponent = published.e.flatMap({ [UInt8](base64URL: $0) })
                else { throw .invalidKey }
                key = try PublicKey(rsaModulus: modulus, exponent: exponent)
            case "EC":
                guard published.crv == "P-256", let x = published.x.flatMap({ [UInt8](base64URL: $0) }),
                    let y = published.y.flatMap({ [UInt8](base64URL: $0) })
                else { throw .invalidKey }
                key = try PublicKey(p256X: x, y: y)
            default: throw .invalidKey
            }
        } catch {
            throw .keyUnusable
        }
        guard published.alg == nil || published.alg == algorithm.rawValue else { throw .keyUnusable }
    }

    /// Whether `signature` is this key's signature over `message`. ECDSA signatures are r and s, 64 bytes; never DER.
    func verifies(_ signature: [UInt8], over message: [UInt8]) -> Bool { key.verifies(signature, over: message) }
}
