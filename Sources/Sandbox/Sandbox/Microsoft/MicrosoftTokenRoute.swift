import FoundationEssentials
import OpenSSLCrypto

/// `POST /{tenant}/oauth2/v2.0/token`: codes, tokens on behalf of a user, and refreshes, each of which returns a new
/// refresh token.
struct MicrosoftTokenRoute {
    let server: SandboxServer

    /// Handles a request.
    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        do {
            guard let form = try request.readForm() else {
                server.note(request, "token-form", "the token route requires a form")
                throw MicrosoftError(400, "invalid_request", 900_144, "The request body must be a form.")
            }
            // The format of a refresh token is checked first, even before the client's secret.
            if form["grant_type"] == "refresh_token", let value = form["refresh_token"],
                !MicrosoftOAuth.isRefreshToken(value)
            {
                throw MicrosoftError(400, "invalid_grant", 9_002_313, "Request is malformed or invalid.")
            }
            let client = try authenticate(request, form)
            switch form["grant_type"] {
            case "authorization_code": return try exchange(request, form, client)
            case "urn:ietf:params:oauth:grant-type:jwt-bearer": return try onBehalfOf(request, form, client)
            case "refresh_token": return try refresh(request, form, client)
            case let type:
                server.note(request, "grant-type", "grant_type is \(type ?? "missing")")
                throw MicrosoftError(400, "unsupported_grant_type", 70003, "The grant type is not supported.")
            }
        } catch let error as MicrosoftError {
            return error.response(at: server.now)
        }
    }

    /// The calling app, and whether it has proved its secret.
    private struct Client {
        let id: String
        let hasSecret: Bool
    }

    /// The calling app; if it sends a secret, the secret must be valid.
    private func authenticate(_ request: SandboxRequest, _ form: QueryItems) throws(MicrosoftError) -> Client {
        var id = form["client_id"]
        var secret = form["client_secret"]
        if let header = request.header("authorization"), header.lowercased().hasPrefix("basic "),
            let data = Data(base64Encoded: String(header.dropFirst(6)))
        {
            let halves = String(decoding: data, as: UTF8.self).split(separator: ":", maxSplits: 1)
            if halves.count == 2 {
                id = PercentEncoding.decode(halves[0], plusIsBlank: true)
                secret = PercentEncoding.decode(halves[1], plusIsBlank: true)
            }
        }
        guard id == RegisteredApps.microsoftClientID else {
            server.note(request, "client-id", "client_id is \(id == nil ? "missing" : "not registered")")
            throw MicrosoftError(400, "unauthorized_client", 700_016, "Application was not found in the directory.")
        }
        guard secret == nil || secret == RegisteredApps.microsoftSecret else {
            server.note(request, "client-secret", "client_secret is wrong")
            throw MicrosoftError(401, "invalid_client", 7_000_215, "Invalid client secret provided.")
        }
        return Client(id: RegisteredApps.microsoftClientID, hasSecret: secret != nil)
    }

    /// Desktop programs have no secret and must not send one; all other clients must send theirs.
    private func requireSecret(
        of client: Client, isProgram: Bool, _ request: SandboxRequest
    ) throws(MicrosoftError) {
        switch (isProgram, client.hasSecret) {
        case (false, true), (true, false): return
        case (true, true):
            server.note(request, "client-secret", "a program's code or token was sent with client_secret")
            throw MicrosoftError(
                401, "invalid_client", 700_025, "Client is public so no 'client_secret' should be presented.")
        case (false, false):
            server.note(request, "client-secret", "client_secret is missing")
            throw MicrosoftError(
                401, "invalid_client", 7_000_218, "The request body must contain 'client_secret'.")
        }
    }

    /// What is wrong with redeeming a code in this way; `nil` if it is valid.
    private static func objection(to code: AuthorizationCode, _ form: QueryItems) -> MicrosoftError? {
        if let redirect = code.redirect, redirect != form["redirect_uri"] {
            return MicrosoftError(400, "invalid_grant", 500_112, "The reply address does not match the code's.")
        }
        switch (code.challenge, form["code_verifier"]) {
        case (nil, nil): return nil
        case (let challenge?, let verifier?) where challenge.isAnswered(by: verifier): return nil
        case (.some, .some):
            return MicrosoftError(400, "invalid_grant", 501_481, "The code_verifier does not match the code_challenge.")
        case (.some, nil), (nil, .some):
            return MicrosoftError(400, "invalid_grant", 50148, "The code_verifier does not match the code_challenge.")
        }
    }

    // MARK: Grants

    private func exchange(
        _ request: SandboxRequest, _ form: QueryItems, _ client: Client
    ) throws -> SandboxResponse {
        guard let value = form["code"], form["redirect_uri"] != nil else {
            server.note(request, "code", "code or redirect_uri is missing")
            throw MicrosoftError(400, "invalid_request", 900_144, "The request body must contain 'code'.")
        }
        let scopes = try requestedScopes(request, form, isNeeded: false)
        guard let id = server.withState({ $0.owners[value] }) else {
            throw MicrosoftError(400, "invalid_grant", 70000, "The provided value for 'code' is not valid.")
        }
        let now = server.now
        let known = server.withState { $0.code(value)?.code }
        let isProgram = known?.redirect.map { MicrosoftAuthorization.platform(of: $0) == .native } ?? false
        try requireSecret(of: client, isProgram: isProgram, request)
        if let error = known.flatMap({ Self.objection(to: $0, form) }) { throw error }
        var isUsable = false
        var isReused = false
        try server.changeAccount(id) { account in
            guard let index = account.codes.firstIndex(where: { $0.value == value }) else { return }
            isReused = account.codes[index].isUsed
            isUsable =
                !isReused && account.codes[index].expiresAt > now && account.codes[index].clientID == client.id
            account.codes[index].isUsed = true
        }
        if isReused { server.note(request, "code-reused", "this authorization code was used before") }
        guard isUsable else {
            throw MicrosoftError(400, "invalid_grant", isReused ? 54005 : 70008, "The code was redeemed or expired.")
        }
        return try issue(
            to: id, client.id, scopes, within: known?.scopes, holder: isProgram ? .program : .server, insteadOf: nil)
    }

    private func onBehalfOf(
        _ request: SandboxRequest, _ form: QueryItems, _ client: Client
    ) throws -> SandboxResponse {
        try requireSecret(of: client, isProgram: false, request)
        guard form["requested_token_use"] == "on_behalf_of" else {
            server.note(request, "requested-token-use", "requested_token_use is not on_behalf_of")
            throw MicrosoftError(
                400, "invalid_request", 900_144, "The request body must contain 'requested_token_use'.")
        }
        let scopes = try requestedScopes(request, form, isNeeded: true)
        guard let assertion = form["assertion"] else {
            server.note(request, "assertion", "assertion is missing")
            throw MicrosoftError(400, "invalid_request", 900_144, "The request body must contain 'assertion'.")
        }
        guard assertion.split(separator: ".", omittingEmptySubsequences: false).count == 3 else {
            server.note(request, "assertion", "the assertion is not a JWT")
            throw MicrosoftError(400, "invalid_request", 50027, "JWT token is invalid or malformed.")
        }
        // Only tokens signed here are known, so the lookup replaces the signature check.
        guard let (account, token) = server.withState({ $0.accessToken(assertion) }), account.provider == .microsoft
        else { throw MicrosoftError(400, "invalid_grant", 50013, "Assertion failed signature validation.") }
        guard [client.id, MicrosoftOAuth.api(of: client.id)].contains(token.audience) else {
            throw MicrosoftError(400, "invalid_grant", 500_131, "Assertion audience does not match the Client app.")
        }
        // Microsoft's documentation excludes ID tokens, but Microsoft has accepted them, so each account has a setting.
        guard token.audience != client.id || account.acceptsIDTokenAssertions else {
            server.note(request, "assertion", "an ID token is not an assertion")
            throw MicrosoftError(
                400, "invalid_grant", 240_002,
                "Input id_token cannot be used as 'urn:ietf:params:oauth:grant-type:jwt-bearer' grant.")
        }
        guard !token.isRevoked else {
            throw MicrosoftError(400, "invalid_grant", 50173, "The provided grant has expired due to it being revoked.")
        }
        guard token.expiresAt > server.now else {
            throw MicrosoftError(400, "invalid_grant", 500_133, "Assertion is not within its valid time range.")
        }
        return try issue(to: account.id, client.id, scopes, within: nil, holder: .server, insteadOf: nil)
    }

    private func refresh(
        _ request: SandboxRequest, _ form: QueryItems, _ client: Client
    ) throws -> SandboxResponse {
        guard let value = form["refresh_token"] else {
            server.note(request, "refresh-token", "refresh_token is missing")
            throw MicrosoftError(400, "invalid_request", 900_144, "The request body must contain 'refresh_token'.")
        }
        let scopes = try requestedScopes(request, form, isNeeded: false)
        guard let (account, token) = server.withState({ $0.refreshToken(value) }), token.clientID == client.id else {
            throw MicrosoftError(400, "invalid_grant", 70000, "The provided value for 'refresh_token' is not valid.")
        }
        try requireSecret(of: client, isProgram: token.holder == .program, request)
        guard !token.isRevoked else {
            throw MicrosoftError(400, "invalid_grant", 50173, "The provided grant has expired due to it being revoked.")
        }
        // The previous token stays valid until this one is used: a client that lost this one may still use the previous
        // one.
        if let old = token.predecessor {
            try server.changeAccount(account.id) { account in
                for index in account.refreshTokens.indices where account.refreshTokens[index].value == old {
                    account.refreshTokens[index].isRevoked = true
                }
            }
        }
        return try issue(
            to: account.id, client.id, scopes, within: token.scopes, holder: token.holder, insteadOf: value)
    }

    // MARK: Responses

    /// The requested scopes; `nil` if the request names none.
    private func requestedScopes(
        _ request: SandboxRequest, _ form: QueryItems, isNeeded: Bool
    ) throws(MicrosoftError) -> [String]? {
        guard let text = form["scope"] else {
            guard isNeeded else { return nil }
            server.note(request, "scope", "scope is missing")
            throw MicrosoftError(400, "invalid_request", 900_144, "The request body must contain 'scope'.")
        }
        return text.split(separator: " ").map(MicrosoftOAuth.shortScope)
    }

    /// Issues tokens for what the user has granted, limited to `limit`, the scopes of a code or refresh token, if there
    /// is one.
    private func issue(
        to id: String, _ client: String, _ requested: [String]?, within limit: [String]?, holder: TokenHolder,
        insteadOf old: String?
    ) throws -> SandboxResponse {
        let now = server.now
        let keys = try server.microsoftKeys()
        guard let account = server.withState({ $0.accounts[id] }) else {
            throw MicrosoftError(400, "invalid_grant", 50034, "The user account does not exist.")
        }
        let all = limit ?? account.scopes
        let granted = all.filter { scope in
            requested?.contains { $0.lowercased() == scope.lowercased() || $0 == ".default" } ?? true
        }
        let isMissing = requested?.contains { scope in
            scope != ".default" && !all.contains { $0.lowercased() == scope.lowercased() }
        }
        guard isMissing != true else {
            throw MicrosoftError(400, "invalid_grant", 65001, "The user has not consented to use the application.")
        }
        let access = MicrosoftOAuth.accessToken(holder: holder, scopes: granted, at: now)
        let refresh =
            granted.contains("offline_access")
            ? MicrosoftOAuth.refreshToken(client, holder: holder, scopes: limit, insteadOf: old) : nil
        let isOpenID = (requested?.contains("openid") ?? true) && all.contains("openid")
        let idToken = isOpenID ? MicrosoftOAuth.idToken(for: account, holder: holder, at: now, keys: keys) : nil
        try server.changeAccount(id) { account in
            account.add(access)
            // A program signs in with its ID token.
            if let idToken, holder == .program { account.add(idToken) }
            if let refresh { account.add(refresh) }
            account.hasConsented = true
        }
        var json: JSONObject = [
            "token_type": "Bearer",
            "scope": .string(granted.filter { $0 != "offline_access" }.joined(separator: " ")),
            "expires_in": .int(Int(MicrosoftOAuth.accessTokenSeconds)),
            "ext_expires_in": .int(Int(MicrosoftOAuth.accessTokenSeconds)), "access_token": .string(access.value),
        ]
        json["refresh_token"] = .string(refresh?.value)
        json["id_token"] = .string(idToken?.value)
        return SandboxResponse(200, json: .object(json), headers: [("Cache-Control", "no-store, no-cache")])
    }
}
