internal import FoundationEssentials

/// `GET /oauth2/authorize` at `www.dropbox.com` (Dropbox, "OAuth Guide").
struct DropboxAuthorization: AuthorizationEndpoint {
    let server: SandboxServer
    var provider: Provider { .dropbox }
    var denial: [(name: String, value: String)] {
        [
            (name: "error", value: "access_denied"),
            (name: "error_description", value: "The user chose not to give your app access to their Dropbox account."),
        ]
    }

    func request(in query: QueryItems) throws(AuthorizationRefusal) -> AuthorizationRequest {
        guard query["client_id"] == RegisteredApps.dropboxAppKey else {
            throw .page(status: 400, code: "invalid_client_id", text: "Invalid client_id")
        }
        let redirect = query["redirect_uri"]
        if let redirect, !server.withState({ $0.settings.isRegistered(redirect, .dropbox) }) {
            throw .page(
                status: 400, code: "invalid_redirect_uri",
                text: "It must exactly match one of the redirect URIs of the app, path included.")
        }
        guard query["response_type"] == "code" else {
            throw .page(status: 400, code: "invalid_request", text: "response_type must be code")
        }
        let accessType = query["token_access_type"] ?? "legacy"
        guard ["offline", "online", "legacy"].contains(accessType) else {
            throw .page(status: 400, code: "invalid_request", text: "Invalid token_access_type")
        }
        let scopes = query["scope"].map { $0.split(separator: " ").map(String.init) } ?? RegisteredApps.dropboxScopes
        guard Set(scopes).isSubset(of: RegisteredApps.dropboxScopes) else {
            throw .page(status: 400, code: "invalid_scope", text: "The app may not ask for all of these scopes.")
        }
        return AuthorizationRequest(
            clientID: RegisteredApps.dropboxAppKey, appName: "Sandbox App", redirectURI: redirect,
            state: query["state"], scopes: scopes, challenge: try challenge(in: query),
            isOffline: accessType == "offline", promptsConsent: query["force_reapprove"] == "true", loginHint: nil)
    }

    func code(for request: AuthorizationRequest, account: Account) -> AuthorizationCode {
        AuthorizationCode(
            value: RandomText.token(43), clientID: request.clientID,
            expiresAt: server.now.addingTimeInterval(AuthorizationCode.lifeSeconds),
            promptsConsent: true, challenge: request.challenge, redirect: request.redirectURI,
            scopes: request.scopes.filter(account.scopes.contains), isOffline: request.isOffline)
    }
}
