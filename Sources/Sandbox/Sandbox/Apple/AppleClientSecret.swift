internal import FoundationEssentials
internal import OpenSSLCrypto

/// Validates the token with which the app's server authenticates to Apple ("Creating a client secret").
enum AppleClientSecret {
    /// The longest lifetime that Apple allows, in seconds.
    static let longestLifeSeconds = 15_777_000

    /// What is wrong with the client secret of `clientID`; `nil` if it is valid.
    static func fault(in token: String, of clientID: String, key: PublicKey, at now: Date) -> String? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = json(parts[0]), let claims = json(parts[1]),
            let signature = [UInt8](base64URL: parts[2])
        else { return "client_secret is not a signed token" }
        guard header["alg"] == "ES256" else { return "client_secret is not signed with ES256" }
        guard header["kid"]?.string == RegisteredApps.appleKeyID else {
            return "client_secret names another key: kid must be \(RegisteredApps.appleKeyID)"
        }
        guard signature.count == 64 else {
            return "the signature has \(signature.count) bytes: it must be r and s, 64 bytes, not DER"
        }
        guard key.verifies(signature, over: Array("\(parts[0]).\(parts[1])".utf8)) else {
            return "the signature of client_secret is wrong"
        }
        guard claims["iss"]?.string == RegisteredApps.appleTeamID else { return "iss must be the team ID" }
        guard claims["sub"]?.string == clientID else { return "sub must be the client ID" }
        guard claims["aud"]?.string == AppleTokens.issuer else { return "aud must be \(AppleTokens.issuer)" }
        guard let issuedAt = claims["iat"]?.int, let expiresAt = claims["exp"]?.int else {
            return "iat and exp must be whole numbers"
        }
        guard expiresAt > now.unixSeconds else { return "client_secret has expired" }
        guard issuedAt <= now.unixSeconds + 300 else { return "client_secret was issued in the future" }
        guard expiresAt - issuedAt <= longestLifeSeconds else { return "client_secret lasts longer than six months" }
        return nil
    }

    private static func json(_ part: Substring) -> JSONValue? {
        [UInt8](base64URL: part).flatMap { try? JSONValue(parsing: $0) }
    }
}
