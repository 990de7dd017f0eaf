import FoundationEssentials
import OpenSSLCrypto

/// Microsoft's identity platform, version 2: token, keys and discovery at `login.microsoftonline.com`.
struct MicrosoftOAuth {
    /// The audience of Graph's access tokens.
    static let graph = "https://graph.microsoft.com"
    /// The permission that the app's own API defines, and the `scp` of its access tokens.
    static let apiScope = "access_as_user"
    /// The tenant of all personal accounts.
    static let personalTenant = "9188040d-6c67-4c5b-b112-36a304b66dad"
    /// The tenant of the sandbox's work accounts.
    static let workTenant = "3c1d7f52-90ab-4c3e-8d6f-0a1b2c3d4e5f"
    /// Lifetime of an access token, in seconds; the token route reports this number.
    static let accessTokenSeconds = 3_736.0
    private static let idTokenSeconds = 3_600.0
    private static let tenants: Set = ["common", "consumers", "organizations", personalTenant, workTenant]
    let server: SandboxServer

    /// Handles a request.
    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        let segments = request.segments
        guard let tenant = segments.first, Self.tenants.contains(tenant) else { return unknown(request) }
        switch (request.method, segments.dropFirst().joined(separator: "/")) {
        case ("GET", "oauth2/v2.0/authorize"), ("POST", "oauth2/v2.0/authorize"):
            return try MicrosoftAuthorization(server: server).respond(to: request)
        case ("POST", "oauth2/v2.0/token"): return try MicrosoftTokenRoute(server: server).respond(to: request)
        case ("GET", "discovery/v2.0/keys"):
            let generation = server.withState { $0.settings.microsoftKeyGeneration }
            return SandboxResponse(
                200, json: try server.microsoftKeyStore.published(generation),
                headers: [("Cache-Control", "max-age=86400, private")])
        case ("GET", "v2.0/.well-known/openid-configuration"): return discovery(tenant)
        default: return unknown(request)
        }
    }

    private func unknown(_ request: SandboxRequest) -> SandboxResponse {
        server.note(request, "unknown-route", "the sandbox's Microsoft has no \(request.method) \(request.path)")
        return SandboxResponse(404, json: ["error": "not_found"])
    }

    private func discovery(_ tenant: String) -> SandboxResponse {
        let base = "https://login.microsoftonline.com/\(tenant)"
        let issuer = tenant == "common" || tenant == "organizations" ? "{tenantid}" : tenant
        return SandboxResponse(
            200,
            json: [
                "token_endpoint": .string(base + "/oauth2/v2.0/token"),
                "authorization_endpoint": .string(base + "/oauth2/v2.0/authorize"),
                "device_authorization_endpoint": .string(base + "/oauth2/v2.0/devicecode"),
                "jwks_uri": .string(base + "/discovery/v2.0/keys"),
                "issuer": .string("https://login.microsoftonline.com/\(issuer)/v2.0"),
                "response_types_supported": ["code"], "subject_types_supported": ["pairwise"],
                "id_token_signing_alg_values_supported": ["RS256"],
                "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"],
            ])
    }

    // MARK: Accounts

    /// Graph's ID for a new account: 16 hexadecimal digits for personal accounts, a UUID for others.
    static func newAccountID(isWork: Bool) -> String {
        isWork ? UUID().uuidString.lowercased() : "8" + RandomText.hexadecimal(15).lowercased()
    }

    /// The `oid` of the account's ID tokens, a UUID; for personal accounts, Graph's ID padded with zeros.
    static func objectID(_ account: Account) -> String {
        guard !account.id.contains("-") else { return account.id }
        let digits = String(repeating: "0", count: 32 - account.id.count) + account.id
        var text = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { text.append("-") }
            text.append(digit)
        }
        return text
    }

    /// A new authorization code for the account's app.
    static func code(for account: Account, at now: Date) -> AuthorizationCode {
        AuthorizationCode(
            value: "M.C5_" + RandomText.token(60), clientID: account.audience,
            expiresAt: now.addingTimeInterval(AuthorizationCode.lifeSeconds), promptsConsent: false)
    }

    /// The address of an application's own API ("Application ID URI").
    static func api(of clientID: String) -> String { "api://" + clientID }

    /// Signs in on the device, if the last sign-in is no longer usable: creates an ID token for the app, and access
    /// tokens for the app's own API and for Graph.
    /// - Returns: whether anything was created.
    static func signIn(_ account: inout Account, at now: Date, soon: Date, keys: IdentityTokenKeys.Current) -> Bool {
        var hasChanged = false
        if account.deviceToken(at: soon, for: account.audience) == nil {
            account.add(idToken(for: account, at: now, keys: keys))
            hasChanged = true
        }
        if account.deviceToken(at: soon, for: api(of: account.audience)) == nil {
            account.add(apiToken(for: account, at: now, keys: keys))
            hasChanged = true
        }
        if account.deviceToken(at: soon, for: graph) == nil {
            account.add(accessToken(holder: .device, scopes: account.scopes, at: now))
            hasChanged = true
        }
        if account.freshCode(at: soon) == nil {
            account.add(code(for: account, at: now))
            hasChanged = true
        }
        return hasChanged
    }

    /// A new access token for Graph, opaque like those of personal accounts.
    static func accessToken(holder: TokenHolder, scopes: [String], at now: Date) -> AccessToken {
        var token = AccessToken(
            value: "EwB4A8l6BAAU" + RandomText.token(200), holder: holder, audience: graph, issuedAt: now,
            expiresAt: now.addingTimeInterval(accessTokenSeconds))
        token.scopes = scopes
        return token
    }

    /// A new refresh token.
    static func refreshToken(
        _ clientID: String, holder: TokenHolder = .server, scopes: [String]? = nil, insteadOf old: String? = nil
    ) -> RefreshToken {
        RefreshToken(
            value: refreshTokenPrefix + RandomText.token(180), clientID: clientID, holder: holder, scopes: scopes,
            predecessor: old)
    }

    private static let refreshTokenPrefix = "M.C531_BAY.0.U."

    /// Whether `text` has the format of a refresh token.
    static func isRefreshToken(_ text: String) -> Bool { text.hasPrefix(refreshTokenPrefix) }

    /// A scope without the optional prefix of Graph's address.
    static func shortScope(_ scope: some StringProtocol) -> String {
        scope.lowercased().hasPrefix(graph + "/") ? String(scope.dropFirst(graph.count + 1)) : String(scope)
    }

    /// A new ID token, by default on the account's device.
    static func idToken(
        for account: Account, holder: TokenHolder = .device, at now: Date, keys: IdentityTokenKeys.Current
    ) -> AccessToken {
        AccessToken(
            value: keys.sign(claims(of: account, at: now, seconds: idTokenSeconds)), holder: holder,
            audience: account.audience, issuedAt: now, expiresAt: now.addingTimeInterval(idTokenSeconds))
    }

    /// A new access token for the app's own API, as requested by the app on the device: a JWT of version 2.0, whose
    /// audience is the client ID ("Access token claims reference").
    private static func apiToken(
        for account: Account, at now: Date, keys: IdentityTokenKeys.Current
    ) -> AccessToken {
        var claims = claims(of: account, at: now, seconds: accessTokenSeconds)
        claims["azp"] = .string(account.audience)
        claims["azpacr"] = "0"
        claims["scp"] = .string(apiScope)
        return AccessToken(
            value: keys.sign(claims), holder: .device, audience: api(of: account.audience), issuedAt: now,
            expiresAt: now.addingTimeInterval(accessTokenSeconds), scopes: [apiScope])
    }

    /// The claims of all of the app's signed tokens.
    private static func claims(of account: Account, at now: Date, seconds: Double) -> JSONObject {
        let tenant = account.id.contains("-") ? workTenant : personalTenant
        return [
            "ver": "2.0", "iss": .string("https://login.microsoftonline.com/\(tenant)/v2.0"),
            "sub": .string("AAAAAAAAAAAAAAAAAAAAA" + String(account.id.reversed())),
            "aud": .string(account.audience), "exp": .int(now.unixSeconds + Int(seconds)),
            "iat": .int(now.unixSeconds), "nbf": .int(now.unixSeconds), "name": .string(account.name),
            "preferred_username": .string(account.email), "oid": .string(objectID(account)), "tid": .string(tenant),
            // Distinguishes two tokens issued in the same second.
            "uti": .string(RandomText.token(22)),
        ]
    }

    /// A failure in Microsoft's format.
    static func failure(_ status: Int, _ reason: String?) -> SandboxResponse {
        let code = reason.flatMap { Int($0) }
        let error: MicrosoftError =
            switch status {
            case 400: MicrosoftError(400, "invalid_grant", code ?? 50173, "Sandbox fault")
            case 401: MicrosoftError(401, "invalid_client", code ?? 7_000_215, "Sandbox fault")
            default: MicrosoftError(status, "temporarily_unavailable", code ?? 90033, "Sandbox fault")
            }
        return error.response(at: Date())
    }
}

