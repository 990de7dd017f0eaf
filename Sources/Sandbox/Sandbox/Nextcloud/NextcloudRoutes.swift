import FoundationEssentials

/// A Nextcloud server: its files over WebDAV, and the requests that clients send first (Nextcloud, Developer Manual,
/// "Client APIs").
struct NextcloudRoutes {
    static let host = "nextcloud.sandbox.test"
    static let version = "30.0.4"

    let server: SandboxServer
    let effect: FaultEffect

    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        do {
            return try route(request)
        } catch let error as NextcloudError {
            return error.response
        }
    }

    private func route(_ request: SandboxRequest) throws -> SandboxResponse {
        let path = request.segments
        switch (path.first, path.dropFirst().first) {
        case ("status.php", nil): return status
        case ("ocs", _):
            return try NextcloudServices(server: server).respond(to: request, path: Array(path.dropFirst()))
        case ("index.php", "login"), ("login", "v2"):
            return try NextcloudLogin(server: server).respond(
                to: request, path: Array(path.drop { $0 == "index.php" }.dropFirst()))
        case ("index.php", "apps") where path.dropFirst(2) == ["oauth2", "authorize"]:
            return try NextcloudAuthorization(server: server).respond(to: request)
        case ("index.php", "apps") where path.dropFirst(2) == ["oauth2", "api", "v1", "token"]:
            return try NextcloudOAuth(server: server).token(request)
        case ("remote.php", "dav"): break
        default: throw NextcloudError.notFound(request.path)
        }
        let caller =
            try path.dropFirst(2).first == "files"
            ? NextcloudCaller(request, reading: path.dropFirst(3).first, server: server)
            : NextcloudCaller(request, server: server)
        switch (path.dropFirst(2).first, path.dropFirst(3).first) {
        case (nil, _): return try NextcloudSearch(server: server, caller: caller).respond(to: request)
        case ("files", let user?) where user == caller.account.id:
            return try NextcloudResources(server: server, caller: caller).respond(
                to: request, names: Array(path.dropFirst(4)))
        case ("uploads", let user?) where user == caller.account.id:
            return try NextcloudUploads(server: server, caller: caller).respond(
                to: request, names: Array(path.dropFirst(4)))
        // Another user's home is shown as an empty folder (Nextcloud 32.0.1).
        case ("files", let user?) where request.method == "PROPFIND" && path.count == 4:
            guard
                let (other, home) = server.withState({ state in
                    state.accounts[user].flatMap { other in state.nextclouds[user]?[""].map { (other, $0) } }
                })
            else { throw NextcloudError.notFound(request.path) }
            return NextcloudProperties(nil, of: other, usedBytes: 0).multistatus([home])
        // Everything else of another user does not exist.
        default: throw NextcloudError.notFound(request.path)
        }
    }

    private var status: SandboxResponse {
        SandboxResponse(
            200,
            json: [
                "installed": true, "maintenance": false, "needsDbUpgrade": false,
                "version": .string(Self.version + ".1"),
                "versionstring": .string(Self.version), "edition": "", "productname": "Nextcloud",
                "extendedSupport": false,
            ])
    }
}

extension SandboxRequest {
    /// The path in the person's files that the header `Destination` names, as a whole URL or a path.
    func destination(of account: String) throws(NextcloudError) -> String {
        guard let text = header("destination") else { throw .badRequest("The destination header was not supplied") }
        var path = text[...]
        if let separator = text.firstRange(of: "://") {
            path = text[separator.upperBound...].drop { $0 != "/" }
        }
        let segments = path.split(separator: "/").map { PercentEncoding.decode($0, plusIsBlank: false) ?? "" }
        guard segments.starts(with: ["remote.php", "dav", "files", account]), !segments.contains("") else {
            throw .badRequest("the destination is not among the person's files")
        }
        return segments.dropFirst(4).map { "/" + $0 }.joined()
    }
}

/// The caller of a request, identified by a user name or email address and an app password (RFC 7617), or by a bearer
/// token.
struct NextcloudCaller {
    /// How long a wrong password must not be tried again: real servers slow down all callers from that address.
    private static let patienceSeconds = 30.0
    private static let patientTries = 5

