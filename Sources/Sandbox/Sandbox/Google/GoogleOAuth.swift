import FoundationEssentials

/// Google's OAuth 2 routes: token, revoke, tokeninfo and userinfo.
struct GoogleOAuth: TokenRoute {
    /// Lifetime of an access token, in seconds; the token route reports this number.
    static let accessTokenSeconds = 3_599.0
    let server: SandboxServer

    /// A new access token in Google's format.
    static func accessToken(for audience: String, holder: TokenHolder, at now: Date) -> AccessToken {
        AccessToken(
            value: "ya29.a0" + RandomText.token(160), holder: holder, audience: audience, issuedAt: now,
            expiresAt: now.addingTimeInterval(accessTokenSeconds))
    }

    /// The text of a new refresh token.
    static func refreshTokenText() -> String { "1//0" + RandomText.token(100) }

    /// A new authorization code for the server of the account's app.
    static func code(for account: Account, promptsConsent: Bool, at now: Date) -> AuthorizationCode {
        AuthorizationCode(
            value: "4/0A" + RandomText.token(70), clientID: RegisteredApps.serverClientID(for: account.audience),
            expiresAt: now.addingTimeInterval(AuthorizationCode.lifeSeconds), promptsConsent: promptsConsent)
    }

    // MARK: Token route

    static let mistakes = TokenMistakes(
        noForm: OAuthError(400, "invalid_request", "Could not parse the request"),
        grantType: { OAuthError(400, "unsupported_grant_type", "Invalid grant_type: \($0 ?? "")") },
        noCode: OAuthError(400, "invalid_request", "Missing required parameter: code"),
        noRedirect: OAuthError(400, "invalid_request", "Missing parameter: redirect_uri"),
        unknownCode: OAuthError(400, "invalid_grant", "Malformed auth code."),
        noRefreshToken: OAuthError(400, "invalid_request", "Missing required parameter: refresh_token"),
        unknownRefreshToken: OAuthError(400, "invalid_grant", "Token has been expired or revoked."))

    /// A service account authenticates with its assertion.
    func response(withoutClient form: QueryItems, to request: SandboxRequest) throws(OAuthError) -> SandboxResponse? {
        guard form["grant_type"] == FCMModel.grantType else { return nil }
        return try FCMModel(server: server).accessToken(request, form)
    }

    private static let clients: [String: (secret: String?, holder: TokenHolder, withoutSecret: OAuthError)] = [
        RegisteredApps.googleServerClientID: (
            RegisteredApps.googleServerSecret, .server,
            OAuthError(401, "invalid_client", "client_secret is missing.")
        ),
        RegisteredApps.googleDesktopClientID: (
            RegisteredApps.googleDesktopSecret, .program,
            OAuthError(400, "invalid_request", "client_secret is missing.")
        ),
        // An app on a device has no secret.
        RegisteredApps.googleIOSClientID: (nil, .program, OAuthError(401, "invalid_client", "Unauthorized")),
    ]

    func client(_ id: String?, _ secret: String?, _ request: SandboxRequest) throws(OAuthError) -> TokenClient {
        guard let id else {
            server.note(request, "client-id", "client_id is missing")
            throw OAuthError(400, "invalid_request", "Could not determine client ID from request.")
        }
        guard let known = Self.clients[id] else {
            server.note(request, "client-id", "client_id is not registered")
            throw OAuthError(401, "invalid_client", "The OAuth client was not found.")
        }
        guard known.secret == nil || secret == known.secret else {
            server.note(request, "client-secret", "client_secret is \(secret == nil ? "missing" : "wrong")")
            throw secret == nil ? known.withoutSecret : OAuthError(401, "invalid_client", "Unauthorized")
        }
        return TokenClient(id: id, holder: known.holder)
    }

    func redeem(
        _ code: AuthorizationCode, _ form: QueryItems, by client: TokenClient, of account: inout Account, at now: Date
    ) throws(OAuthError) -> (access: AccessToken, refresh: RefreshToken?) {
        guard code.clientID == client.id else { throw OAuthError(401, "unauthorized_client", "Unauthorized") }
        guard !code.isUsed, code.expiresAt > now else {
            throw OAuthError(400, "invalid_grant", "Bad Request", isReuse: code.isUsed)
        }
        // A code from an app on a device was issued without a redirect, and is exchanged with an empty one.
        guard form["redirect_uri"] == code.redirect ?? "" else {
            throw OAuthError(400, "redirect_uri_mismatch", "Bad Request")
        }
        switch (code.challenge, form["code_verifier"]) {
        case (nil, nil): break
        case (nil, .some): throw OAuthError(400, "invalid_grant", "code_verifier or verifier is not needed.")
        case (.some, nil): throw OAuthError(400, "invalid_grant", "Missing code verifier.")
        case (let challenge?, let verifier?):
            guard challenge.isAnswered(by: verifier) else {
                throw OAuthError(400, "invalid_grant", "Invalid code verifier.")
            }
        }
        var access = Self.accessToken(for: client.id, holder: client.holder, at: now)
        access.scopes = code.scopes
        let isProgram = client.holder == .program
        let needsRefresh = isProgram || code.isOffline && (!account.hasConsented || code.promptsConsent)
        if !isProgram, code.isOffline { account.hasConsented = true }
        let refresh = RefreshToken(
            value: Self.refreshTokenText(), clientID: client.id, holder: client.holder, scopes: code.scopes)
        return (access, needsRefresh ? refresh : nil)
    }

