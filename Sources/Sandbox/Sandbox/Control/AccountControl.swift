import FoundationEssentials

/// The control routes below `/sandbox/accounts`.
struct AccountControl {
    let server: SandboxServer

    /// Handles a request; `path` follows `/sandbox/accounts`.
    func respond(to request: SandboxRequest, path: [String]) throws -> SandboxResponse {
        switch (request.method, path.count) {
        case ("POST", 0):
            let account = try server.makeAccount(try NewAccount(json: try ControlInterface.json(request)))
            return show(account, 201, to: request)
        case ("GET", 0):
            let ids = server.withState { $0.accountOrder }
            return SandboxResponse(200, json: .array(try ids.compactMap { try server.signedInAccount($0) }.map(json)))
        case (_, 0): throw ControlError.methodNotAllowed
        default: break
        }
        guard let account = try server.signedInAccountUnlessFiles(path) else {
            throw ControlError.notFound("account \(path[0]) does not exist")
        }
        switch (request.method, path.dropFirst().first, path.count) {
        case ("GET", nil, _): return show(account, 200, to: request)
        case ("POST", let action?, 2) where account.provider == .apple && AppleControl.actions.contains(action):
            return try AppleControl(server: server, account: account).respond(to: request, action, showing: json)
        case ("POST", "expire-access-token", 2):
            let holder = try holder(try ControlInterface.json(request), default: .server)
            let time = server.now
            try server.changeAccount(account.id) { $0.expireAccessTokens(of: holder, at: time) }
            return SandboxResponse(204)
        case ("POST", "revoke", 2):
            let holder = try holder(try ControlInterface.json(request), default: nil)
            try server.changeAccount(account.id) { $0.revoke(holder) }
            return SandboxResponse(204)
        case ("POST", "new-authorization-code", 2):
            let code = try newCode(for: account, try ControlInterface.json(request))
            return SandboxResponse(201, json: json(try server.changeAccount(account.id) { $0.add(code) }))
        case ("POST", "one-drive", 2) where account.provider == .microsoft:
            let state = try OneDriveState(json: try ControlInterface.json(request)["state"] ?? .null)
            try server.changeAccount(account.id) { $0.oneDriveState = state }
            return SandboxResponse(204)
        case ("GET", "view", 3...):
            return try FilePage(server: server, account: account).response(
                to: request, name: path.dropFirst(2).joined(separator: "/"))
        case (_, "phone", _):
            return try PhoneControl(server: server).respond(
                to: request, of: account, path: Array(path.dropFirst(2)))
        case (_, "files", _):
            return try FileControl(server: server, account: account).respond(
                to: request, path: Array(path.dropFirst(2)))
        case (_, "expire-access-token", 2), (_, "revoke", 2), (_, "new-authorization-code", 2), (_, nil, _):
            throw ControlError.methodNotAllowed
        default: throw ControlError.notFound("no such route: \(request.path)")
        }
    }

    /// The account as JSON or, for `Accept: text/plain`, the headers of its app on a new device, in the format of `curl
    /// -H @FILE`.
    private func show(_ account: Account, _ status: Int, to request: SandboxRequest) -> SandboxResponse {
        guard request.header("accept") == "text/plain" else { return SandboxResponse(status, json: json(account)) }
        var text = "SyncServer-Device-UUID: \(UUID().uuidString)\n"
        for (name, value) in headers(of: account) { text += "\(name): \(value)\n" }
        return SandboxResponse(
            status, headers: [("Content-Type", "text/plain; charset=UTF-8")], body: Array(text.utf8))
    }

    /// The headers of the account's app, except those of its device.
    func headers(of account: Account) -> [(name: String, value: String)] {
        (json(account)["headers"]?.object?.members ?? []).map { (name: $0.name, value: $0.value.string ?? "") }
    }

