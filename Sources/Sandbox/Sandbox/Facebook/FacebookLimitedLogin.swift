internal import FoundationEssentials

/// Facebook's Limited Login: the app receives an identity token instead of an access token ("Limited Login",
/// "Validating the OIDC Token").
struct FacebookLimitedLogin {
    static let host = "limited.facebook.com"
    /// The `tokenType` of accounts that sign in like this.
    static let tokenType = "LIMITED"
    /// Lifetime of a token, in seconds.
    static let lifeSeconds = 3_600.0
    private static let keysPath = "/.well-known/oauth/openid/jwks/"

    let server: SandboxServer

    /// Handles a request.
    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        switch (request.method, request.path) {
        case ("GET", Self.keysPath):
            return SandboxResponse(
                200, json: try server.facebookKeys.published(0), headers: [("Cache-Control", "max-age=300")])
        case ("GET", "/.well-known/openid-configuration/"):
            return SandboxResponse(
                200,
                json: [
                    "issuer": "https://www.facebook.com", "jwks_uri": .string("https://\(Self.host)\(Self.keysPath)"),
                    "response_types_supported": ["id_token"], "subject_types_supported": ["pairwise"],
                    "id_token_signing_alg_values_supported": ["RS256"],
                ])
        default:
            server.note(
                request, "unknown-route", "the sandbox's Limited Login has no \(request.method) \(request.path)")
            return SandboxResponse(404)
        }
    }

    /// An identity token of `account`, issued now.
    func identityToken(of account: Account) throws -> String {
        let now = server.now
        return try server.facebookKeys.key(0).sign([
            "iss": "https://www.facebook.com", "aud": .string(account.audience), "sub": .string(account.id),
            "iat": .int(now.unixSeconds), "exp": .int(now.addingTimeInterval(Self.lifeSeconds).unixSeconds),
            "jti": .string(RandomText.token(22)), "nonce": .string(RandomText.token(22)),
            "name": .string(account.name), "email": .string(account.email),
        ])
    }
}