    let account: Account
    let token: AccessToken

    init(_ request: SandboxRequest, server: SandboxServer) throws(NextcloudError) {
        guard let (name, password) = Self.credentials(request) else { throw .notAuthenticated }
        let now = server.now
        guard !server.withState({ $0.turnsAway(request.peer, at: now) }) else { throw .tooManyRequests }
        guard let (account, token) = server.withState({ $0.accessToken(password) }), account.provider == .webdav,
            !token.isRevoked, token.expiresAt > now, name.map({ $0 == account.id || $0 == account.email }) ?? true
        else {
            Self.noteWrongPassword(password, request, server)
            throw .notAuthenticated
        }
        self.account = account
        self.token = token
    }

    /// The caller of a request for a user's files, which everybody may read if so configured.
    init(_ request: SandboxRequest, reading user: String?, server: SandboxServer) throws(NextcloudError) {
        let isOpen = server.withState { $0.settings.hasOpenReads }
        guard isOpen, ["PROPFIND", "GET", "HEAD"].contains(request.method), let user,
            let account = server.withState({ $0.accounts[user] }), account.provider == .webdav,
            let token = account.accessTokens.last
        else {
            try self.init(request, server: server)
            return
        }
        self.init(account: account, token: token)
    }

    private init(account: Account, token: AccessToken) {
        self.account = account
        self.token = token
    }

    private static func credentials(_ request: SandboxRequest) -> (name: String?, password: String)? {
        if let token = request.bearerToken { return (nil, token) }
        let words = (request.header("authorization") ?? "").split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "basic", let data = Data(base64Encoded: String(words[1])),
            let text = String(validating: data, as: UTF8.self), let colon = text.firstIndex(of: ":")
        else { return nil }
        return (String(text[..<colon]), String(text[text.index(after: colon)...]))
    }

    private static func noteWrongPassword(_ password: String, _ request: SandboxRequest, _ server: SandboxServer) {
        let now = server.now
        let tries = server.withState { state in
            let recent = state.wrongPasswords[password, default: []].filter {
                now.timeIntervalSince($0) < patienceSeconds
            }
            state.wrongPasswords[password] = recent + [now]
            state.wrongPasswordTimes[request.peer, default: []].append(now)
            return recent.count + 1
        }
        if tries > patientTries {
            server.note(request, "wrong-password", "a wrong password was tried \(tries) times within seconds")
        }
    }
}

extension SandboxState {
    /// Whether too many wrong passwords have recently come from an address (Nextcloud, `Bruteforce\Throttler`).
    mutating func turnsAway(_ peer: String, at now: Date) -> Bool {
        guard settings.toleratedPasswords > 0 else {
            wrongPasswordTimes = [:]
            return false
        }
        let recent = wrongPasswordTimes[peer, default: []].filter { now.timeIntervalSince($0) < 1_800 }
        wrongPasswordTimes[peer] = recent
        return recent.count >= settings.toleratedPasswords
    }
}

/// The Open Collaboration Services that file clients use: the user's identity, the server's capabilities, and deletion
/// of an app password.
struct NextcloudServices {
    let server: SandboxServer

    /// - Parameter path: the part after `/ocs`.
    func respond(to request: SandboxRequest, path: [String]) throws -> SandboxResponse {
        guard request.header("ocs-apirequest") == "true" else {
            server.note(request, "ocs-apirequest", "the header OCS-APIRequest is missing")
            return reply(412, 997, "CSRF check failed", [:])
        }
        guard ["v1.php", "v2.php"].contains(path.first) else { throw NextcloudError.notFound(request.path) }
        let caller: NextcloudCaller
        do {
            caller = try NextcloudCaller(request, server: server)
        } catch {
            return reply(401, 997, "Current user is not logged in", [:])
        }
        switch (request.method, path.dropFirst().joined(separator: "/")) {
        case ("GET", "cloud/user"):
            let account = caller.account
            return reply(
                200, 200, "OK",
                [
                    "id": .string(account.id), "display-name": .string(account.name),
                    "displayname": .string(account.name), "email": .string(account.email), "enabled": true,
                    "quota": ["quota": .int(account.quotaBytes)], "groups": .array([]), "language": "en",
                ])
        case ("GET", "cloud/capabilities"): return reply(200, 200, "OK", capabilities)
        case ("DELETE", "core/apppassword"):
            try server.changeAccount(caller.account.id) { $0.revoke(caller.token) }
            return reply(200, 200, "OK", [:])
        default: return reply(404, 998, "Invalid query, please check the syntax.", [:])
        }
    }

