internal import FoundationEssentials

/// The caller of a Dropbox request.
struct DropboxCaller {
    let account: Account
    let token: AccessToken

    /// The caller identified by the request's access token.
    /// - Parameter scope: the scope that the user must have granted.
    /// - Throws: ``DropboxError``: 400 for a missing or malformed token, 401 for an invalid or expired one, with a tag
    ///   that names the reason.
    init(_ request: SandboxRequest, scope: String?, server: SandboxServer) throws(DropboxError) {
        guard request.header("authorization") != nil else {
            server.note(request, "no-authorization", "the request has no access token")
            throw .badRequest(
                "Error in call to API function \"\(DropboxRoutes.function(request))\": Must provide HTTP header \"Authorization\" or URL parameter \"authorization\"."
            )
        }
        guard let value = request.bearerToken else {
            server.note(request, "authorization", "the Authorization header is not a bearer token")
            throw .badRequest("Invalid authorization value in HTTP header \"Authorization\".")
        }
        guard DropboxOAuth.isWellFormed(value) else {
            throw .badRequest(
                "Error in call to API function \"\(DropboxRoutes.function(request))\": The given OAuth 2 access token is malformed."
            )
        }
        let now = server.now
        guard let (account, token) = server.withState({ $0.accessToken(value) }), account.provider == .dropbox,
            !token.isRevoked
        else { throw .unauthorized("invalid_access_token") }
        guard token.expiresAt > now else { throw .unauthorized("expired_access_token") }
        if let scope, !(token.scopes ?? account.scopes).contains(scope) {
            throw .unauthorized("missing_scope", requiredScope: scope)
        }
        self.account = account
        self.token = token
    }
}
