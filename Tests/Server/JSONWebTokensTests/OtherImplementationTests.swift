import Foundation
import JSONWebTokens
import OpenSSLCrypto
import TestSupport
import Testing

/// Tokens and keys compared with PyJWT, another implementation.
@Suite("Compatibility with another implementation")
struct OtherImplementationTests {
    private struct Claims: Codable, Equatable {
        var sub: String
        var number: Int
    }

    private struct Answer: Decodable {
        var payloads: [Claims?]
        var signed: [String]
    }

    private let forge: Forge

    private static func ask(_ key: PrivateKey, verify tokens: [String] = [], sign claims: [Claims] = []) throws
        -> Answer
    {
        let keys = try JSONSerialization.jsonObject(with: Data(keySetJSON([("K1", key.publicKey)]))) as? [String: Any]
        let pem = try key.pem
        let sign = claims.map { claims -> [String: Any] in
            let members: [String: Any] = ["sub": claims.sub, "number": claims.number]
            return ["pem": pem, "alg": key.kind.rawValue, "kid": "K1", "claims": members]
        }
        let request: [String: Any] = ["keys": keys?["keys"] ?? [], "tokens": tokens, "sign": sign]
        let folder = try ScratchFolder("pyjwt")
        let file = folder.url.appending(path: "request.json")
        try JSONSerialization.data(withJSONObject: request).write(to: file)
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "pyjwt_judge.py").path
        let command = try Command("/usr/bin/python3", [script, file.path])
        try #require(command.status == 0, "\(command.output)")
        return try JSONDecoder().decode(Answer.self, from: Data(command.output.utf8))
    }

    init() throws { forge = try Forge(.rs256) }

    @Test("PyJWT verifies our tokens, and we verify its tokens", arguments: SignatureKind.allCases)
    func bothWays(kind: SignatureKind) throws {
        let key = try PrivateKey(generating: kind)
        let signing = try key.kind == .rs256 ? SigningKey(rs256PEM: key.pem) : SigningKey(es256PEM: key.pem)
        let claims = (0..<20).map { Claims(sub: "someone/ü", number: $0) }
        let ours = try claims.map { try JSONWebToken.signed($0, keyID: "K1", with: signing) }

        let answer = try Self.ask(key, verify: ours, sign: claims)

        #expect(answer.payloads == claims)
        let keys = try keySet([("K1", key)])
        for (token, claims) in zip(answer.signed, claims) {
            let payload = try JSONWebToken.verifiedPayload(of: token, with: keys, algorithms: [.rs256, .es256])
            #expect(try JSONDecoder().decode(Claims.self, from: Data(payload)) == claims)
        }
        #expect(answer.signed.count == 20)
    }

    @Test(
        "PyJWT rejects what we reject: no signature, shared secrets, other algorithms, other keys (RFC 8725, section 2)"
    )
    func refused() throws {
        let payload = #"{"sub":"001","number":1}"#
        let impostor = try Forge(.rs256)
        let publicPEM = Array(try forge.key.publicKey.pem.utf8)
        let good = try forge.token(payload: payload)
        let parts = good.split(separator: ".")
        let tokens = [
            try forge.token(header: #"{"alg":"none","kid":"K1"}"#, payload: payload) { _ in [] },
            try forge.token(header: #"{"alg":"HS256","kid":"K1"}"#, payload: payload) {
                hmacSHA256(key: publicPEM, message: $0)
            },
            try forge.token(payload: payload) { hmacSHA256(key: publicPEM, message: $0) },
            try forge.token(header: #"{"alg":"ES256","kid":"K1"}"#, payload: payload),
            try forge.token(header: #"{"alg":"RS256","kid":"K2"}"#, payload: payload),
            try impostor.token(payload: payload), try forge.token(payload: payload) { _ in [] },
            "\(parts[0]).\(Array(#"{"sub":"002","number":1}"#.utf8).base64URL).\(parts[2])", "\(parts[0]).\(parts[1])",
            "\(parts[0]).\(parts[1]).", good + ".x", "",
        ]

        let answer = try Self.ask(forge.key, verify: [good] + tokens)

        #expect(answer.payloads.first == Claims(sub: "001", number: 1))
        #expect(answer.payloads.dropFirst().allSatisfy { $0 == nil })
        let keys = try keySet([("K1", forge.key)])
        for token in tokens {
            #expect(throws: JSONWebTokenError.self, "\(token)") {
                try JSONWebToken.verifiedPayload(of: token, with: keys, algorithms: [.rs256, .es256])
            }
        }
    }

    @Test("Both reject a signature with any flipped bit", arguments: SignatureKind.allCases)
    func flippedBits(kind: SignatureKind) throws {
        let key = try PrivateKey(generating: kind)
        let signing = try key.kind == .rs256 ? SigningKey(rs256PEM: key.pem) : SigningKey(es256PEM: key.pem)
        let token = try JSONWebToken.signed(Claims(sub: "1", number: 1), keyID: "K1", with: signing)
        let parts = token.split(separator: ".")
        let signature = try #require([UInt8](base64URL: parts[2]))
        let forged = stride(from: 0, to: signature.count, by: 5).map { byte in
            var flipped = signature
            flipped[byte] ^= 1 << UInt8(byte % 8)
            return "\(parts[0]).\(parts[1]).\(flipped.base64URL)"
        }

        let answer = try Self.ask(key, verify: [token] + forged)

        #expect(answer.payloads.first == Claims(sub: "1", number: 1))
        #expect(answer.payloads.dropFirst().allSatisfy { $0 == nil })
        let keys = try keySet([("K1", key)])
        for forged in forged {
            #expect(throws: JSONWebTokenError.badSignature) {
                try JSONWebToken.verifiedPayload(of: forged, with: keys, algorithms: [.rs256, .es256])
            }
        }
    }
}