    private var capabilities: JSONValue {
        [
            "version": [
                "major": 30, "minor": 0, "micro": 4, "string": .string(NextcloudRoutes.version), "edition": "",
            ],
            "capabilities": [
                "core": ["webdav-root": "remote.php/webdav"],
                "dav": ["chunking": "1.0", "bulkupload": "1.0"],
                "files": ["bigfilechunking": true, "undelete": true, "versioning": true],
                "checksums": ["supportedTypes": ["MD5"], "preferredUploadType": "MD5"],
            ],
        ]
    }

    private func reply(_ status: Int, _ code: Int, _ message: String, _ data: JSONValue) -> SandboxResponse {
        SandboxResponse(
            status,
            json: [
                "ocs": [
                    "meta": [
                        "status": .string(code < 300 ? "ok" : "failure"), "statuscode": .int(code),
                        "message": .string(message),
                    ], "data": data,
                ]
            ])
    }
}

/// The reason why Nextcloud rejects a request, in the format of sabre/dav.
enum NextcloudError: Error {
    case badRequest(String)
    case notAuthenticated
    case forbidden
    case notFound(String)
    case methodNotAllowed
    case notImplemented(String)
    case conflict(String)
    case preconditionFailed(String)
    case unsupportedMediaType
    case insufficientStorage
    case tooManyRequests

    var response: SandboxResponse {
        let (status, exception, message) =
            switch self {
            case .badRequest(let text): (400, "Sabre\\DAV\\Exception\\BadRequest", text)
            case .notAuthenticated:
                (401, "Sabre\\DAV\\Exception\\NotAuthenticated", "No public access to this resource.")
            case .forbidden: (403, "Sabre\\DAV\\Exception\\Forbidden", "")
            case .notFound(let path):
                (404, "Sabre\\DAV\\Exception\\NotFound", "File with name \(path) could not be located")
            case .methodNotAllowed:
                (405, "Sabre\\DAV\\Exception\\MethodNotAllowed", "The resource you tried to create already exists")
            case .notImplemented(let method):
                (
                    501, "Sabre\\DAV\\Exception\\NotImplemented",
                    "There was no plugin in the system that was willing to handle this \(method) method."
                )
            case .conflict(let text): (409, "Sabre\\DAV\\Exception\\Conflict", text)
            case .preconditionFailed(let text): (412, "Sabre\\DAV\\Exception\\PreconditionFailed", text)
            case .unsupportedMediaType:
                (
                    415, "Sabre\\DAV\\Exception\\UnsupportedMediaType",
                    "The request body for the MKCOL request must have an xml Content-Type"
                )
            case .tooManyRequests: (429, "OCA\\DAV\\Connector\\Sabre\\Exception\\TooManyRequests", "")
            case .insufficientStorage: (507, "Sabre\\DAV\\Exception\\InsufficientStorage", "Insufficient space")
            }
        return Self.response(status, exception, message)
    }

    static func response(_ status: Int, _ exception: String, _ message: String) -> SandboxResponse {
        let text =
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<d:error xmlns:d=\"DAV:\" xmlns:s=\"http://sabredav.org/ns\">\n"
            + "  <s:exception>\(exception)</s:exception>\n  <s:message>\(PageText.escape(message))</s:message>\n"
            + "</d:error>\n"
        var headers: [(name: String, value: String)] = [("Content-Type", "application/xml; charset=utf-8")]
        if status == 401 { headers.append(("WWW-Authenticate", "Basic realm=\"Nextcloud\", charset=\"UTF-8\"")) }
        return SandboxResponse(status, headers: headers, body: Array(text.utf8))
    }
}
