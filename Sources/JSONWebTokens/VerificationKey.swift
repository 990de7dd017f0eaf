internal import JWTKit
internal import OpenSSLCrypto

/// A public key that checks the signatures of one algorithm.
struct VerificationKey: Sendable {
    /// The only algorithm that it is used with.
    let algorithm: JSONWebToken.Algorithm
    private let key: any JWTAlgorithm

    /// - Throws: ``JSONWebTokenError/keyUnusable`` if it is not made for checking RS256 or ES256 signatures, or RSA
    ///   with less than 2,048 bits (RFC 7518, section 3.3) or more than 4,096.
    init(_ published: PublishedKey) throws(JSONWebTokenError) {
        guard published.use == nil || published.use == "sig" else { throw .keyUnusable }
        let jwk: JWK
        switch published.kty {
        case "RSA":
            guard let n = published.n, let e = published.e, let modulus = [UInt8](base64URL: n),
                [UInt8](base64URL: e) != nil, (256...512).contains(modulus.drop { $0 == 0 }.count)
            else { throw .keyUnusable }
            algorithm = .rs256
            jwk = .rsa(.rs256, identifier: nil, modulus: n, exponent: e)
        case "EC":
            guard published.crv == "P-256", let x = published.x, let y = published.y,
                [UInt8](base64URL: x)?.count == 32, [UInt8](base64URL: y)?.count == 32
            else { throw .keyUnusable }
            algorithm = .es256
            jwk = .ecdsa(.es256, identifier: nil, x: x, y: y, curve: .p256)
        default: throw .keyUnusable
        }
        guard published.alg == nil || published.alg == algorithm.rawValue else { throw .keyUnusable }
        key = try cryptographicKey { (keys: JWTKeyCollection) async throws in
            var named = jwk
            named.keyIdentifier = "key"
            try await keys.add(jwk: named)
        }
    }

    /// Whether `signature` is this key's over `message`. ECDSA signatures are r and s, 64 bytes; never DER.
    func verifies(_ signature: [UInt8], over message: [UInt8]) -> Bool {
        if algorithm == .es256, signature.count != 64 { return false }
        return (try? key.verify(signature, signs: message)) ?? false
    }
}
