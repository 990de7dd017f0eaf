import FoundationEssentials
import OpenSSLCrypto
import Synchronization

/// Apple's routes: published keys, tokens, revocation ("Sign in with Apple REST API").
struct AppleRoutes {
    private static let dayInSeconds = 86_400.0
    let server: SandboxServer

    /// Handles a request.
    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        do throws(AppleError) {
            switch (request.method, request.path) {
            case ("GET", "/auth/keys"):
                return try AppleError.translating {
                    SandboxResponse(
                        200, json: ["keys": try server.appleKeys.published()],
                        headers: [("Cache-Control", "max-age=300")])
                }
            case ("POST", "/auth/token"): return try token(request)
            case ("POST", "/auth/revoke"): return try revoke(request)
            default:
                server.note(request, "unknown-route", "the sandbox's Apple has no \(request.method) \(request.path)")
                return SandboxResponse(404)
            }
        } catch {
            return try error.response()
        }
    }

    private func token(_ request: SandboxRequest) throws(AppleError) -> SandboxResponse {
        let form = try authenticatedForm(request)
        switch form["grant_type"] {
        case "authorization_code": return try exchange(request, form)
        case "refresh_token": return try check(request, form)
        case let type:
            server.note(request, "grant-type", "grant_type is \(type ?? "missing")")
            throw .refused("unsupported_grant_type")
        }
    }

    private func exchange(_ request: SandboxRequest, _ form: QueryItems) throws(AppleError) -> SandboxResponse {
        guard let value = form["code"] else {
            server.note(request, "code", "code is missing")
            throw .refused("invalid_request")
        }
        if form["redirect_uri"] != nil {
            server.note(request, "redirect-uri", "redirect_uri is present, but the code came from a device")
            throw .refused("invalid_grant")
        }
        guard let id = server.withState({ $0.owners[value] }) else { throw .refused("invalid_grant") }
        let now = server.now
        let clientID = form["client_id"] ?? ""
        let refresh = RefreshToken(
            value: "r" + RandomText.token(60).filter { $0 != "-" && $0 != "_" } + ".0." + RandomText.token(22),
            clientID: clientID, holder: .server)
        var isGood = false
        var isReused = false
        let account = try AppleError.translating {
            try server.changeAccount(id) { account in
                guard let index = account.codes.firstIndex(where: { $0.value == value }) else { return }
                let code = account.codes[index]
                isReused = code.isUsed
                guard !code.isUsed, code.expiresAt > now, code.clientID == clientID else { return }
                account.codes[index].isUsed = true
                account.add(refresh)
                account.hasConsented = true
                isGood = true
            }
        }
        if isReused { server.note(request, "code-reused", "this authorization code was used before") }
        guard isGood else { throw .refused("invalid_grant") }
        return try AppleError.translating {
            SandboxResponse(
                200,
                json: [
                    "access_token": .string(server.issued("a" + RandomText.token(60))), "token_type": "Bearer",
                    "expires_in": 3_600,
                    "refresh_token": .string(refresh.value),
                    "id_token": .string(
                        server.issued(
                            try AppleTokens(keys: server.appleKeys).identityToken(
                                of: account, at: now, AppleTokens.Oddity(audience: clientID)))),
                ])
        }
    }

    /// A refresh token should be checked at most once a day; Apple may rate-limit clients that check more often.
    private func check(_ request: SandboxRequest, _ form: QueryItems) throws(AppleError) -> SandboxResponse {
        guard let value = form["refresh_token"] else {
            server.note(request, "refresh-token", "refresh_token is missing")
            throw .refused("invalid_request")
        }
        let isKnown = server.withState { state in
            state.owners[value].flatMap { state.accounts[$0] }.map { account in
                account.provider == .apple
                    && account.refreshTokens.contains {
                        $0.value == value && !$0.isRevoked && $0.clientID == form["client_id"]
                    }
            } ?? false
        }
        guard isKnown else { throw .refused("invalid_grant") }
        let now = server.now
        let last = server.appleChecks.withLock { $0.updateValue(now, forKey: value) }
        if let last, now.timeIntervalSince(last) < Self.dayInSeconds {
            server.note(request, "refresh-check", "this refresh token was checked less than a day ago")
        }
        return SandboxResponse(
            200,
            json: [
                "access_token": .string("a" + RandomText.token(60)), "token_type": "Bearer", "expires_in": 3_600,
            ])
    }

    /// Returns 200 even if there was nothing to revoke.
    private func revoke(_ request: SandboxRequest) throws(AppleError) -> SandboxResponse {
        let form = try authenticatedForm(request)
        guard let value = form["token"] else {
            server.note(request, "revoke-token", "token is missing")
            throw .refused("invalid_request")
        }
        if let id = server.withState({ $0.owners[value] }) {
            _ = try AppleError.translating { try server.changeAccount(id) { $0.revoke(nil) } }
        }
        return SandboxResponse(200)
    }

    private func authenticatedForm(_ request: SandboxRequest) throws(AppleError) -> QueryItems {
        guard let form = try AppleError.translating({ try request.readForm() }) else {
            server.note(request, "token-form", "this route requires a form")
            throw .refused("invalid_request")
        }
        guard let clientID = form["client_id"], RegisteredApps.appleClientIDs.contains(clientID) else {
            server.note(request, "client-id", "client_id is not the registered app")
            throw .refused("invalid_client")
        }
        let key = try AppleError.translating { try server.appleKeys.clientKey().publicKey }
        if let fault = AppleClientSecret.fault(in: form["client_secret"] ?? "", of: clientID, key: key, at: server.now)
        {
            server.note(request, "client-secret", fault)
            throw .refused("invalid_client")
        }
        return form
    }
}