/// An error of Microsoft's token route.
struct MicrosoftError: Error, Equatable {
    let status: Int
    let code: String
    /// The number after `AADSTS`.
    let number: Int
    let text: String

    init(_ status: Int, _ code: String, _ number: Int, _ text: String) {
        self.status = status
        self.code = code
        self.number = number
        self.text = text
    }

    /// The response at `time`.
    func response(at time: Date) -> SandboxResponse {
        let trace = UUID().uuidString.lowercased()
        return SandboxResponse(
            status,
            json: [
                "error": .string(code),
                "error_description": .string("AADSTS\(number): \(text) Trace ID: \(trace)"),
                "error_codes": [.int(number)], "timestamp": .string(time.text), "trace_id": .string(trace),
                "correlation_id": .string(UUID().uuidString.lowercased()),
            ])
    }
}

/// `GET /{tenant}/oauth2/v2.0/authorize` (Microsoft identity platform, "OAuth 2.0 authorization code flow").
struct MicrosoftAuthorization: AuthorizationEndpoint {
    /// Kinds of redirect URIs in an application's registration, which determine how their codes are redeemed.
    enum Platform: String, Sendable {
        /// Redeemed with the client's secret.
        case web
        /// Redeemed without a secret: "mobile and desktop applications", and "iOS / macOS".
        case native
    }

    /// The registered redirect URIs. For `localhost` the port is ignored, but the path is not, so that it distinguishes
    /// the two platforms ("Redirect URI restrictions", localhost exceptions).
    static let redirects: [String: Platform] = [
        "http://localhost": .native, "http://localhost/program": .native, "http://localhost/server": .web,
        "msauth.\(RegisteredApps.appleClientID)://auth": .native, RegisteredApps.webSessionRedirect: .web,
    ]

    /// The platform to which a redirect URI belongs; `nil` if it is not registered.
    static func platform(of redirect: String) -> Platform? {
        guard let address = LoopbackAddress(redirect) else { return redirects[redirect] }
        return address.isNamed ? redirects[address.withoutPort] : nil
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
