import FoundationEssentials
import OpenSSLCrypto

/// Dropbox's OAuth 2 token route ("OAuth Guide"): codes, with or without PKCE, and refresh tokens that do not rotate.
struct DropboxOAuth {
    /// Lifetime of an access token, in seconds; the token route reports this number.
    static let accessTokenSeconds = 14_400.0
    let server: SandboxServer

    /// A new access token in Dropbox's format.
    static func accessToken(
        for audience: String, holder: TokenHolder, refreshToken: String? = nil, at now: Date
    ) -> AccessToken {
        AccessToken(
            value: "sl.u." + RandomText.token(130), holder: holder, audience: audience, issuedAt: now,
            expiresAt: now.addingTimeInterval(accessTokenSeconds), refreshToken: refreshToken)
    }

    /// Whether `token` can be an access token: with the characters of RFC 6750, section 2.1, and either short-lived
    /// (`sl.…`) or one of the long-lived tokens with 64 characters that were issued until 2021.
    static func isWellFormed(_ token: String) -> Bool {
        token.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "-._~+/=".utf8.contains(byte)
            }
        } && (token.hasPrefix("sl.") || token.utf8.count == 64)
    }

    static func refreshTokenText() -> String { RandomText.token(64) }

    /// A new authorization code, as issued after the user has consented again.
    /// - Parameters:
    ///   - verifier: the PKCE verifier; `nil` for a code that can be redeemed only with the app's secret.
    ///   - redirect: where the browser delivered the code; `nil` if the user copied it by hand.
    static func code(
        for account: Account, verifier: String? = nil, redirect: String? = nil, at now: Date
    ) -> AuthorizationCode {
        AuthorizationCode(
            value: RandomText.token(43), clientID: account.audience,
            expiresAt: now.addingTimeInterval(AuthorizationCode.lifeSeconds), promptsConsent: true,
            challenge: verifier.map(CodeChallenge.init(of:)), redirect: redirect)
    }

    /// `POST /oauth2/token`.
    func token(_ request: SandboxRequest) throws -> SandboxResponse {
        do {
            guard request.method == "POST", let form = try request.readForm() else {
                server.note(request, "token-form", "the token route requires a POST of a form")
                throw OAuthError(400, "invalid_request", "The request parameters are not a form")
            }
            let client = try authenticate(request, form)
            switch form["grant_type"] {
            case "authorization_code": return try exchange(request, form, client)
            case "refresh_token": return try refresh(request, form, client)
            case let type:
                server.note(request, "grant-type", "grant_type is \(type ?? "missing")")
                throw OAuthError(
                    400, "unsupported_grant_type", "grant_type must be authorization_code or refresh_token")
            }
        } catch let error as OAuthError {
            return .dropbox(
                ["error": .string(error.code), "error_description": .string(error.text)], status: error.status)
        }
    }

    /// The calling app, and whether it has proved its secret.
    private struct Client {
        let key: String
        let hasSecret: Bool
    }

    private func authenticate(_ request: SandboxRequest, _ form: QueryItems) throws(OAuthError) -> Client {
        var key = form["client_id"]
        var secret = form["client_secret"]
        if let header = request.header("authorization"), header.lowercased().hasPrefix("basic "),
            let data = Data(base64Encoded: String(header.dropFirst(6)))
        {
            let halves = String(decoding: data, as: UTF8.self).split(
                separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            if halves.count == 2 {
                key = PercentEncoding.decode(halves[0], plusIsBlank: true)
                secret = PercentEncoding.decode(halves[1], plusIsBlank: true)
            }
        } else if request.header("authorization") != nil {
            server.note(request, "token-authorization", "the token route must not receive a bearer token")
            throw OAuthError(400, "invalid_request", "Unexpected Authorization header")
        }
        guard let key else {
            server.note(request, "client-id", "client_id is missing")
            throw OAuthError(400, "invalid_request", "No auth function available for given request")
        }
        guard key == RegisteredApps.dropboxAppKey || key == RegisteredApps.otherDropboxAppKey else {
            server.note(request, "client-id", "client_id is not registered")
            throw OAuthError(400, "invalid_client", "Invalid client_id or client_secret")
        }
        if let secret, secret != RegisteredApps.dropboxSecret {
            server.note(request, "client-secret", "client_secret is wrong")
            throw OAuthError(400, "invalid_client", "Invalid client_id or client_secret")
        }
        return Client(key: key, hasSecret: secret != nil)
    }

    private func exchange(_ request: SandboxRequest, _ form: QueryItems, _ client: Client) throws -> SandboxResponse {
        guard let value = form["code"] else {
            server.note(request, "code", "code is missing")
            throw OAuthError(400, "invalid_request", "missing code")
        }
        guard let id = server.withState({ $0.owners[value] }) else {
            throw OAuthError(400, "invalid_grant", "code doesn't exist or has expired")
        }
        let now = server.now
        var refresh: RefreshToken? = RefreshToken(
            value: Self.refreshTokenText(), clientID: client.key, holder: client.hasSecret ? .server : .program)
        var access = Self.accessToken(
            for: client.key, holder: client.hasSecret ? .server : .program, refreshToken: refresh?.value, at: now)
        var failure: OAuthError?
        var isReused = false
        let account = try server.changeAccount(id) { account in
            guard let index = account.codes.firstIndex(where: { $0.value == value }) else {
                failure = OAuthError(400, "invalid_grant", "code doesn't exist or has expired")
                return
            }
            let code = account.codes[index]
            isReused = code.isUsed
            failure = Self.objection(to: code, form, client, at: now)
            guard failure == nil else { return }
            account.codes[index].isUsed = true
            access.scopes = code.scopes
            refresh?.scopes = code.scopes
            if !code.isOffline { (refresh, access.refreshToken) = (nil, nil) }
            account.add(access)
            if let refresh { account.add(refresh) }
            account.hasConsented = true
        }
        if isReused { server.note(request, "code-reused", "this authorization code was used before") }
        if let failure { throw failure }
        var json: JSONObject = [
            "access_token": .string(access.value), "token_type": "bearer",
            "expires_in": .int(Int(Self.accessTokenSeconds)),
            "scope": .string((access.scopes ?? account.scopes).joined(separator: " ")),
            "uid": .string(String(account.createdAt.unixSeconds)),
            "account_id": .string(account.id),
        ]
        json["refresh_token"] = .string(refresh?.value)
        return .dropbox(.object(json))
    }

    /// What is wrong with redeeming `code` in this way; `nil` if it is valid.
    private static func objection(
        to code: AuthorizationCode, _ form: QueryItems, _ client: Client, at now: Date
    ) -> OAuthError? {
        guard !code.isUsed else {
            return OAuthError(400, "invalid_grant", "code has already been used")
        }
        guard code.expiresAt > now, code.clientID == client.key else {
            return OAuthError(400, "invalid_grant", "code doesn't exist or has expired")
        }
        guard form["redirect_uri"] == code.redirect else {
            return OAuthError(400, "invalid_grant", "redirect_uri mismatch")
        }
        switch (code.challenge, form["code_verifier"]) {
        case (let challenge?, let verifier?):
            return challenge.isAnswered(by: verifier)
                ? nil : OAuthError(400, "invalid_grant", "invalid code verifier")
        case (.some, nil): return OAuthError(400, "invalid_request", "No code verifier provided")
        case (nil, .some): return OAuthError(400, "invalid_request", "the code was issued without a challenge")
        case (nil, nil):
            return client.hasSecret ? nil : OAuthError(400, "invalid_request", "No auth function available")
        }
    }

    private func refresh(_ request: SandboxRequest, _ form: QueryItems, _ client: Client) throws -> SandboxResponse {
        guard let value = form["refresh_token"] else {
            server.note(request, "refresh-token", "refresh_token is missing")
            throw OAuthError(400, "invalid_request", "missing refresh_token")
        }
        guard let account = server.withState({ state in state.owners[value].flatMap { state.accounts[$0] } }),
            let token = account.refreshTokens.last(where: { $0.value == value }), token.clientID == client.key,
            !token.isRevoked
        else { throw OAuthError(400, "invalid_grant", "refresh token is invalid or revoked") }
        var access = Self.accessToken(
            for: client.key, holder: token.holder, refreshToken: token.value, at: server.now)
        access.scopes = token.scopes
        let issued = access
        try server.changeAccount(account.id) { $0.add(issued) }
        return .dropbox([
            "access_token": .string(access.value), "token_type": "bearer",
            "expires_in": .int(Int(Self.accessTokenSeconds)),
        ])
    }
}

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
