internal import FoundationEssentials

/// `GET /o/oauth2/v2/auth` (Google Identity, "OAuth 2.0 for Web Server Applications" and "… for Mobile & Desktop
/// Apps").
struct GoogleAuthorization: AuthorizationEndpoint {
    /// Short names of scopes, and the corresponding scopes of tokens.
    private static let scopeNames = [
        "email": "https://www.googleapis.com/auth/userinfo.email",
        "profile": "https://www.googleapis.com/auth/userinfo.profile",
    ]
    /// The supported parameters; others are recorded, since typos are easily overlooked.
    private static let parameters: Set<String> = [
        "client_id", "redirect_uri", "response_type", "scope", "state", "access_type", "prompt", "login_hint",
        "include_granted_scopes", "code_challenge", "code_challenge_method", "nonce", "hl",
    ]

    let server: SandboxServer
    var provider: Provider { .google }
    var denial: [(name: String, value: String)] { [(name: "error", value: "access_denied")] }

    func request(in query: QueryItems) throws(AuthorizationRefusal) -> AuthorizationRequest {
        guard let client = query["client_id"] else {
            throw .page(status: 400, code: "invalid_request", text: "Missing required parameter: client_id")
        }
        guard client == RegisteredApps.googleServerClientID || client == RegisteredApps.googleDesktopClientID else {
            throw .page(status: 401, code: "invalid_client", text: "The OAuth client was not found.")
        }
        let isDesktop = client == RegisteredApps.googleDesktopClientID
        guard let redirect = query["redirect_uri"] else {
            throw .page(status: 400, code: "invalid_request", text: "Missing required parameter: redirect_uri")
        }
        // A desktop client may use any loopback port; a web client may use only its exact registered URI.
        guard
            isDesktop
                ? LoopbackAddress(redirect) != nil : server.withState({ $0.settings.isRegistered(redirect, .google) })
        else {
            throw .page(
                status: 400, code: "redirect_uri_mismatch",
                text: "The redirect URI in the request does not match the ones authorized for the OAuth client.")
        }
        guard let type = query["response_type"] else {
            throw .page(status: 400, code: "invalid_request", text: "Required parameter is missing: response_type")
        }
        guard type == "code" else {
            throw .page(status: 400, code: "unsupported_response_type", text: "Invalid response_type: \(type)")
        }
        let scopes = (query["scope"] ?? "").split(separator: " ").map { Self.scopeNames[String($0)] ?? String($0) }
        guard !scopes.isEmpty else {
            throw .page(status: 400, code: "invalid_request", text: "Missing required parameter: scope")
        }
        guard ["online", "offline", nil].contains(query["access_type"]) else {
            throw .page(status: 400, code: "invalid_request", text: "Invalid parameter value for access_type")
        }
        if let unknown = query.items.first(where: { !Self.parameters.contains($0.name) }) {
            throw .page(status: 400, code: "invalid_request", text: "Parameter not allowed: \(unknown.name)")
        }
        let prompts = Set((query["prompt"] ?? "").split(separator: " ").map(String.init))
        if prompts.contains("none") {
            throw .redirect(
                to: AuthorizationRequest.address(
                    redirect, [(name: "error", value: "interaction_required")], state: query["state"]))
        }
        return AuthorizationRequest(
            clientID: client, appName: "Sandbox App", redirectURI: redirect, state: query["state"], scopes: scopes,
            challenge: try challenge(in: query),
            // Installed apps receive a refresh token whether or not they request it.
            isOffline: isDesktop || query["access_type"] == "offline", promptsConsent: prompts.contains("consent"),
            loginHint: query["login_hint"])
    }

    func code(for request: AuthorizationRequest, account: Account) -> AuthorizationCode {
        AuthorizationCode(
            value: "4/0A" + RandomText.token(70), clientID: request.clientID,
            expiresAt: server.now.addingTimeInterval(AuthorizationCode.lifeSeconds),
            promptsConsent: request.promptsConsent, challenge: request.challenge, redirect: request.redirectURI,
            scopes: request.scopes.filter(account.scopes.contains), isOffline: request.isOffline)
    }

    func extras(for request: AuthorizationRequest, granted: [String]) -> [(name: String, value: String)] {
        [(name: "scope", value: granted.joined(separator: " ")), (name: "authuser", value: "0")]
    }
}
