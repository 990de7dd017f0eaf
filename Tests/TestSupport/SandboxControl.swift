import Foundation

/// The control interface of the emulated providers, for actions of users and providers behind the server's back.
public struct SandboxControl: Sendable {
    /// The sandbox's address.
    public let address: HTTPAddress

    /// A selection of an account's tokens.
    public enum Tokens: String, Sendable {
        /// Tokens that the server obtained by an exchange.
        case server
        /// The phone's tokens.
        case device
        /// The tokens of a program whose user signed in with a browser.
        case program
        /// All tokens.
        case all
    }

    /// Creates an account, whose storage is limited to `quotaBytes` if given.
    /// - Parameters:
    ///   - sendsIDToken: whether a Microsoft account's app is like those of SyncServerII, whose id token Microsoft
    ///     accepts as an assertion; otherwise it sends an access token for the app's own API.
    ///   - oneDrive: `unprovisioned` or `unlicensed` for a Microsoft account without a OneDrive.
    public func createAccount(
        _ provider: SandboxProvider, name: String, quotaBytes: Int? = nil, tokenType: String? = nil,
        sendsIDToken: Bool = true, oneDrive: String? = nil
    ) throws -> SandboxAccount {
        var request: [String: Any] = ["provider": provider.rawValue, "name": name]
        if provider == .microsoft { request["idTokenAssertions"] = sendsIDToken }
        if let oneDrive { request["oneDrive"] = oneDrive }
        if let tokenType { request["tokenType"] = tokenType }
        if let quotaBytes { request["quotaBytes"] = quotaBytes }
        return try account(in: post("/accounts", request, expecting: 201))
    }

    /// The account's current state, with currently valid headers.
    public func account(_ id: String) throws -> SandboxAccount { try account(in: get("/accounts/\(id)")) }

    /// Expires access tokens, as after an hour.
    public func expireAccessTokens(of account: SandboxAccount, _ tokens: Tokens = .server) throws {
        _ = try post("/accounts/\(account.id)/expire-access-token", ["which": tokens.rawValue])
    }

    /// Revokes the app's rights, as the user can in their account's settings.
    public func revoke(_ account: SandboxAccount, _ tokens: Tokens = .all) throws {
        _ = try post("/accounts/\(account.id)/revoke", ["which": tokens.rawValue])
    }

    /// Changes whether a Microsoft account has a OneDrive: `ready`, `unprovisioned` or `unlicensed`.
    public func setOneDrive(of account: SandboxAccount, _ state: String) throws {
        _ = try post("/accounts/\(account.id)/one-drive", ["state": state])
    }

    /// Signs in on the device again, and returns the account with a new authorization code.
    ///
    /// - Parameter askingForConsent: whether the person is asked for consent again. Google issues a refresh token only
    ///   for the first code and for codes with a repeated consent.
    public func newAuthorizationCode(
        of account: SandboxAccount, askingForConsent: Bool = false
    ) throws -> SandboxAccount {
        _ = try post(
            "/accounts/\(account.id)/new-authorization-code", askingForConsent ? ["prompt": "consent"] : [:])
        return try self.account(account.id)
    }

    /// Returns an account on a Nextcloud server whose app has signed in with OAuth 2.0: it presents a bearer token, and
    /// a code for the server's client.
    ///
    /// - Parameter verifier: the verifier for the code request; the app may send a different one.
    public func bearerAccount(
        of account: SandboxAccount, verifier: String = SandboxAccount.codeVerifier
    ) throws -> SandboxAccount {
        // Their app's token may have expired.
        _ = try self.account(account.id)
        let json = try post(
            "/accounts/\(account.id)/new-authorization-code",
            ["redirectURI": SandboxAccount.redirectURI, "codeVerifier": verifier], expecting: 201)
        var bearer = try self.account(in: json)
        guard case .object(let headers) = json.bearerHeaders else {
            throw StackError.malformedSetting("sandbox account \(json)")
        }
        bearer.headers = headers.compactMap { name, value in value.text.map { (name, $0) } }
        bearer.headers += [
            ("SyncServer-authorization-code", json.authorizationCode?.text ?? ""),
            ("SyncServer-redirect-uri", SandboxAccount.redirectURI),
            ("SyncServer-code-verifier", SandboxAccount.codeVerifier),
        ]
        return bearer
    }

