import OpenSSLCrypto

@testable import JSONWebTokens

/// Creates valid and invalid tokens without the code under test.
struct Forge {
    static let payload = #"{"iss":"https://issuer.example","sub":"001","aud":"app","exp":4000000000}"#
    let kind: SignatureKind
    let key: PrivateKey

    init(_ kind: SignatureKind) throws {
        self.kind = kind
        key = try PrivateKey(generating: kind)
    }

    /// A token; every part can be replaced.
    func token(
        header: String? = nil, payload: String = Self.payload, signature: (([UInt8]) throws -> [UInt8])? = nil
    ) throws -> String {
        let header = header ?? #"{"alg":"\#(kind.rawValue)","kid":"K1"}"#
        let signingInput = Array(header.utf8).base64URL + "." + Array(payload.utf8).base64URL
        let sign = signature ?? key.signature(over:)
        return signingInput + "." + (try sign(Array(signingInput.utf8))).base64URL
    }
}

/// A JSON key set as issuers publish it.
func keySet(_ keys: [(name: String, key: PrivateKey)]) throws -> JSONWebKeySet {
    try JSONWebKeySet(json: keySetJSON(keys.map { ($0.name, try $0.key.publicKey) }))
}

/// The JSON of a key set.
func keySetJSON(_ keys: [(name: String, key: PublicKey)], extra: String = "") throws -> [UInt8] {
    let members = try keys.map { name, key in
        let members = [("kid", name), ("use", "sig"), ("alg", key.kind.rawValue)] + (try key.webKeyMembers)
        return "{" + members.map { #""\#($0)":"\#($1)""# }.joined(separator: ",") + "}"
    }
    return Array((#"{"keys":["# + (members + (extra.isEmpty ? [] : [extra])).joined(separator: ",") + "]}").utf8)
}
