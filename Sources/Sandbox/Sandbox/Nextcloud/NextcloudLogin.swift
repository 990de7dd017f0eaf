internal import FoundationEssentials

/// A browser sign-in that an app has begun.
struct NextcloudLoginFlow: Sendable {
    /// Part of the address for the browser.
    let id: String
    let appName: String
    let startedAt: Date
    /// The account that granted access, with the new app password.
    var granted: (account: String, appPassword: String)?
}

/// Login flow version 2 (Developer Manual, "Login Flow"): the app polls while the person grants access in a browser.
struct NextcloudLogin {
    /// The maximum duration of a flow.
    static let lifeSeconds = 1_200.0

    let server: SandboxServer

    /// - Parameter path: the part after `/login` or `/index.php/login`.
    func respond(to request: SandboxRequest, path: [String]) throws -> SandboxResponse {
        switch (request.method, path.count) {
        case ("POST", 1) where path[0] == "v2": return begin(request)
        case ("POST", 2) where path[1] == "poll": return try poll(request)
        case ("GET", 3) where path[1] == "flow": return try page(request, path[2])
        case ("POST", 3) where path[1] == "flow": return try grant(request, path[2])
        default: throw NextcloudError.notFound(request.path)
        }
    }

    private func begin(_ request: SandboxRequest) -> SandboxResponse {
        let token = RandomText.token(128)
        let flow = NextcloudLoginFlow(
            id: RandomText.token(128), appName: request.header("user-agent") ?? "An app", startedAt: server.now)
        server.withState { $0.nextcloudLogins[token] = flow }
        let base = "https://\(NextcloudRoutes.host)"
        return SandboxResponse(
            200,
            json: [
                "poll": [
                    "token": .string(server.issued(token)), "endpoint": .string(base + "/login/v2/poll"),
                ], "login": .string(base + "/login/v2/flow/" + flow.id),
            ])
    }

    /// Replies with 404 until the person has decided, then once with the app password.
    private func poll(_ request: SandboxRequest) throws -> SandboxResponse {
        let token = try request.readForm()?["token"] ?? ""
        let oldest = server.now.addingTimeInterval(-Self.lifeSeconds)
        let granted = server.withState { state -> (account: String, appPassword: String)? in
            guard let flow = state.nextcloudLogins[token], flow.startedAt > oldest, let granted = flow.granted else {
                return nil
            }
            state.nextcloudLogins[token] = nil
            return granted
        }
        guard let granted else { return SandboxResponse(404, json: .array([])) }
        return SandboxResponse(
            200,
            json: [
                "server": .string("https://\(NextcloudRoutes.host)"), "loginName": .string(granted.account),
                "appPassword": .string(granted.appPassword),
            ])
    }

    private func page(_ request: SandboxRequest, _ id: String) throws -> SandboxResponse {
        let (flow, accounts) = server.withState { state in
            (
                state.nextcloudLogins.values.first { $0.id == id },
                state.accountOrder.compactMap { state.accounts[$0] }.filter { $0.provider == .webdav }
            )
        }
        guard let flow else { throw NextcloudError.forbidden }
        let escape = PageText.escape
        var html = "<!doctype html><html lang=en><meta charset=utf-8><title>Nextcloud (sandbox)</title>"
        html += "<h1>\(escape(flow.appName)) wants to access your account</h1>"
        html += "<form method=post action=\"\(escape(request.path))\"><p><label>Account <select name=account>"
        for account in accounts.reversed() {
            html += "<option value=\"\(escape(account.id))\">\(escape(account.name)) (\(escape(account.id)))</option>"
        }
        html += "</select></label></p><p><button name=decision value=allow>Grant access</button></p></form></html>\n"
        return SandboxResponse(
            200, headers: [("Content-Type", "text/html; charset=UTF-8"), ("Cache-Control", "no-store")],
            body: Array(html.utf8))
    }

    private func grant(_ request: SandboxRequest, _ id: String) throws -> SandboxResponse {
        let chosen = try request.readForm()?["account"] ?? ""
        guard let (token, flow) = server.withState({ state in state.nextcloudLogins.first { $0.value.id == id } }),
            let account = server.withState({ $0.accounts[chosen] }), account.provider == .webdav
        else { throw NextcloudError.forbidden }
        let password = Account.nextcloudAppPassword(holder: .program, at: server.now)
        try server.changeAccount(account.id) { $0.add(password) }
        var done = flow
        done.granted = (account.id, password.value)
        let granted = done
        server.withState { $0.nextcloudLogins[token] = granted }
        return SandboxResponse(
            200, headers: [("Content-Type", "text/html; charset=UTF-8")],
            body: Array(
                "<!doctype html><title>Nextcloud (sandbox)</title><p>Account connected. You may close this.\n".utf8))
    }
}

extension Account {
    /// An app password, which does not expire, in Nextcloud's format.
    static func nextcloudAppPassword(holder: TokenHolder, at now: Date) -> AccessToken {
        let text = RandomText.token(120).filter { $0 != "-" && $0 != "_" }.prefix(72)
        return AccessToken(
            value: String(text), holder: holder, audience: "", issuedAt: now, expiresAt: .distantFuture)
    }

    /// The details that a client presents for this person: see `X-account-details` in the protocol.
    var nextcloudDetails: String {
        "{\"address\":\"\(nextcloudAddress)\",\"user\":\"\(id)\"}"
    }

    /// The address of the account's files.
    var nextcloudAddress: String { "https://\(NextcloudRoutes.host)/remote.php/dav/files/\(id)/" }
}
