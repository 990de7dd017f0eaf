import JSONWebTokens
import OpenSSLCrypto
import Testing

/// Tokens that must never be accepted, each with the expected reason.
@Suite("Refused tokens")
struct RefusedTokenTests {
    private static let all: Set<JSONWebToken.Algorithm> = [.rs256, .es256]

    @Test("The unmodified token is valid", arguments: SignatureKind.allCases)
    func control(kind: SignatureKind) throws {
        let forge = try Forge(kind)
        #expect(throws: Never.self) { try verify(forge.token(), forge) }
    }

    @Test("alg none is rejected in every spelling")
    func unsigned() throws {
        let forge = try Forge(.rs256)
        for alg in ["none", "None", "NONE", "nOnE", ""] {
            let token = try forge.token(header: #"{"alg":"\#(alg)","kid":"K1"}"#) { _ in [] }
            #expect(throws: JSONWebTokenError.algorithmNotAllowed) { try verify(token, forge) }
        }
        #expect(throws: JSONWebTokenError.malformed) { try verify(forge.token(header: #"{"kid":"K1"}"#), forge) }
        #expect(throws: JSONWebTokenError.malformed) {
            try verify(forge.token(header: #"{"alg":null,"kid":"K1"}"#), forge)
        }
        #expect(throws: JSONWebTokenError.badSignature) { try verify(forge.token { _ in [] }, forge) }
    }

    @Test("HS256 with the public key as the shared secret is rejected")
    func sharedSecret() throws {
        let forge = try Forge(.rs256)
        let publicPEM = try forge.key.publicKey.pem
        let modulus = try #require(try forge.key.publicKey.webKeyMembers.first { $0.name == "n" }?.value)
        for secret in [Array(publicPEM.utf8), try #require([UInt8](base64URL: modulus)), Array(modulus.utf8)] {
            let hmac = try forge.token(header: #"{"alg":"HS256","kid":"K1"}"#) {
                hmacSHA256(key: secret, message: $0)
            }
            #expect(throws: JSONWebTokenError.algorithmNotAllowed) { try verify(hmac, forge) }
            let disguised = try forge.token { hmacSHA256(key: secret, message: $0) }
            #expect(throws: JSONWebTokenError.badSignature) { try verify(disguised, forge) }
        }
    }

    @Test("Other algorithms, and algorithms that do not fit the key, are rejected")
    func otherAlgorithms() throws {
        let forge = try Forge(.rs256)
        for alg in ["RS384", "RS512", "PS256", "ES384", "EdDSA", "rs256", "RS256 ", "HS512"] {
            let token = try forge.token(header: #"{"alg":"\#(alg)","kid":"K1"}"#)
            #expect(throws: JSONWebTokenError.algorithmNotAllowed) { try verify(token, forge) }
        }
        let mislabelled = try forge.token(header: #"{"alg":"ES256","kid":"K1"}"#)
        #expect(throws: JSONWebTokenError.algorithmNotAllowed) { try verify(mislabelled, forge) }
        #expect(throws: JSONWebTokenError.algorithmNotAllowed) {
            try JSONWebToken.verifiedPayload(
                of: forge.token(), with: keySet([("K1", forge.key)]), algorithms: [.es256])
        }
    }

    @Test("A token is rejected if its key is different, unknown or not named", arguments: SignatureKind.allCases)
    func wrongKeys(kind: SignatureKind) throws {
        let forge = try Forge(kind)
        let impostor = try Forge(kind)
        #expect(throws: JSONWebTokenError.badSignature) { try verify(impostor.token(), forge) }
        for header in [
            #"{"alg":"\#(kind.rawValue)","kid":"K2"}"#, #"{"alg":"\#(kind.rawValue)"}"#,
            #"{"alg":"\#(kind.rawValue)","kid":""}"#, #"{"alg":"\#(kind.rawValue)","kid":"k1"}"#,
        ] {
            #expect(throws: JSONWebTokenError.unknownKey) { try verify(forge.token(header: header), forge) }
        }
    }

    @Test("A key embedded in the token is ignored")
    func broughtKeys() throws {
        let forge = try Forge(.es256)
        let impostor = try Forge(.es256)
        let jwk = try impostor.key.publicKey.webKeyMembers.map { #""\#($0.name)":"\#($0.value)""# }
            .joined(separator: ",")
        let token = try impostor.token(
            header: #"{"alg":"ES256","kid":"K1","jwk":{\#(jwk)},"jku":"https://evil.example/keys"}"#)
        #expect(throws: JSONWebTokenError.badSignature) { try verify(token, forge) }
    }

    @Test("A changed byte anywhere invalidates the token", arguments: SignatureKind.allCases)
    func tampered(kind: SignatureKind) throws {
        let forge = try Forge(kind)
        let token = try forge.token()
        let parts = token.split(separator: ".").map(String.init)

        let payload = Array(Forge.payload.replacing("001", with: "002").utf8).base64URL
        #expect(throws: JSONWebTokenError.badSignature) { try verify("\(parts[0]).\(payload).\(parts[2])", forge) }
        let header = Array(#"{"kid":"K1","alg":"\#(kind.rawValue)"}"#.utf8).base64URL
        #expect(throws: JSONWebTokenError.badSignature) { try verify("\(header).\(parts[1]).\(parts[2])", forge) }
        for position in stride(from: 0, to: token.utf8.count, by: 7) {
            var bytes = Array(token.utf8)
            bytes[position] = bytes[position] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let changed = String(decoding: bytes, as: UTF8.self)
            #expect(throws: JSONWebTokenError.self, "byte \(position)") { try verify(changed, forge) }
        }
    }

    @Test("Signatures in other forms are rejected: DER, zeros, too short, too long")
    func otherForms() throws {
        let forge = try Forge(.es256)
        let der = try forge.token { message in
            let signature = try forge.key.signature(over: message)
            return [0x30, 0x44, 0x02, 0x20] + signature.prefix(32) + [0x02, 0x20] + signature.suffix(32)
        }
        #expect(throws: JSONWebTokenError.badSignature) { try verify(der, forge) }
        for bytes in [
            [UInt8](repeating: 0, count: 64), [], [UInt8](repeating: 0xFF, count: 64), [UInt8](repeating: 1, count: 63),
        ] {
            #expect(throws: JSONWebTokenError.badSignature) { try verify(forge.token { _ in bytes }, forge) }
        }
        #expect(throws: JSONWebTokenError.badSignature) {
            try verify(forge.token { try forge.key.signature(over: $0) + [0] }, forge)
        }
        let rsa = try Forge(.rs256)
        for bytes in [[UInt8](repeating: 0, count: 256), [UInt8](repeating: 0xFF, count: 256), [0x00]] {
            #expect(throws: JSONWebTokenError.badSignature) { try verify(rsa.token { _ in bytes }, rsa) }
        }
    }

    @Test("Strings that are not tokens are rejected")
    func malformed() throws {
        let forge = try Forge(.es256)
        let token = try forge.token()
        let parts = token.split(separator: ".").map(String.init)
        let texts = [
            "", ".", "..", "...", "x", "a.b.c", "\(parts[0]).\(parts[1])", "\(token).", "\(token).x", " \(token)",
            "\(token)\n", "\(parts[0])=.\(parts[1]).\(parts[2])", "\(parts[0]).\(parts[1]).\(parts[2])==",
            "\(parts[0]).\(parts[1])+.\(parts[2])", "é.\(parts[1]).\(parts[2])",
            "\(Array("[]".utf8).base64URL).\(parts[1]).\(parts[2])",
            "\(Array("{".utf8).base64URL).\(parts[1]).\(parts[2])",
            "\([0xFF, 0xFE].base64URL).\(parts[1]).\(parts[2])",
            "\(Array(#"{"alg":5,"kid":"K1"}"#.utf8).base64URL).\(parts[1]).\(parts[2])",
            "\(Array(#"{"alg":"ES256","kid":5}"#.utf8).base64URL).\(parts[1]).\(parts[2])",
        ]
        for text in texts {
            #expect(throws: JSONWebTokenError.malformed, "\(text)") { try verify(text, forge) }
        }
    }

    @Test("Critical extensions are rejected as unsupported")
    func critical() throws {
        let forge = try Forge(.es256)
        for crit in [#"["b64"]"#, #"["exp"]"#, "[]", "null"] {
            let token = try forge.token(header: #"{"alg":"ES256","kid":"K1","b64":false,"crit":\#(crit)}"#)
            #expect(throws: JSONWebTokenError.malformed) { try verify(token, forge) }
        }
    }

    @Test("A token beyond the size limit is not parsed; one at the limit is")
    func oversize() throws {
        let forge = try Forge(.es256)
        let overhead = try forge.token(payload: "").utf8.count
        let room = (JSONWebToken.maximumBytes - overhead) / 4 * 3
        let fits = try forge.token(payload: String(repeating: " ", count: room))
        #expect(fits.utf8.count <= JSONWebToken.maximumBytes)
        #expect(throws: Never.self) { try verify(fits, forge) }
        let tooLong = try forge.token(payload: String(repeating: " ", count: room + 4))
        #expect(tooLong.utf8.count > JSONWebToken.maximumBytes)
        #expect(throws: JSONWebTokenError.malformed) { try verify(tooLong, forge) }
    }

    @Test("Key sets: unknown members are skipped, unsuitable keys are never used, other JSON is rejected")
    func keySets() throws {
        let forge = try Forge(.rs256)
        let odd =
            #"5,null,"x",{},{"kty":"oct","kid":"K9","k":"AAAA"},{"kty":"EC","kid":"K8","crv":"P-384","x":"A","y":"B"}"#
        let json = try keySetJSON([("K1", forge.key.publicKey)], extra: odd)
        let keys = try JSONWebKeySet(json: json)
        #expect(throws: Never.self) {
            try JSONWebToken.verifiedPayload(of: forge.token(), with: keys, algorithms: Self.all)
        }
        #expect(keys.contains(keyID: "K1"))
        #expect(!keys.contains(keyID: "K9"))
        #expect(!keys.contains(keyID: "K8"))

        let text = String(decoding: json, as: UTF8.self)
        for (part, replacement) in [
            (#""use":"sig""#, #""use":"enc""#), (#""alg":"RS256""#, #""alg":"RS512""#),
            (#""kty":"RSA""#, #""kty":"EC""#), (#""n":""#, #""n":"="#), (#""e":"AQAB""#, #""e":"AQ""#),
            (#""n":""#, #""m":""#),
        ] {
            let unfit = try JSONWebKeySet(json: Array(text.replacing(part, with: replacement).utf8))
            #expect(throws: JSONWebTokenError.unknownKey, "\(replacement)") {
                try JSONWebToken.verifiedPayload(of: forge.token(), with: unfit, algorithms: Self.all)
            }
        }
        for refused in ["", "[]", "{}", #"{"keys":{}}"#, #"{"keys":5}"#, "nonsense"] {
            #expect(throws: JSONWebTokenError.malformed) { try JSONWebKeySet(json: Array(refused.utf8)) }
        }
        let many = try keySetJSON(
            (0...JSONWebKeySet.maximumKeys).map { ("\($0)", try forge.key.publicKey) })
        #expect(throws: JSONWebTokenError.malformed) { try JSONWebKeySet(json: many) }
    }

    @Test("Invalid keys are never used: a point off the curve, even numbers, sizes out of range")
    func unfitKeys() throws {
        let curve = try PrivateKey(generating: .es256).publicKey.webKeyMembers
        let rsa = try PrivateKey(generating: .rs256).publicKey.webKeyMembers
        func bytes(_ members: [(name: String, value: String)], _ name: String) throws -> [UInt8] {
            try #require(members.first { $0.name == name }.flatMap { [UInt8](base64URL: $0.value) })
        }
        func contains(_ members: [(name: String, value: String)], _ name: String, _ value: [UInt8]) throws -> Bool {
            let changed = members.map { #""\#($0.name)":"\#($0.name == name ? value.base64URL : $0.value)""# }
            let json = #"{"keys":[{"kid":"K1",\#(changed.joined(separator: ","))}]}"#
            return try JSONWebKeySet(json: Array(json.utf8)).contains(keyID: "K1")
        }
        let (x, y) = (try bytes(curve, "x"), try bytes(curve, "y"))
        let (modulus, exponent) = (try bytes(rsa, "n"), try bytes(rsa, "e"))

        #expect(try contains(curve, "x", x) && contains(rsa, "n", modulus))
        #expect(try contains(rsa, "n", [0, 0] + modulus), "leading zeros change no number")
        var off = y
        off[31] ^= 1
        for (name, value) in [
            ("y", off), ("x", y), ("x", [UInt8](repeating: 0, count: 32)), ("x", Array(x.dropLast())),
        ] {
            #expect(try !contains(curve, name, value), "\(name) \(value)")
        }
        let moduli: [[UInt8]] = [
            [UInt8](repeating: 0xFF, count: 128), modulus.dropLast() + [0x10], modulus + modulus + [1], [],
        ]
        for value in moduli {
            #expect(try !contains(rsa, "n", value), "n of \(value.count) bytes")
        }
        let exponents: [[UInt8]] = [[], [0], [1], [2], exponent.dropLast() + [0]]
        for value in exponents {
            #expect(try !contains(rsa, "e", value), "e \(value)")
        }
    }

    @Test(
        "Any text can be a key's name; a header with duplicate members is rejected or has one meaning"
    )
    func oddHeaders() throws {
        let forge = try Forge(.es256)
        for name in [
            "../../dev/null", "K1' OR '1'='1", "https://evil.example/keys", String(repeating: "K", count: 5_000),
        ] {
            let token = try forge.token(header: #"{"alg":"ES256","kid":"\#(name)"}"#)
            #expect(throws: JSONWebTokenError.unknownKey) { try verify(token, forge) }
        }
        for header in [#"{"alg":"none","alg":"ES256","kid":"K1"}"#, #"{"alg":"ES256","alg":"none","kid":"K1"}"#] {
            #expect(throws: JSONWebTokenError.self) { try verify(forge.token(header: header) { _ in [] }, forge) }
        }
    }

    private func verify(_ token: @autoclosure () throws -> String, _ forge: Forge) throws {
        _ = try JSONWebToken.verifiedPayload(
            of: token(), with: keySet([("K1", forge.key)]), algorithms: Self.all)
    }
}