    /// Obtains an identity token of an account at Apple, with the deviations listed in docs/sandbox.md.
    public func identityToken(of account: SandboxAccount, _ oddities: [String: Any]) throws -> String {
        let reply = try post("/accounts/\(account.id)/identity-token", oddities, expecting: 201)
        guard let token = reply.identityToken?.text else { throw StackError.malformedSetting("identityToken \(reply)") }
        return token
    }

    /// Obtains a notification from Apple to the server about an account.
    public func notice(about account: SandboxAccount, _ details: [String: Any]) throws -> String {
        let reply = try post("/accounts/\(account.id)/notice", details, expecting: 201)
        guard let payload = reply.payload?.text else { throw StackError.malformedSetting("notice \(reply)") }
        return payload
    }

    /// Registers a redirect URI of the app, as in the provider's console.
    public func registerRedirect(_ uri: String, at provider: SandboxProvider) throws {
        _ = try post("/redirect-uris", ["provider": provider.rawValue, "redirectURI": uri], expecting: 201)
    }

    /// All files in the user's storage.
    public func files(of account: SandboxAccount) throws -> [StoredFile] {
        try get("/accounts/\(account.id)/files").array?.compactMap(StoredFile.init) ?? []
    }

    /// All files in the user's storage, as JSON from the control interface.
    public func requestFiles(of account: SandboxAccount) throws -> [JSONValue] {
        try get("/accounts/\(account.id)/files").array ?? []
    }

    /// The bytes of a file in the user's storage; nil if it does not exist.
    public func contents(of name: String, in account: SandboxAccount) throws -> [UInt8]? {
        let reply = try address.perform(HTTPCall("GET", path(of: name, in: account)))
        if reply.status == 404 { return nil }
        guard reply.status == 200 else { throw UnexpectedReply("read \(name)", reply) }
        return reply.body
    }

    /// Changes or adds a file, as the user can.
    public func store(_ bytes: [UInt8], as name: String, in account: SandboxAccount, folder: String? = nil) throws {
        let reply = try address.perform(
            HTTPCall(
                "PUT", path(of: name, in: account, ["folder": folder]),
                headers: [("Content-Type", "application/octet-stream")], body: bytes))
        guard (200..<300).contains(reply.status) else { throw UnexpectedReply("write \(name)", reply) }
    }

    /// Renames or moves a file on the user's Nextcloud server, as the user can, to a path from their root.
    public func move(_ name: String, to newPath: String, in account: SandboxAccount) throws {
        try move(name, ["path": newPath], in: account)
    }

    /// Moves a file from the user's Google Drive to a shared drive, as the user can.
    public func move(_ name: String, toSharedDrive id: String, in account: SandboxAccount) throws {
        try move(name, ["sharedDrive": id], in: account)
    }

    private func move(_ name: String, _ target: [String: String], in account: SandboxAccount) throws {
        let body = try JSONSerialization.data(withJSONObject: target)
        let reply = try address.perform(
            HTTPCall(
                "POST", path(of: name, in: account), headers: [("Content-Type", "application/json")],
                body: Array(body)))
        guard (200..<300).contains(reply.status) else { throw UnexpectedReply("move \(name)", reply) }
    }

    /// Deletes a file permanently or moves it into the bin, as the user can.
    public func delete(_ name: String, in account: SandboxAccount, toTrash: Bool = false) throws {
        let reply = try address.perform(
            HTTPCall("DELETE", path(of: name, in: account, ["trash": toTrash ? "1" : nil])))
        guard (200..<300).contains(reply.status) else { throw UnexpectedReply("delete \(name)", reply) }
    }