/// The reason why one of Apple's routes rejects a request or fails.
enum AppleError: Error {
    /// The error code of OAuth's error body (RFC 6749, section 5.2).
    case refused(String)
    case failed(any Error)

    /// The response.
    /// - Throws: the sandbox's own failure.
    func response() throws -> SandboxResponse {
        switch self {
        case .refused(let word): return SandboxResponse(400, json: ["error": .string(word)])
        case .failed(let error): throw error
        }
    }

    static func translating<Value>(_ body: () throws -> Value) throws(AppleError) -> Value {
        do { return try body() } catch { throw .failed(error) }
    }
}

/// The control routes that exist only for Apple accounts.
struct AppleControl {
    /// The last segments of their paths.
    static let actions: Set = ["new-authorization-code", "identity-token", "notice"]
    private static let knownMembers: Set = [
        "type", "eventsAs", "identifier", "issuer", "audience", "key", "secondsOld", "lifeSeconds", "prompt",
    ]

    let server: SandboxServer
    let account: Account

    /// Handles a POST. `showing` creates the account's JSON.
    func respond(to request: SandboxRequest, _ action: String, showing: (Account) -> JSONValue) throws
        -> SandboxResponse
    {
        let json = try ControlInterface.json(request)
        for member in json.object?.members ?? [] where !Self.knownMembers.contains(member.name) {
            throw ControlError.badRequest("unknown member: \(member.name)")
        }
        let now = server.now
        let tokens = AppleTokens(keys: server.appleKeys)
        switch action {
        case "identity-token":
            let token = try tokens.identityToken(of: account, at: now, try oddity(json))
            return SandboxResponse(201, json: ["identityToken": .string(server.issued(token))])
        case "notice":
            guard let type = json["type"]?.string else { throw ControlError.badRequest("type is missing") }
            let payload = try tokens.notice(
                type, about: account, identifier: json["identifier"]?.string ?? RandomText.token(22),
                isText: json["eventsAs"]?.string != "object", at: now, try oddity(json))
            return SandboxResponse(201, json: ["payload": .string(server.issued(payload))])
        default:
            let code = AppleTokens.code(for: account, at: now)
            return SandboxResponse(201, json: showing(try server.changeAccount(account.id) { $0.add(code) }))
        }
    }

    private func oddity(_ json: JSONValue) throws(ControlError) -> AppleTokens.Oddity {
        var oddity = AppleTokens.Oddity()
        if let issuer = json["issuer"]?.string { oddity.issuer = issuer }
        oddity.audience = json["audience"]?.string
        if let text = json["key"]?.string {
            guard let key = AppleKeys.Choice(rawValue: text) else {
                throw .badRequest("key must be previous, current, next or unknown")
            }
            oddity.key = key
        }
        if let seconds = json["secondsOld"]?.double { oddity.secondsOld = seconds }
        if let seconds = json["lifeSeconds"]?.double { oddity.lifeSeconds = seconds }
        return oddity
    }

    /// The headers that a client of the account sends with each request.
    static func headers(of account: Account, on server: SandboxServer) -> JSONObject {
        let now = server.now
        let token = (try? AppleTokens(keys: server.appleKeys).identityToken(of: account, at: now)) ?? ""
        var headers: JSONObject = ["X-token-type": "AppleSignInToken", "access_token": .string(server.issued(token))]
        headers["SyncServer-authorization-code"] = .string(account.freshCode(at: now)?.value)
        let details: JSONValue = ["fullName": .string(account.name), "email": .string(account.email)]
        headers["X-account-details"] = .string(details.text())
        return headers
    }
}
