import FoundationEssentials

/// Google's OAuth 2 routes: token, revoke, tokeninfo and userinfo.
struct GoogleOAuth {
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

    /// `POST /token`: exchanges a code, or refreshes.
    func token(_ request: SandboxRequest) throws -> SandboxResponse {
        do {
            guard request.method == "POST", let form = try request.readForm() else {
                server.note(request, "token-form", "the token route requires a POST of a form")
                throw OAuthError(400, "invalid_request", "Could not parse the request")
            }
            // A service account authenticates with its assertion.
            if form["grant_type"] == FCMModel.grantType {
                return try FCMModel(server: server).accessToken(request, form)
            }
            let client = try authenticate(request, form)
            switch form["grant_type"] {
            case "authorization_code": return try exchange(request, form, client: client)
            case "refresh_token": return try refresh(request, form, client: client)
            case let type:
                server.note(request, "grant-type", "grant_type is \(type ?? "missing")")
                throw OAuthError(400, "unsupported_grant_type", "Invalid grant_type: \(type ?? "")")
            }
        } catch let error as OAuthError {
            return error.response
        }
    }

    /// The client ID of the calling app, after checking its secret.
    private func authenticate(_ request: SandboxRequest, _ form: QueryItems) throws(OAuthError) -> String {
        var id = form["client_id"]
        var secret = form["client_secret"]
        if let header = request.header("authorization"), header.lowercased().hasPrefix("basic "),
            let data = Data(base64Encoded: String(header.dropFirst(6)))
        {
            let halves = String(decoding: data, as: UTF8.self).split(
                separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            if halves.count == 2 {
                id = PercentEncoding.decode(halves[0], plusIsBlank: true)
                secret = PercentEncoding.decode(halves[1], plusIsBlank: true)
            }
        }
        guard let id else {
            server.note(request, "client-id", "client_id is missing")
            throw OAuthError(400, "invalid_request", "Could not determine client ID from request.")
        }
        switch id {
        case RegisteredApps.googleServerClientID:
            guard secret == RegisteredApps.googleServerSecret else {
                server.note(request, "client-secret", "client_secret is \(secret == nil ? "missing" : "wrong")")
                throw OAuthError(401, "invalid_client", secret == nil ? "client_secret is missing." : "Unauthorized")
            }
        case RegisteredApps.googleDesktopClientID:
            guard secret == RegisteredApps.googleDesktopSecret else {
                server.note(request, "client-secret", "client_secret is \(secret == nil ? "missing" : "wrong")")
                throw OAuthError(
                    secret == nil ? 400 : 401, secret == nil ? "invalid_request" : "invalid_client",
                    secret == nil ? "client_secret is missing." : "Unauthorized")
            }
        // An app on a device has no secret.
        case RegisteredApps.googleIOSClientID: break
        default:
            server.note(request, "client-id", "client_id is not registered")
            throw OAuthError(401, "invalid_client", "The OAuth client was not found.")
        }
        return id
    }

    private func exchange(
        _ request: SandboxRequest, _ form: QueryItems, client: String
    ) throws -> SandboxResponse {
        guard let value = form["code"] else {
            server.note(request, "code", "code is missing")
            throw OAuthError(400, "invalid_request", "Missing required parameter: code")
        }
        guard let redirect = form["redirect_uri"] else {
            server.note(request, "redirect-uri", "redirect_uri is missing; for codes from a device it must be empty")
            throw OAuthError(400, "invalid_request", "Missing parameter: redirect_uri")
        }
        guard let id = server.withState({ $0.owners[value] }) else {
            throw OAuthError(400, "invalid_grant", "Malformed auth code.")
        }
        let now = server.now
        var failure: OAuthError?
        var isReused = false
        var refresh: RefreshToken?
        let holder: TokenHolder = client == RegisteredApps.googleDesktopClientID ? .program : .server
        var access = Self.accessToken(for: client, holder: holder, at: now)
        let account = try server.changeAccount(id) { account in
            guard let index = account.codes.firstIndex(where: { $0.value == value }) else {
                failure = OAuthError(400, "invalid_grant", "Malformed auth code.")
                return
            }
            let code = account.codes[index]
            guard code.clientID == client else {
                failure = OAuthError(401, "unauthorized_client", "Unauthorized")
                return
            }
            guard !code.isUsed, code.expiresAt > now else {
                isReused = code.isUsed
                failure = OAuthError(400, "invalid_grant", "Bad Request")
                return
            }
            failure = Self.objection(to: code, redirect: redirect, verifier: form["code_verifier"])
            guard failure == nil else { return }
            account.codes[index].isUsed = true
            access.scopes = code.scopes
            account.add(access)
            if holder == .program || code.isOffline && (!account.hasConsented || code.promptsConsent) {
                let token = RefreshToken(
                    value: Self.refreshTokenText(), clientID: client, holder: holder, scopes: code.scopes)
                account.add(token)
                refresh = token
            }
            if holder == .server, code.isOffline { account.hasConsented = true }
        }
        if isReused { server.note(request, "code-reused", "this authorization code was used before") }
        if let failure { throw failure }
        return tokenResponse(access, refresh: refresh, scopes: access.scopes ?? account.scopes)
    }

    /// What is wrong with redeeming a code in this way; `nil` if it is valid.
    private static func objection(
        to code: AuthorizationCode, redirect: String, verifier: String?
    ) -> OAuthError? {
        // A code from an app on a device was issued without a redirect, and is exchanged with an empty one.
        guard redirect == code.redirect ?? "" else { return OAuthError(400, "redirect_uri_mismatch", "Bad Request") }
        switch (code.challenge, verifier) {
        case (nil, nil): return nil
        case (nil, .some): return OAuthError(400, "invalid_grant", "code_verifier or verifier is not needed.")
        case (.some, nil): return OAuthError(400, "invalid_grant", "Missing code verifier.")
        case (let challenge?, let verifier?):
            return challenge.isAnswered(by: verifier)
                ? nil : OAuthError(400, "invalid_grant", "Invalid code verifier.")
        }
    }

    private func refresh(
        _ request: SandboxRequest, _ form: QueryItems, client: String
    ) throws -> SandboxResponse {
        guard let value = form["refresh_token"] else {
            server.note(request, "refresh-token", "refresh_token is missing")
            throw OAuthError(400, "invalid_request", "Missing required parameter: refresh_token")
        }
        let known = server.withState { state in
            state.owners[value].flatMap { state.accounts[$0] }.flatMap { account in
                account.refreshTokens.first { $0.value == value }.map { (account, $0) }
            }
        }
        guard let (account, token) = known, !token.isRevoked else {
            throw OAuthError(400, "invalid_grant", "Token has been expired or revoked.")
        }
        guard token.clientID == client else {
            server.note(request, "refresh-client", "the refresh token belongs to another client")
            throw OAuthError(401, "unauthorized_client", "Unauthorized")
        }
        var access = Self.accessToken(for: client, holder: token.holder, at: server.now)
        access.scopes = token.scopes
        let issued = access
        try server.changeAccount(account.id) { $0.add(issued) }
        return tokenResponse(access, refresh: nil, scopes: access.scopes ?? account.scopes)
    }

    private func tokenResponse(_ access: AccessToken, refresh: RefreshToken?, scopes: [String]) -> SandboxResponse {
        var json: JSONObject = [
            "access_token": .string(access.value), "expires_in": .int(Int(Self.accessTokenSeconds)),
        ]
        json["refresh_token"] = .string(refresh?.value)
        json["scope"] = .string(scopes.joined(separator: " "))
        json["token_type"] = "Bearer"
        return SandboxResponse(
            200, json: .object(json), headers: [("Cache-Control", "no-cache, no-store, max-age=0, must-revalidate")])
    }

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

/// An error of Google's OAuth routes.
struct OAuthError: Error, Equatable {
    let status: Int
    let code: String
    let text: String

    init(_ status: Int, _ code: String, _ text: String) {
        self.status = status
        self.code = code
        self.text = text
    }

    /// The response.
    var response: SandboxResponse {
        SandboxResponse(status, json: ["error": .string(code), "error_description": .string(text)])
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
