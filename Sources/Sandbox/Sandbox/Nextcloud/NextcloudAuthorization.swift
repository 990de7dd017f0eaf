internal import FoundationEssentials

/// `GET /index.php/apps/oauth2/authorize` of Nextcloud's OAuth 2.0 app, which has no scopes.
struct NextcloudAuthorization: AuthorizationEndpoint {
    let server: SandboxServer
    var provider: Provider { .webdav }
    var denial: [(name: String, value: String)] { [(name: "error", value: "access_denied")] }

    func request(in query: QueryItems) throws(AuthorizationRefusal) -> AuthorizationRequest {
        guard let client = RegisteredApps.nextcloudClients.first(where: { $0.id == query["client_id"] }) else {
            throw .page(status: 400, code: "invalid_client", text: "Your client is not authorized to connect.")
        }
        // On the person's own machine, any port is allowed.
        guard let redirect = query["redirect_uri"],
            LoopbackAddress(redirect)?.withoutPort == client.redirectWithoutPort
        else { throw .page(status: 400, code: "invalid_request", text: "redirect_uri is not that of the client") }
        guard query["response_type"] == "code" else {
            throw .redirect(
                to: AuthorizationRequest.address(
                    redirect, [(name: "error", value: "unsupported_response_type")], state: query["state"]))
        }
        return AuthorizationRequest(
            clientID: client.id, appName: "Sandbox App", redirectURI: redirect, state: query["state"], scopes: [],
            challenge: try challenge(in: query), isOffline: true, promptsConsent: true, loginHint: nil)
    }

    func code(for request: AuthorizationRequest, account: Account) -> AuthorizationCode {
        var code = NextcloudOAuth.code(for: request.clientID, redirect: request.redirectURI ?? "", at: server.now)
        code.challenge = request.challenge
        return code
    }
}
