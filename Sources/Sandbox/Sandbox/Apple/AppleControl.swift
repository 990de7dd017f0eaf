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
