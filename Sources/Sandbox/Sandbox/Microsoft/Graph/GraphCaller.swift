internal import FoundationEssentials

/// The caller of a Graph request, and the permissions of the token.
struct GraphCaller {
    let account: Account
    private let scopes: [String]

    /// The caller identified by the request's access token.
    /// - Throws: ``GraphError`` 401 for an invalid or expired token.
    init(_ request: SandboxRequest, server: SandboxServer) throws(GraphError) {
        guard let value = request.bearerToken else {
            server.note(request, "no-authorization", "the request has no bearer token")
            throw GraphError(401, "InvalidAuthenticationToken", "Access token is empty.")
        }
        let now = server.now
        guard let (account, token) = server.withState({ $0.accessToken(value) }), account.provider == .microsoft,
            !token.isRevoked, token.expiresAt > now
        else { throw .invalidToken }
        guard token.audience == MicrosoftOAuth.graph else {
            server.note(request, "token-audience", "the token was not issued for Graph")
            throw GraphError(
                401, "InvalidAuthenticationToken", "Access token validation failure. Invalid audience.")
        }
        self.account = account
        scopes = token.scopes ?? account.scopes
    }

    /// - Throws: ``GraphError`` 403 if no permission for files was granted, 400 or 404 if the account has no OneDrive.
    func requireFiles() throws(GraphError) {
        guard scopes.contains(where: { $0.hasPrefix("Files.ReadWrite") }) else {
            throw GraphError(403, "accessDenied", "The caller does not have permission to perform the action.")
        }
        if let error = account.oneDriveState.error { throw error }
    }
}
