import FoundationEssentials

/// The token route of Nextcloud's OAuth 2.0 app (Administration Manual, "OAuth2"; ownCloud 10 has the same route) for
/// codes and refresh tokens. A refresh token works once and ends the previous access token.
///
/// Where the two servers differ, the stricter rule applies: ownCloud compares the redirect URI, and Nextcloud replies
/// `invalid_request` to unknown codes and refresh tokens.
struct NextcloudOAuth {
    /// Lifetime of an access token, in seconds; the token route reports this number.
    static let accessTokenSeconds = 3_600.0

    let server: SandboxServer

    /// A new access token, which is also an app password.
    static func accessToken(
        for clientID: String, holder: TokenHolder, refreshToken: String? = nil, at now: Date
    ) -> AccessToken {
        AccessToken(
            value: text(72), holder: holder, audience: clientID, issuedAt: now,
            expiresAt: now.addingTimeInterval(accessTokenSeconds), refreshToken: refreshToken)
    }

    /// A new code.
    static func code(
        for clientID: String, verifier: String? = nil, redirect: String, at now: Date
    ) -> AuthorizationCode {
        AuthorizationCode(
            value: text(128), clientID: clientID, expiresAt: now.addingTimeInterval(AuthorizationCode.lifeSeconds),
            promptsConsent: true, challenge: verifier.map(CodeChallenge.init(of:)), redirect: redirect)
    }

    /// Letters and digits.
    private static func text(_ count: Int) -> String {
        String(RandomText.token(count + 40).filter { $0 != "-" && $0 != "_" }.prefix(count))
    }

    /// `POST /index.php/apps/oauth2/api/v1/token`.
    func token(_ request: SandboxRequest) throws -> SandboxResponse {
        do {
            guard request.method == "POST", let form = try request.readForm() else {
                server.note(request, "token-form", "the token route requires a POST of a form")
                throw OAuthError(400, "invalid_request", "")
            }
            switch form["grant_type"] {
            case "authorization_code": return try exchange(request, form)
            case "refresh_token": return try refresh(request, form)
            case let type:
                server.note(request, "grant-type", "grant_type is \(type ?? "missing")")
                throw OAuthError(400, "invalid_grant", "")
            }
        } catch let error as OAuthError {
            return SandboxResponse(error.status, json: ["error": .string(error.code)])
        }
    }

    /// The calling client, identified by HTTP Basic authentication: ownCloud does not accept parameters instead.
    private func client(_ request: SandboxRequest) throws(OAuthError) -> RegisteredApps.NextcloudClient {
        guard let header = request.header("authorization"), header.lowercased().hasPrefix("basic "),
            let data = Data(base64Encoded: String(header.dropFirst(6)))
        else {
            server.note(request, "client-authentication", "the client does not authenticate by HTTP Basic")
            throw OAuthError(400, "invalid_request", "")
        }
        let text = String(decoding: data, as: UTF8.self)
        guard let client = RegisteredApps.nextcloudClients.first(where: { "\($0.id):\($0.secret)" == text }) else {
            throw OAuthError(400, "invalid_client", "")
        }
        return client
    }

    private func exchange(_ request: SandboxRequest, _ form: QueryItems) throws -> SandboxResponse {
        let known = form["code"].flatMap { value in server.withState { $0.code(value) } }
        // Checked before the client.
        guard let (account, code) = known, code.expiresAt > server.now else {
            throw OAuthError(400, "invalid_request", "")
        }
        guard !code.isUsed else {
            server.note(request, "code-reused", "this authorization code was used before")
            throw OAuthError(400, "invalid_request", "")
        }
        let client = try client(request)
        guard client.id == code.clientID else { throw OAuthError(400, "invalid_client", "") }
        guard form["redirect_uri"] == code.redirect else { throw OAuthError(400, "invalid_grant", "") }
        if let challenge = code.challenge {
            guard let verifier = form["code_verifier"] else { throw OAuthError(400, "invalid_request", "") }
            guard challenge.isAnswered(by: verifier) else { throw OAuthError(400, "invalid_grant", "") }
        }
        return try issue(to: account.id, client) { account in
            guard let index = account.codes.firstIndex(where: { $0.value == code.value && !$0.isUsed }) else {
                return false
            }
            account.codes[index].isUsed = true
            return true
        }
    }

    private func refresh(_ request: SandboxRequest, _ form: QueryItems) throws -> SandboxResponse {
        let known = form["refresh_token"].flatMap { value in server.withState { $0.refreshToken(value) } }
        guard let (account, token) = known, !token.isRevoked else { throw OAuthError(400, "invalid_request", "") }
        let client = try client(request)
        guard client.id == token.clientID else { throw OAuthError(400, "invalid_client", "") }
        return try issue(to: account.id, client) { account in
            guard let index = account.refreshTokens.firstIndex(where: { $0.value == token.value && !$0.isRevoked })
            else { return false }
            account.refreshTokens[index].isRevoked = true
            for index in account.accessTokens.indices where account.accessTokens[index].refreshToken == token.value {
                account.accessTokens[index].isRevoked = true
            }
            return true
        }
    }

    /// - Parameter takeGrant: uses up the code or refresh token; `false` if another request was faster.
    private func issue(
        to id: String, _ client: RegisteredApps.NextcloudClient, takeGrant: (inout Account) -> Bool
    ) throws -> SandboxResponse {
        let refresh = RefreshToken(value: Self.text(128), clientID: client.id, holder: client.holder)
        let access = Self.accessToken(
            for: client.id, holder: client.holder, refreshToken: refresh.value, at: server.now)
        var isTaken = false
        try server.changeAccount(id) { account in
            isTaken = takeGrant(&account)
            guard isTaken else { return }
            account.add(access)
            account.add(refresh)
            account.hasConsented = true
        }
        guard isTaken else { throw OAuthError(400, "invalid_request", "") }
        return SandboxResponse(
            200,
            json: [
                "access_token": .string(access.value), "token_type": "Bearer",
                "expires_in": .int(Int(Self.accessTokenSeconds)), "refresh_token": .string(refresh.value),
                "user_id": .string(id),
            ])
    }
}

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
