import Foundation
import JSONWebTokens
import JWTKit
import OpenSSLCrypto
import Testing

/// Tokens and keys compared with jwt-kit, another implementation.
@Suite("Compatibility with another implementation")
struct OtherImplementationTests {
    private struct Claims: JWTPayload, Equatable {
        var sub: String
        var number: Int

        func verify(using algorithm: some JWTAlgorithm) async throws {}
    }

    private static func signingKey(_ key: PrivateKey) throws -> SigningKey {
        try key.kind == .rs256 ? SigningKey(rs256PEM: key.pem) : SigningKey(es256PEM: key.pem)
    }

    /// The other implementation with that key, private or as published.
    private static func others(_ key: PrivateKey, isPublished: Bool) async throws -> JWTKeyCollection {
        let keys = JWTKeyCollection()
        switch (key.kind, isPublished) {
        case (.rs256, false):
            try await keys.add(rsa: Insecure.RSA.PrivateKey(pem: key.pem), digestAlgorithm: .sha256, kid: "K1")
        case (.es256, false): try await keys.add(ecdsa: ES256PrivateKey(pem: key.pem), kid: "K1")
        case (_, true):
            let json = String(decoding: try keySetJSON([("K1", key.publicKey)]), as: UTF8.self)
            try await keys.add(jwksJSON: json)
        }
        return keys
    }

    @Test("jwt-kit verifies our tokens with the key that we publish", arguments: SignatureKind.allCases)
    func theirsVerify(kind: SignatureKind) async throws {
        let key = try PrivateKey(generating: kind)
        let keys = try await Self.others(key, isPublished: true)
        for number in 0..<20 {
            let claims = Claims(sub: "someone/ü", number: number)
            let token = try JSONWebToken.signed(claims, keyID: "K1", with: Self.signingKey(key))
            #expect(try await keys.verify(token, as: Claims.self) == claims)
        }
    }

    @Test("We verify tokens of jwt-kit", arguments: SignatureKind.allCases)
    func oursVerify(kind: SignatureKind) async throws {
        let key = try PrivateKey(generating: kind)
        let keys = try await Self.others(key, isPublished: false)
        for number in 0..<20 {
            let claims = Claims(sub: "someone/ü", number: number)
            let token = try await keys.sign(claims, kid: "K1")
            let payload = try JSONWebToken.verifiedPayload(
                of: token, with: keySet([("K1", key)]), algorithms: [.rs256, .es256])
            #expect(try JSONDecoder().decode(Claims.self, from: Data(payload)) == claims)
        }
    }

    @Test("Both reject a signature with any flipped bit", arguments: SignatureKind.allCases)
    func flippedBits(kind: SignatureKind) async throws {
        let key = try PrivateKey(generating: kind)
        let keys = try await Self.others(key, isPublished: true)
        let token = try JSONWebToken.signed(Claims(sub: "1", number: 1), keyID: "K1", with: Self.signingKey(key))
        let parts = token.split(separator: ".")
        let signature = try #require([UInt8](base64URL: parts[2]))
        for byte in stride(from: 0, to: signature.count, by: 5) {
            var flipped = signature
            flipped[byte] ^= 1 << UInt8(byte % 8)
            let forged = "\(parts[0]).\(parts[1]).\(flipped.base64URL)"
            #expect(throws: JSONWebTokenError.badSignature) {
                try JSONWebToken.verifiedPayload(
                    of: forged, with: keySet([("K1", key)]), algorithms: [.rs256, .es256])
            }
            await #expect(throws: (any Error).self) { try await keys.verify(forged, as: Claims.self) }
        }
    }
}
