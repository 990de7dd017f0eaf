internal import FoundationEssentials

/// `GET /{tenant}/oauth2/v2.0/authorize` (Microsoft identity platform, "OAuth 2.0 authorization code flow").
struct MicrosoftAuthorization: AuthorizationEndpoint {
    /// Kinds of redirect URIs in an application's registration, which determine how their codes are redeemed.
    enum Platform: String, Sendable {
        /// Redeemed with the client's secret.
        case web
        /// Redeemed without a secret: "mobile and desktop applications".
        case native
    }

    /// The registered redirect URIs. For `localhost` the port is ignored, but the path is not, so that it distinguishes
    /// the two platforms ("Redirect URI restrictions", localhost exceptions).
    static let redirects: [String: Platform] = [
        "http://localhost": .native, "http://localhost/program": .native, "http://localhost/server": .web,
    ]

    /// The platform to which a redirect URI belongs; `nil` if it is not registered.
    static func platform(of redirect: String) -> Platform? {
        guard let address = LoopbackAddress(redirect), address.isNamed else { return nil }
        return redirects[address.withoutPort]
    }

    let server: SandboxServer
    var provider: Provider { .microsoft }
    var denial: [(name: String, value: String)] {
        [
            (name: "error", value: "access_denied"),
            (name: "error_description", value: "AADSTS65004: User declined to consent to access the app."),
        ]
    }

    func request(in query: QueryItems) throws(AuthorizationRefusal) -> AuthorizationRequest {
        guard query["client_id"] == RegisteredApps.microsoftClientID else {
            throw .page(
                status: 400, code: "unauthorized_client",
                text: "AADSTS700016: Application was not found in the directory.")
        }
        guard let redirect = query["redirect_uri"], Self.platform(of: redirect) != nil else {
            throw .page(
                status: 400, code: "invalid_request",
                text: "AADSTS50011: The redirect URI in the request is not registered for the application.")
        }
        guard query["response_type"] == "code", ["query", nil].contains(query["response_mode"]) else {
            throw .page(
                status: 400, code: "unsupported_response_type",
                text: "AADSTS70005: response_type must be code, and response_mode query")
        }
        let scopes = (query["scope"] ?? "").split(separator: " ").map(MicrosoftOAuth.shortScope)
        guard !scopes.isEmpty else {
            throw .page(
                status: 400, code: "invalid_request",
                text: "AADSTS900144: The request must contain the following parameter: 'scope'.")
        }
        if query["prompt"] == "none" {
            throw .redirect(
                to: AuthorizationRequest.address(
                    redirect, [(name: "error", value: "interaction_required")], state: query["state"]))
        }
        return AuthorizationRequest(
            clientID: RegisteredApps.microsoftClientID, appName: RegisteredApps.microsoftAppName,
            redirectURI: redirect, state: query["state"], scopes: scopes, challenge: try challenge(in: query),
            isOffline: scopes.contains("offline_access"), promptsConsent: query["prompt"] == "consent",
            loginHint: query["login_hint"])
    }

    func code(for request: AuthorizationRequest, account: Account) -> AuthorizationCode {
        let asked = Set(request.scopes.map { $0.lowercased() })
        return AuthorizationCode(
            value: "M.C5_" + RandomText.token(60), clientID: request.clientID,
            expiresAt: server.now.addingTimeInterval(AuthorizationCode.lifeSeconds),
            promptsConsent: request.promptsConsent, challenge: request.challenge, redirect: request.redirectURI,
            scopes: account.scopes.filter { asked.contains($0.lowercased()) }, isOffline: request.isOffline)
    }
}
