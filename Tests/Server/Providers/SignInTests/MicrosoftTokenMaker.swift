import Foundation
import HTTPTransport
import OpenSSLCrypto
import Providers
import TestSupport

/// An issuer of valid and invalid id tokens.
struct MicrosoftTokenMaker {
    static let clientID = "5a0d31c6-0b7e-4f5d-9c1e-2f6a7b8c9d0e"
    static let personalTenant = "9188040d-6c67-4c5b-b112-36a304b66dad"
    static let shared = Result { try MicrosoftTokenMaker() }

    let key: PrivateKey
    let otherKey: PrivateKey

    private init() throws {
        key = try PrivateKey(generating: .rs256)
        otherKey = try PrivateKey(generating: .rs256)
    }

    /// The published keys.
    func keys() throws -> Reply {
        let members = try key.publicKey.webKeyMembers.map { "\"\($0.name)\": \"\($0.value)\"" }.joined(separator: ", ")
        return Reply(200, "{\"keys\": [{\"kid\": \"K1\", \"use\": \"sig\", \(members)}]}")
    }

    /// The claims of a valid token.
    static func claims(oid: String = "00000000-0000-0000-8f3a-0d1c2b4e5f60") -> [String: Any] {
        let now = Int(Date().timeIntervalSince1970)
        return [
            "ver": "2.0", "iss": "https://login.microsoftonline.com/\(personalTenant)/v2.0", "sub": "AAAA",
            "aud": clientID, "exp": now + 3_600, "iat": now, "nbf": now, "tid": personalTenant, "oid": oid,
        ]
    }

    /// A token with some claims replaced, or omitted if they are `nil`.
    func token(
        _ changes: [String: Any?] = [:], header: [String: String] = ["alg": "RS256", "typ": "JWT", "kid": "K1"],
        signedBy signer: PrivateKey? = nil
    ) throws -> String {
        var claims = Self.claims()
        for (name, value) in changes { claims[name] = value }
        let input = try Self.encode(header) + "." + Self.encode(claims)
        return try input + "." + (signer ?? key).signature(over: Array(input.utf8)).base64URL
    }

    static func encode(_ json: [String: Any]) throws -> String {
        [UInt8](try JSONSerialization.data(withJSONObject: json, options: [.sortedKeys])).base64URL
    }
}

extension AccountScript {
    /// Microsoft, with that issuer's keys.
    static func microsoft(_ replies: [String: Reply] = [:]) throws -> AccountScript {
        let standard = [
            "keys": try MicrosoftTokenMaker.shared.get().keys(),
            "me": Reply(200, #"{"id": "8f3a0d1c2b4e5f60", "displayName": "Alice Example"}"#),
        ]
        return AccountScript(standard.merging(replies) { $1 })
    }
}
