import Foundation
import OpenSSLCrypto
import Posix
import TestSupport
import Testing

/// Keys and signatures, both ways against the `openssl` command.
@Suite("Keys and signatures")
struct SignatureTests {
    private let message = Array("What is signed.".utf8)

    @Test("What we sign, openssl verifies", arguments: SignatureKind.allCases)
    func weSign(kind: SignatureKind) throws {
        let tool = try OpenSSLCommand()
        let key = try PrivateKey(generating: kind)
        try tool.write(message, "message")
        try tool.write(Array(key.publicKey.pem.utf8), "public.pem")
        try tool.write(derSignature(key.signature(over: message), kind), "signature")

        #expect(tool.succeeds("dgst", "-sha256", "-verify", "public.pem", "-signature", "signature", "message"))

        try tool.write(message + [0], "message")
        #expect(!tool.succeeds("dgst", "-sha256", "-verify", "public.pem", "-signature", "signature", "message"))
    }

    @Test("What openssl signs with our key, we verify", arguments: SignatureKind.allCases)
    func weVerify(kind: SignatureKind) throws {
        let tool = try OpenSSLCommand()
        let key = try PrivateKey(generating: kind)
        try tool.write(message, "message")
        try tool.write(Array(key.pem.utf8), "private.pem")

        #expect(tool.succeeds("dgst", "-sha256", "-sign", "private.pem", "-out", "signature", "message"))
        let signature = try fixedSignature(tool.read("signature"), kind)

        let publicKey = try key.publicKey
        #expect(publicKey.verifies(signature, over: message))
        #expect(!publicKey.verifies(signature, over: message + [0]))
        for position in [0, signature.count / 2, signature.count - 1] {
            var changed = signature
            changed[position] ^= 1
            #expect(!publicKey.verifies(changed, over: message))
        }
        #expect(!publicKey.verifies([], over: message))
        #expect(!publicKey.verifies(signature + [0], over: message))
        #expect(!publicKey.verifies(Array(signature.dropLast()), over: message))
        #expect(try !PrivateKey(generating: kind).publicKey.verifies(signature, over: message))
    }

    @Test("Keys that openssl makes are read, and written as it writes them", arguments: [["rsa_keygen_bits:2048"], []])
    func foreignKeys(rsaOptions: [String]) throws {
        let tool = try OpenSSLCommand()
        let options = rsaOptions.isEmpty ? ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"] : ["RSA"]
        #expect(tool.succeeds(["genpkey", "-algorithm"] + options + ["-out", "private.pem"]))
        #expect(tool.succeeds("pkey", "-in", "private.pem", "-pubout", "-out", "public.pem"))
        let pem = try String(decoding: tool.read("private.pem"), as: UTF8.self)
        let publicPEM = try String(decoding: tool.read("public.pem"), as: UTF8.self)

        let key = try PrivateKey(pem: pem)

        #expect(key.kind == (rsaOptions.isEmpty ? .es256 : .rs256))
        #expect(try key.pem == pem)
        #expect(try key.publicKey.pem == publicPEM)
        #expect(try PublicKey(pem: publicPEM) == key.publicKey)
    }

    @Test("The numbers of a web key are those that openssl prints")
    func webKeyMembers() throws {
        let tool = try OpenSSLCommand()
        let rsa = try PrivateKey(generating: .rs256)
        try tool.write(Array(rsa.publicKey.pem.utf8), "rsa.pem")
        let rsaMembers = try Dictionary(uniqueKeysWithValues: rsa.publicKey.webKeyMembers.map { ($0.name, $0.value) })
        let modulus = try tool.output("rsa", "-pubin", "-in", "rsa.pem", "-noout", "-modulus")
        #expect("Modulus=" + (try bytes(rsaMembers["n"])).hexUppercase + "\n" == modulus)
        #expect(rsaMembers["e"] == "AQAB")
        #expect(rsaMembers["kty"] == "RSA")

        let curve = try PrivateKey(generating: .es256)
        try tool.write(Array(curve.publicKey.pem.utf8), "curve.pem")
        let members = try Dictionary(uniqueKeysWithValues: curve.publicKey.webKeyMembers.map { ($0.name, $0.value) })
        let point = try tool.output("pkey", "-pubin", "-in", "curve.pem", "-noout", "-text")
            .filter { $0.isHexDigit || $0 == ":" || $0 == "\n" || $0 == " " }
            .split(separator: "\n").filter { $0.hasPrefix("    ") }.joined()
            .filter(\.isHexDigit)
        #expect(try point.lowercased() == "04" + (bytes(members["x"]) + bytes(members["y"])).hexLowercase)
        #expect(members["crv"] == "P-256")
        #expect(members["kty"] == "EC")
    }

