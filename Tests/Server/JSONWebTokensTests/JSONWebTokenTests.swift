import Foundation
import JSONWebTokens
import OpenSSLCrypto
import Testing

@Suite("JSON web tokens")
struct JSONWebTokenTests {
    private static let all: Set<JSONWebToken.Algorithm> = [.rs256, .es256]

    @Test("Our tokens verify with our code and with OpenSSL", arguments: SignatureKind.allCases)
    func roundTrip(kind: SignatureKind) throws {
        let key = try PrivateKey(generating: kind)
        let claims = Claims(iss: "us", sub: "someone/ü", exp: 1_700_000_000)
        let signingKey = try kind == .rs256 ? SigningKey(rs256PEM: key.pem) : SigningKey(es256PEM: key.pem)

        let token = try JSONWebToken.signed(claims, keyID: "K1", with: signingKey)
        let payload = try JSONWebToken.verifiedPayload(of: token, with: keySet([("K1", key)]), algorithms: Self.all)

        #expect(try JSONDecoder().decode(Claims.self, from: Data(payload)) == claims)
        let parts = token.split(separator: ".")
        let signature = try #require([UInt8](base64URL: parts[2]))
        #expect(try key.publicKey.verifies(signature, over: Array("\(parts[0]).\(parts[1])".utf8)))
        let header = try #require([UInt8](base64URL: parts[0]))
        #expect(
            String(decoding: header, as: UTF8.self) == #"{"alg":"\#(kind.rawValue)","kid":"K1","typ":"JWT"}"#)
    }

    @Test("A token signed with OpenSSL verifies with the right one of several keys", arguments: SignatureKind.allCases)
    func foreignSignature(kind: SignatureKind) throws {
        let forge = try Forge(kind)
        let other = try PrivateKey(generating: .rs256)
        let keys = try keySet([("other", other), ("K1", forge.key), ("third", try PrivateKey(generating: .es256))])

        let payload = try JSONWebToken.verifiedPayload(of: try forge.token(), with: keys, algorithms: Self.all)

        #expect(payload == Array(Forge.payload.utf8))
    }

    @Test("An ES256 signature published in RFC 7515, appendix A.3, verifies")
    func publishedVector() throws {
        let keys = try JSONWebKeySet(
            json: Array(
                #"""
                {"keys": [{"kty": "EC", "crv": "P-256", "kid": "A3",
                 "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
                 "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}
                """#.utf8))
        // The appendix's token names no key, and keys without a name are never used.
        let token =
            "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
        #expect(throws: JSONWebTokenError.unknownKey) {
            try JSONWebToken.verifiedPayload(of: token, with: keys, algorithms: Self.all)
        }
        let publicKey = try PublicKey(pem: Self.appendixA3PEM)
        let parts = token.split(separator: ".")
        let signature = try #require([UInt8](base64URL: parts[2]))
        #expect(publicKey.verifies(signature, over: Array("\(parts[0]).\(parts[1])".utf8)))
        let members = try publicKey.webKeyMembers.map { "\($0.name)=\($0.value)" }
        #expect(members.contains("x=f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"))
    }

    /// The appendix's key as PEM, assembled by hand: the fixed SubjectPublicKeyInfo prefix of P-256 and both
    /// coordinates.
    private static var appendixA3PEM: String {
        let prefix = [UInt8](hexadecimal: "3059301306072a8648ce3d020106082a8648ce3d03010703420004") ?? []
        let x = [UInt8](base64URL: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU") ?? []
        let y = [UInt8](base64URL: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0") ?? []
        let body = Data(prefix + x + y).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN PUBLIC KEY-----\n\(body)\n-----END PUBLIC KEY-----\n"
    }

    @Test("Private keys are read with escaped line breaks, and rejected if they are of the wrong kind")
    func signingKeys() throws {
        let curve = try PrivateKey(generating: .es256).pem
        let rsa = try PrivateKey(generating: .rs256).pem
        let inOneLine = curve.replacingOccurrences(of: "\n", with: "\\n")

        #expect(try SigningKey(es256PEM: inOneLine).algorithm == .es256)
        #expect(try SigningKey(rs256PEM: rsa.replacingOccurrences(of: "\n", with: "\\n")).algorithm == .rs256)
        for pem in ["", "no key", rsa, String(curve.dropLast(60)), Self.appendixA3PEM] {
            #expect(throws: JSONWebTokenError.keyUnusable) { try SigningKey(es256PEM: pem) }
        }
        for pem in ["", "no key", curve, String(rsa.dropLast(60))] {
            #expect(throws: JSONWebTokenError.keyUnusable) { try SigningKey(rs256PEM: pem) }
        }
    }

    @Test("Many tokens verify at once, on blocking threads and in tasks")
    func manyAtOnce() async throws {
        let pem = try PrivateKey(generating: .es256).pem
        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<32 {
                group.addTask {
                    let claims = Claims(iss: "us", sub: "\(number)", exp: 0)
                    return try JSONWebToken.signed(claims, keyID: nil, with: SigningKey(es256PEM: pem))
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(tokens).count == 32)
    }
}

private struct Claims: Codable, Equatable {
    let iss: String
    let sub: String
    let exp: Int
}