    /// Injects a fault into the providers.
    public func inject(_ fault: SandboxFault) throws { _ = try post("/faults", fault.json) }

    /// Puts a real server that listens on 127.0.0.1 behind a host name that ends in `.sandbox.test`.
    public func addBackend(host: String, port: UInt16) throws {
        _ = try post("/backends", ["host": host, "address": "http://127.0.0.1:\(port)"], expecting: 201)
    }

    /// Clears all faults.
    public func clearFaults() throws { _ = try call(HTTPCall("DELETE", "/sandbox/faults")) }

    /// The faults with a limited number of occurrences that have not all occurred yet.
    public func unspentFaults() throws -> [JSONValue] {
        (try get("/faults").array ?? []).filter { ($0.remaining?.integer ?? 0) > 0 }
    }

    /// Changes settings of the emulated providers, such as `searchLagMilliseconds`.
    public func changeSettings(_ settings: [String: Int]) throws { _ = try post("/settings", settings) }

    /// Changes the providers' clock for all later events.
    public func setClock(offsetSeconds: Int) throws { _ = try post("/clock", ["offsetSeconds": offsetSeconds]) }

    /// Every token and code that the providers have issued so far.
    public func issuedTokens() throws -> [String] { try get("/tokens").array?.compactMap(\.text) ?? [] }

    /// The person's email address at their provider.
    public func emailAddress(of account: SandboxAccount) throws -> String {
        try get("/accounts/\(account.id)").email?.text ?? ""
    }

    /// Clears the recorded violations.
    public func clearViolations() throws { _ = try call(HTTPCall("DELETE", "/sandbox/violations")) }

    /// The number of faults that have never occurred, without those that are used up.
    public func faultsThatNeverStruck() throws -> Int {
        try get("/faults").array?.filter { $0.struck?.integer == 0 }.count ?? 0
    }

    /// The requests to the providers since request number `since`, oldest first.
    public func requests(since: Int64 = 0) throws -> [JSONValue] {
        try get("/requests?since=\(since)").array ?? []
    }

    /// The number of the last request to the providers, for use with ``requests(since:)``.
    public func lastRequest() throws -> Int64 {
        // No request is that new, so the reply contains only the number.
        let reply = try address.perform(HTTPCall("GET", "/sandbox/requests?since=999999999"))
        guard let number = reply.values(of: "x-sandbox-last-request").first.flatMap({ Int64($0) }) else {
            throw UnexpectedReply("sandbox requests", reply)
        }
        return number
    }

    /// Violations of the providers' rules by clients.
    public func violations() throws -> [JSONValue] {
        try get("/violations").array ?? []
    }

    private func path(of name: String, in account: SandboxAccount, _ query: [String: String?] = [:]) -> String {
        let name = ClientQuery.encode(name, literal: Set("-._~".utf8))
        return "/sandbox/accounts/\(account.id)/files/\(name)\(ClientQuery.text(query))"
    }

    private func account(in json: JSONValue) throws -> SandboxAccount {
        guard let account = SandboxAccount(json) else { throw StackError.malformedSetting("sandbox account \(json)") }
        return account
    }

    private func get(_ path: String) throws -> JSONValue { try call(HTTPCall("GET", "/sandbox\(path)")) }

    private func post(_ path: String, _ body: [String: Any], expecting status: Int? = nil) throws -> JSONValue {
        let bytes = Array(try JSONSerialization.data(withJSONObject: body))
        return try call(
            HTTPCall("POST", "/sandbox\(path)", headers: [("Content-Type", "application/json")], body: bytes),
            expecting: status)
    }

    private func call(_ call: HTTPCall, expecting status: Int? = nil) throws -> JSONValue {
        let reply = try address.perform(call)
        let isExpected = status.map { $0 == reply.status } ?? (200..<300).contains(reply.status)
        guard isExpected else { throw UnexpectedReply("sandbox \(call.method) \(call.target)", reply) }
        return JSONValue(reply.body) ?? .null
    }
}
