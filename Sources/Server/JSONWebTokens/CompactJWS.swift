internal import OpenSSLCrypto
internal import UntrustedInput

/// A token split into its parts, none of them trusted yet (RFC 7515, section 5.2).
struct CompactJWS {
    /// `alg`; nil for `none`, for shared secrets, and for any other algorithm not in use.
    let algorithm: JSONWebToken.Algorithm?
    /// `kid`, if the header names one.
    let keyID: String?
    /// What the signature covers: the first two parts, verbatim.
    let signingInput: [UInt8]
    /// The second part, decoded.
    let payload: [UInt8]
    /// The third part, decoded.
    let signature: [UInt8]

    /// - Throws: ``JSONWebTokenError/malformed`` unless it has three parts of strict base64url, a header in JSON with
    ///   an `alg`, and no `crit`: critical extensions are not supported (RFC 7515, section 4.1.11).
    init(_ token: String) throws(JSONWebTokenError) {
        guard token.utf8.count <= JSONWebToken.maximumBytes else { throw .malformed }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3,
            let header = [UInt8](base64URL: parts[0]),
            let payload = [UInt8](base64URL: parts[1]),
            let signature = [UInt8](base64URL: parts[2]),
            let fields = try? UntrustedJSON.decode(Header.self, from: header),
            !fields.hasCriticalExtensions
        else { throw .malformed }
        algorithm = JSONWebToken.Algorithm(rawValue: fields.alg)
        keyID = fields.kid
        signingInput = Array(token.utf8.prefix(parts[0].utf8.count + 1 + parts[1].utf8.count))
        self.payload = payload
        self.signature = signature
    }

    private struct Header: Decodable {
        let alg: String
        let kid: String?
        let hasCriticalExtensions: Bool

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Member.self)
            alg = try members.decode(String.self, forKey: .alg)
            kid = try members.decodeIfPresent(String.self, forKey: .kid)
            hasCriticalExtensions = members.contains(.crit)
        }

        private enum Member: CodingKey {
            case alg, kid, crit
        }
    }
}