    /// A code, as issued after the user has signed in again.
    private func newCode(for account: Account, _ json: JSONValue) throws(ControlError) -> AuthorizationCode {
        switch account.provider {
        case .google:
            GoogleOAuth.code(for: account, promptsConsent: json["prompt"]?.string == "consent", at: server.now)
        case .dropbox:
            DropboxOAuth.code(
                for: account, verifier: json["codeVerifier"]?.string, redirect: json["redirectURI"]?.string,
                at: server.now)
        case .microsoft: MicrosoftOAuth.code(for: account, at: server.now)
        case .webdav:
            NextcloudOAuth.code(
                for: RegisteredApps.nextcloudServerClientID, verifier: json["codeVerifier"]?.string,
                redirect: json["redirectURI"]?.string ?? "http://127.0.0.1/server", at: server.now)
        case .facebook, .apple:
            throw .badRequest("\(account.provider.rawValue) has no authorization codes in the sandbox")
        }
    }

    /// The holder of the tokens in question; `nil` for all holders.
    private func holder(_ json: JSONValue, default standard: TokenHolder?) throws(ControlError) -> TokenHolder? {
        switch json["which"] {
        case nil: return standard
        case .string("all")?: return nil
        case let value?:
            guard let holder = value.string.flatMap(TokenHolder.init(rawValue:)) else {
                throw .badRequest("which must be server, device, program or all")
            }
            return holder
        }
    }

    /// The account as displayed by the control interface.
    private func json(_ account: Account) -> JSONValue {
        let now = server.now
        let token = account.deviceToken(at: now)?.value ?? ""
        var json: JSONObject = [
            "id": .string(account.id), "provider": .string(account.provider.rawValue), "name": .string(account.name),
            "email": .string(account.email), "audience": .string(account.audience),
            "quotaBytes": .int(account.quotaBytes),
        ]
        switch account.provider {
        case .google:
            let code = account.freshCode(at: now)?.value
            var headers: JSONObject = ["X-token-type": "GoogleToken", "access_token": .string(token)]
            headers["SyncServer-authorization-code"] = .string(code)
            json["headers"] = .object(headers)
            json["accessToken"] = .string(token)
            json["refreshToken"] = .string(account.refreshTokens.last { !$0.isRevoked }?.value) ?? .null
            json["authorizationCode"] = .string(code) ?? .null
        case .apple:
            let headers = AppleControl.headers(of: account, on: server)
            json["accessToken"] = headers["access_token"] ?? .null
            json["refreshToken"] = .string(account.refreshTokens.last { !$0.isRevoked }?.value) ?? .null
            json["authorizationCode"] = headers["SyncServer-authorization-code"] ?? .null
            json["headers"] = .object(headers)
        case .microsoft:
            let code = account.freshCode(at: now)?.value
            let idToken = account.deviceToken(at: now, for: account.audience)?.value ?? ""
            let apiToken = account.deviceToken(at: now, for: MicrosoftOAuth.api(of: account.audience))?.value ?? ""
            let graphToken = account.deviceToken(at: now, for: MicrosoftOAuth.graph)?.value ?? ""
            json["headers"] = [
                "X-token-type": "MicrosoftToken",
                "access_token": .string(account.acceptsIDTokenAssertions ? idToken : apiToken),
                "X-microsoft-access-token": .string(graphToken),
            ]
            json["accessToken"] = .string(graphToken)
            json["idToken"] = .string(idToken)
            json["apiToken"] = .string(apiToken)
            json["driveId"] = .string(server.withState { $0.oneDrives[account.id]?.driveID })
            json["refreshToken"] = .string(account.refreshTokens.last { !$0.isRevoked }?.value) ?? .null
            json["authorizationCode"] = .string(code) ?? .null
        case .dropbox:
            let code = account.freshCode(at: now)?.value
            var headers: JSONObject = [
                "X-token-type": "DropboxToken", "access_token": .string(token), "X-account-id": .string(account.id),
            ]
            headers["SyncServer-authorization-code"] = .string(code)
            json["headers"] = .object(headers)
            json["accessToken"] = .string(token)
            json["refreshToken"] = .string(account.refreshTokens.last { !$0.isRevoked }?.value) ?? .null
            json["authorizationCode"] = .string(code) ?? .null
        case .webdav:
            json["headers"] = [
                "X-token-type": "WebDAVToken", "access_token": .string(token),
                "X-account-details": .string(account.nextcloudDetails),
            ]
            json["accessToken"] = .string(token)
            json["address"] = .string(account.nextcloudAddress)
            json["bearerHeaders"] = [
                "X-token-type": "WebDAVToken", "access_token": .string(account.programToken(at: now)?.value ?? ""),
                "X-account-details": .string("{\"address\":\"\(account.nextcloudAddress)\"}"),
            ]
            json["refreshToken"] = .string(account.refreshTokens.last { !$0.isRevoked }?.value) ?? .null
            json["authorizationCode"] = .string(account.freshCode(at: now)?.value) ?? .null
        case .facebook:
            let isLimited = account.tokenType == FacebookLimitedLogin.tokenType
            let shown =
                isLimited
                ? server.issued((try? FacebookLimitedLogin(server: server).identityToken(of: account)) ?? "") : token
            json["headers"] = ["X-token-type": "FacebookToken", "access_token": .string(shown)]
            json["accessToken"] = .string(shown)
            json["refreshToken"] = .null
            json["authorizationCode"] = .null
        }
        return .object(json)
    }
}