    @Test("Keys of other sizes, curves and forms are refused")
    func refusedKeys() throws {
        let tool = try OpenSSLCommand()
        let curve = ["genpkey", "-algorithm", "EC", "-pkeyopt"]
        #expect(tool.succeeds(curve + ["ec_paramgen_curve:P-384", "-out", "p384"]))
        #expect(tool.succeeds("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024", "-out", "rsa1024"))
        #expect(tool.succeeds("genpkey", "-algorithm", "ED25519", "-out", "ed25519"))
        #expect(
            tool.succeeds(
                curve + ["ec_paramgen_curve:P-256", "-aes256", "-pass", "pass:secret", "-out", "encrypted"]))

        for name in ["p384", "rsa1024", "ed25519", "encrypted"] {
            let pem = try String(decoding: tool.read(name), as: UTF8.self)
            #expect(throws: CryptoError.invalidKey, "\(name)") { try PrivateKey(pem: pem) }
        }
        let own = try PrivateKey(generating: .es256)
        for pem in ["", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", try own.publicKey.pem] {
            #expect(throws: CryptoError.invalidKey) { try PrivateKey(pem: pem) }
        }
        for pem in ["", "x", try own.pem] {
            #expect(throws: CryptoError.invalidKey) { try PublicKey(pem: pem) }
        }
    }

    @Test("Making, failing and letting go, over and over")
    func churn() throws {
        let key = try PrivateKey(generating: .es256)
        let publicKey = try key.publicKey
        for round in 0..<200 {
            let text = Array("round \(round)".utf8)
            #expect(try publicKey.verifies(key.signature(over: text), over: text))
            #expect(!publicKey.verifies(Array(repeating: UInt8(round), count: 64), over: text))
            #expect(throws: CryptoError.invalidKey) { try PrivateKey(pem: "nothing") }
        }
    }

    @Test("base64url has one spelling for each value")
    func base64URL() {
        let pairs: [(String, String)] = [
            ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
            ("foobar", "Zm9vYmFy"),
        ]  // RFC 4648, section 10, without padding
        for (plain, encoded) in pairs {
            #expect(Array(plain.utf8).base64URL == encoded)
            #expect([UInt8](base64URL: encoded) == Array(plain.utf8))
        }
        #expect([UInt8]([0xFB, 0xFF, 0xFE]).base64URL == "-__-")
        for refused in ["Z", "Zg==", "Zh", "Zm9", "Zm9v\n", "+//+", "Zm 9v", "é"] {
            #expect([UInt8](base64URL: refused) == nil, "\(refused)")
        }
    }

    private func bytes(_ text: String?) throws -> [UInt8] { try #require([UInt8](base64URL: text ?? "=")) }

    /// A signature as openssl writes it.
    private func derSignature(_ signature: [UInt8], _ kind: SignatureKind) -> [UInt8] {
        guard kind == .es256 else { return signature }
        let numbers = [signature.prefix(32), signature.suffix(32)].map { number in
            let digits = Array(number.drop { $0 == 0 })
            let positive = (digits.first ?? 0) < 0x80 && !digits.isEmpty ? digits : [0] + digits
            return [0x02, UInt8(positive.count)] + positive
        }
        let body = numbers.flatMap { $0 }
        return [0x30, UInt8(body.count)] + body
    }

    /// A signature of openssl's as tokens have it.
    private func fixedSignature(_ signature: [UInt8], _ kind: SignatureKind) throws -> [UInt8] {
        guard kind == .es256 else { return signature }
        let firstLength = Int(signature[3])
        let first = signature[4..<4 + firstLength]
        let second = signature[(6 + firstLength)...]
        return [first, second].flatMap { number in
            let digits = number.drop { $0 == 0 }
            return [UInt8](repeating: 0, count: 32 - digits.count) + digits
        }
    }
}

/// `openssl` at work in a folder of its own.
private struct OpenSSLCommand {
    private let folder: ScratchFolder
    private var path: String { folder.path }

    init() throws { folder = try ScratchFolder("keys") }

    func write(_ bytes: [UInt8], _ name: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path + "/" + name))
    }

    func read(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: path + "/" + name)))
    }

    func succeeds(_ arguments: String...) -> Bool { succeeds(arguments) }

    func succeeds(_ arguments: [String]) -> Bool { (try? run(arguments))?.status == 0 }

    func output(_ arguments: String...) throws -> String { try run(arguments).output }

    private func run(_ arguments: [String]) throws -> ChildProcess.Outcome {
        let script = #"cd "$0" && exec openssl "$@" 2>/dev/null"#
        return try ChildProcess.run(["sh", "-c", script, path] + arguments)
    }
}
