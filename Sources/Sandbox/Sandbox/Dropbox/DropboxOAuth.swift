import FoundationEssentials
import OpenSSLCrypto

/// Dropbox's OAuth 2 token route ("OAuth Guide"): codes, with or without PKCE, and refresh tokens that do not rotate.
struct DropboxOAuth: TokenRoute {
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

    // MARK: Token route

    static let mistakes = TokenMistakes(
        noForm: OAuthError(400, "invalid_request", "The request parameters are not a form"),
        grantType: { _ in
            OAuthError(400, "unsupported_grant_type", "grant_type must be authorization_code or refresh_token")
        },
        noCode: OAuthError(400, "invalid_request", "missing code"), noRedirect: nil,
        unknownCode: OAuthError(400, "invalid_grant", "code doesn't exist or has expired"),
        noRefreshToken: OAuthError(400, "invalid_request", "missing refresh_token"),
        unknownRefreshToken: OAuthError(400, "invalid_grant", "refresh token is invalid or revoked"))

    /// An app that sends no secret is a program.
    func client(_ id: String?, _ secret: String?, _ request: SandboxRequest) throws(OAuthError) -> TokenClient {
        if let header = request.header("authorization"),
            !header.lowercased().hasPrefix("basic ") || Data(base64Encoded: String(header.dropFirst(6))) == nil
        {
            server.note(request, "token-authorization", "the token route must not receive a bearer token")
            throw OAuthError(400, "invalid_request", "Unexpected Authorization header")
        }
        guard let id else {
            server.note(request, "client-id", "client_id is missing")
            throw OAuthError(400, "invalid_request", "No auth function available for given request")
        }
        guard id == RegisteredApps.dropboxAppKey || id == RegisteredApps.otherDropboxAppKey else {
            server.note(request, "client-id", "client_id is not registered")
            throw OAuthError(400, "invalid_client", "Invalid client_id or client_secret")
        }
        if let secret, secret != RegisteredApps.dropboxSecret {
            server.note(request, "client-secret", "client_secret is wrong")
            throw OAuthError(400, "invalid_client", "Invalid client_id or client_secret")
        }
        return TokenClient(id: id, holder: secret == nil ? .program : .server)
    }

    func redeem(
        _ code: AuthorizationCode, _ form: QueryItems, by client: TokenClient, of account: inout Account, at now: Date
    ) throws(OAuthError) -> (access: AccessToken, refresh: RefreshToken?) {
        guard !code.isUsed else {
            throw OAuthError(400, "invalid_grant", "code has already been used", isReuse: true)
        }
        guard code.expiresAt > now, code.clientID == client.id else { throw Self.mistakes.unknownCode }
        guard form["redirect_uri"] == code.redirect else {
            throw OAuthError(400, "invalid_grant", "redirect_uri mismatch")
        }
        switch (code.challenge, form["code_verifier"]) {
        case (let challenge?, let verifier?):
            guard challenge.isAnswered(by: verifier) else {
                throw OAuthError(400, "invalid_grant", "invalid code verifier")
            }
        case (.some, nil): throw OAuthError(400, "invalid_request", "No code verifier provided")
        case (nil, .some): throw OAuthError(400, "invalid_request", "the code was issued without a challenge")
        case (nil, nil):
            guard client.holder == .server else {
                throw OAuthError(400, "invalid_request", "No auth function available")
            }
        }
        let refresh = RefreshToken(
            value: Self.refreshTokenText(), clientID: client.id, holder: client.holder, scopes: code.scopes)
        var access = Self.accessToken(
            for: client.id, holder: client.holder, refreshToken: code.isOffline ? refresh.value : nil, at: now)
        access.scopes = code.scopes
        account.hasConsented = true
        return (access, code.isOffline ? refresh : nil)
    }

    func renew(
        _ token: RefreshToken, by client: TokenClient, _ request: SandboxRequest
    ) throws(OAuthError) -> AccessToken {
        guard token.clientID == client.id else { throw Self.mistakes.unknownRefreshToken }
        var access = Self.accessToken(
            for: client.id, holder: token.holder, refreshToken: token.value, at: server.now)
        access.scopes = token.scopes
        return access
    }

    func response(
        _ access: AccessToken, refresh: RefreshToken?, of account: Account, isRenewed: Bool
    ) -> SandboxResponse {
        var json: JSONObject = [
            "access_token": .string(access.value), "token_type": "bearer",
            "expires_in": .int(Int(Self.accessTokenSeconds)),
        ]
        guard !isRenewed else { return .dropbox(.object(json)) }
        json["scope"] = .string((access.scopes ?? account.scopes).joined(separator: " "))
        json["uid"] = .string(String(account.createdAt.unixSeconds))
        json["account_id"] = .string(account.id)
        json["refresh_token"] = .string(refresh?.value)
        return .dropbox(.object(json))
    }

    func response(to error: OAuthError) -> SandboxResponse {
        .dropbox(["error": .string(error.code), "error_description": .string(error.text)], status: error.status)
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