    func renew(
        _ token: RefreshToken, by client: TokenClient, _ request: SandboxRequest
    ) throws(OAuthError) -> AccessToken {
        guard token.clientID == client.id else {
            server.note(request, "refresh-client", "the refresh token belongs to another client")
            throw OAuthError(401, "unauthorized_client", "Unauthorized")
        }
        var access = Self.accessToken(for: client.id, holder: token.holder, at: server.now)
        access.scopes = token.scopes
        return access
    }

    func response(
        _ access: AccessToken, refresh: RefreshToken?, of account: Account, isRenewed: Bool
    ) -> SandboxResponse {
        var json: JSONObject = [
            "access_token": .string(access.value), "expires_in": .int(Int(Self.accessTokenSeconds)),
        ]
        json["refresh_token"] = .string(refresh?.value)
        json["scope"] = .string((access.scopes ?? account.scopes).joined(separator: " "))
        json["token_type"] = "Bearer"
        return SandboxResponse(
            200, json: .object(json), headers: [("Cache-Control", "no-cache, no-store, max-age=0, must-revalidate")])
    }

    func response(to error: OAuthError) -> SandboxResponse { error.response }

    // MARK: Other routes

    /// `POST /revoke`: ends the whole grant to which a refresh or access token belongs.
    func revoke(_ request: SandboxRequest) throws -> SandboxResponse {
        guard let value = try request.readForm()?["token"] ?? request.query["token"] else {
            server.note(request, "revoke-token", "token is missing")
            return OAuthError(400, "invalid_request", "Missing required parameter: token").response
        }
        let owner = server.withState { state in
            state.owners[value].flatMap { state.accounts[$0] }.flatMap { account in
                account.refreshTokens.contains { $0.value == value && !$0.isRevoked }
                    || account.accessTokens.contains { $0.value == value && !$0.isRevoked } ? account.id : nil
            }
        }
        guard let owner else { return OAuthError(400, "invalid_token", "Token expired or revoked").response }
        try server.changeAccount(owner) { $0.revoke(nil) }
        return SandboxResponse(200, json: [:])
    }

    /// `GET /tokeninfo?access_token=`: the client for which a token was issued; all values are strings.
    func tokenInfo(_ request: SandboxRequest) -> SandboxResponse {
        let now = server.now
        guard let value = request.query["access_token"] ?? request.bearerToken,
            let (account, token) = server.withState({ $0.accessToken(value) }), account.provider == .google,
            !token.isRevoked, token.expiresAt > now
        else {
            return SandboxResponse(400, json: ["error": "invalid_token", "error_description": "Invalid Value"])
        }
        return SandboxResponse(
            200,
            json: [
                "azp": .string(token.audience), "aud": .string(token.audience), "sub": .string(account.id),
                "scope": .string((token.scopes ?? account.scopes).joined(separator: " ")),
                "exp": .string(String(token.expiresAt.unixSeconds)),
                "expires_in": .string(String(Int(token.expiresAt.timeIntervalSince(now)))),
                "email": .string(account.email), "email_verified": "true",
                "access_type": token.holder != .device ? "offline" : "online",
            ])
    }

    /// `GET …/userinfo`: the token's user.
    func userInfo(_ request: SandboxRequest) -> SandboxResponse {
        let now = server.now
        guard let value = request.bearerToken ?? request.query["access_token"],
            let (account, token) = server.withState({ $0.accessToken(value) }), account.provider == .google,
            !token.isRevoked, token.expiresAt > now
        else {
            return SandboxResponse(
                401, json: ["error": "invalid_request", "error_description": "Invalid Credentials"],
                headers: [
                    ("WWW-Authenticate", "Bearer realm=\"https://accounts.google.com/\", error=\"invalid_token\"")
                ])
        }
        let words = account.name.split(separator: " ", maxSplits: 1)
        var json: JSONObject = [:]
        // Versions 1 and 2 of the route use a different name for the user's ID.
        json[request.path.contains("/v3/") || request.path == "/v1/userinfo" ? "sub" : "id"] = .string(account.id)
        let scopes = token.scopes ?? account.scopes
        if scopes.contains(where: { $0.hasSuffix("profile") }) {
            json["name"] = .string(account.name)
            json["given_name"] = .string(words.first.map(String.init) ?? account.name)
            if words.count == 2 { json["family_name"] = .string(String(words[1])) }
            json["picture"] = .string("https://lh3.googleusercontent.com/a/" + account.id)
        }
        if scopes.contains(where: { $0.hasSuffix("email") }) {
            json["email"] = .string(account.email)
            json["email_verified"] = true
        }
        return SandboxResponse(200, json: .object(json))
    }
}

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
        guard Self.clients.contains(client) else {
            throw .page(status: 401, code: "invalid_client", text: "The OAuth client was not found.")
        }
        guard let redirect = query["redirect_uri"] else {
            throw .page(status: 400, code: "invalid_request", text: "Missing required parameter: redirect_uri")
        }
        guard isRedirect(redirect, of: client) else {
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
            isOffline: client != RegisteredApps.googleServerClientID || query["access_type"] == "offline",
            promptsConsent: prompts.contains("consent"), loginHint: query["login_hint"])
    }

    private static let clients: Set = [
        RegisteredApps.googleServerClientID, RegisteredApps.googleDesktopClientID, RegisteredApps.googleIOSClientID,
    ]

    /// A desktop client may use any loopback port, an iOS client any path of the scheme that is its reversed id, and a
    /// web client only its exact registered URIs.
    private func isRedirect(_ uri: String, of client: String) -> Bool {
        switch client {
        case RegisteredApps.googleDesktopClientID: LoopbackAddress(uri) != nil
        case RegisteredApps.googleIOSClientID:
            uri.hasPrefix(client.split(separator: ".").reversed().joined(separator: ".") + ":/")
        default: server.withState { $0.settings.isRegistered(uri, .google) }
        }
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
