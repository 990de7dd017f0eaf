import Foundation
import HTTPTransport
import HTTPTypes
import OpenSSLCrypto
import TestSupport

/// A token issuer with one key, created without the code under test.
struct IssuerKey: Sendable {
    let name: String
    let key: PrivateKey

    /// Most tests share this issuer, because generating a key takes a long time.
    static let shared = Result { try IssuerKey("K1") }

    init(_ name: String, _ kind: SignatureKind = .rs256) throws {
        self.name = name
        key = try PrivateKey(generating: kind)
    }

    /// A signed token of these claims.
    func token(_ claims: [String: Any], header: [String: String] = [:]) throws -> String {
        let fields = ["alg": key.kind.rawValue, "kid": name].merging(header) { $1 }
        let text =
            [UInt8](try JSONSerialization.data(withJSONObject: fields)).base64URL + "."
            + [UInt8](try JSONSerialization.data(withJSONObject: claims)).base64URL
        return try text + "." + key.signature(over: Array(text.utf8)).base64URL
    }

    /// The issuer's reply to requests for its keys.
    static func published(_ keys: [IssuerKey], cacheControl: String? = nil) throws -> Reply {
        let list = try keys.map { issuer in
            Dictionary(uniqueKeysWithValues: try issuer.key.publicKey.webKeyMembers.map { ($0.name, $0.value) })
                .merging(["kid": issuer.name, "use": "sig", "alg": issuer.key.kind.rawValue]) { $1 }
        }
        let body = try JSONSerialization.data(withJSONObject: ["keys": list])
        return Reply(
            200, String(decoding: body, as: UTF8.self),
            headers: cacheControl.map { [.cacheControl: $0] } ?? [:])
    }
}