extension SandboxServer {
    /// The account at the beginning of `path`. Viewing its files does not sign in again.
    fileprivate func signedInAccountUnlessFiles(_ path: [String]) throws(StorageError) -> Account? {
        if path.count == 1 { return try signedInAccount(path[0]) }
        return withState { $0.accounts[path[0]] }
    }
}

extension OneDriveState {
    /// The state requested in JSON.
    fileprivate init(json: JSONValue) throws(ControlError) {
        guard let state = json.string.flatMap(Self.init(rawValue:)) else {
            throw .badRequest("oneDrive must be one of \(Self.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        self = state
    }
}

extension NewAccount {
    /// An account as requested by `POST /sandbox/accounts`.
    /// - Throws: ``ControlError`` naming the mistake.
    init(json: JSONValue) throws(ControlError) {
        let providers = Provider.allCases.map(\.rawValue).joined(separator: ", ")
        guard let text = json["provider"]?.string, let provider = Provider(rawValue: text) else {
            throw .badRequest("provider must be one of \(providers)")
        }
        let known: Set<String> = [
            "provider", "name", "email", "audience", "scopes", "tokenType", "idTokenAssertions", "oneDrive",
            "quotaBytes",
        ]
        for member in json.object?.members ?? [] where !known.contains(member.name) {
            throw .badRequest("unknown member of an account: \(member.name)")
        }
        self.provider = provider
        let name = json["name"]?.string ?? "Somebody"
        self.name = name
        let local = name.lowercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "." }
        email = json["email"]?.string ?? String(local) + "@example.com"
        audience = json["audience"]?.string ?? RegisteredApps.standardAudience(provider)
        scopes = json["scopes"]?.array?.compactMap(\.string) ?? RegisteredApps.standardScopes(provider)
        tokenType = json["tokenType"]?.string ?? "USER"
        acceptsIDTokenAssertions = json["idTokenAssertions"]?.bool ?? false
        oneDriveState = try json["oneDrive"].map(OneDriveState.init(json:)) ?? .ready
        quotaBytes = json["quotaBytes"]?.int ?? 15_000_000_000
        guard quotaBytes >= 0 else { throw .badRequest("quotaBytes must be an integer from 0") }
    }
}

extension SandboxServer {
    /// Records an issued text that must not appear in any log, and returns it.
    func issued(_ text: String) -> String {
        _ = withState { $0.unkeptTokens.insert(text) }
        return text
    }

    /// Every access token, refresh token, authorization code and signed text that was issued since the start, and those
    /// that accounts already held.
    var issuedTokens: Set<String> {
        withState { state in
            state.unkeptTokens.union(state.owners.keys).union(state.serviceTokens.keys)
        }
    }
}
