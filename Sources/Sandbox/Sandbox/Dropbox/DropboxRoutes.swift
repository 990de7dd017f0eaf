import FoundationEssentials

/// Routes a request for one of Dropbox's hosts.
struct DropboxRoutes {
    static let hosts: Set<String> = [
        "api.dropboxapi.com", "content.dropboxapi.com", "notify.dropboxapi.com", "api.dropbox.com", "www.dropbox.com",
        DropboxTemporaryLinks.downloadHost,
    ]
    private static let contentRoutes: Set<String> = [
        "files/upload", "files/upload_session/start", "files/upload_session/append_v2", "files/upload_session/finish",
        "files/download",
    ]

    let server: SandboxServer
    let effect: FaultEffect

    /// The route's name, such as `files/upload`.
    static func function(_ request: SandboxRequest) -> String {
        request.path.hasPrefix("/2/") ? String(request.path.dropFirst(3)) : request.path
    }

    /// Handles a request.
    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        do {
            switch (request.host, request.path) {
            case ("api.dropboxapi.com", "/oauth2/token"), ("api.dropbox.com", "/oauth2/token"):
                return try DropboxOAuth(server: server).token(request)
            case ("www.dropbox.com", "/oauth2/authorize"):
                return try DropboxAuthorization(server: server).respond(to: request)
            case (DropboxTemporaryLinks.downloadHost, _):
                return try DropboxTemporaryLinks(server: server).send(request)
            case (DropboxTemporaryLinks.uploadHost, let path) where path.hasPrefix(DropboxTemporaryLinks.uploadPath):
                return try DropboxTemporaryLinks(server: server).receive(request)
            case (_, let path) where path.hasPrefix("/2/"): return try call(Self.function(request), request)
            default:
                server.note(request, "unknown-route", "the sandbox's Dropbox has no \(request.path) at \(request.host)")
                return DropboxError.text(404, "Not Found")
            }
        } catch let error as DropboxError {
            return error.response
        }
    }

    private func call(_ function: String, _ request: SandboxRequest) throws -> SandboxResponse {
        let host = Self.contentRoutes.contains(function) ? "content.dropboxapi.com" : "api.dropboxapi.com"
        guard request.host == host else {
            server.note(request, "wrong-host", "\(function) is a route of \(host)")
            return DropboxError.text(404, "Not Found")
        }
        guard request.method == "POST" else {
            server.note(request, "method", "\(request.method) is not a method of \(function)")
            throw DropboxError.badRequest(
                "Error in call to API function \"\(function)\": Bad HTTP request method: \(request.method)")
        }
        switch function {
        case "users/get_current_account", "users/get_account", "users/get_space_usage", "check/user",
            "auth/token/revoke":
            return try DropboxUsers(server: server).respond(to: request, function)
        case "files/get_temporary_upload_link": return try DropboxTemporaryLinks(server: server).newUpload(request)
        case "files/get_temporary_link": return try DropboxTemporaryLinks(server: server).newDownload(request)
        case "files/download": return try DropboxDownloads(server: server).respond(to: request)
        case "files/upload": return try DropboxUploads(server: server, effect: effect).upload(request)
        case "files/upload_session/start": return try DropboxUploads(server: server, effect: effect).start(request)
        case "files/upload_session/append_v2":
            return try DropboxUploads(server: server, effect: effect).append(request)
        case "files/upload_session/finish": return try DropboxUploads(server: server, effect: effect).finish(request)
        case "files/upload_session/finish_batch_v2":
            return try DropboxUploads(server: server, effect: effect).finishBatch(request)
        default: return try DropboxFiles(server: server).respond(to: request, function)
        }
    }
}

/// The caller of a Dropbox request.
struct DropboxCaller {
    let account: Account
    let token: AccessToken

    /// The caller identified by the request's access token.
    /// - Parameter scope: the scope that the user must have granted.
    /// - Throws: ``DropboxError``: 400 for a missing or malformed token, 401 for an invalid or expired one, with a tag
    ///   that names the reason.
    init(_ request: SandboxRequest, scope: String?, server: SandboxServer) throws(DropboxError) {
        guard request.header("authorization") != nil else {
            server.note(request, "no-authorization", "the request has no access token")
            throw .badRequest(
                "Error in call to API function \"\(DropboxRoutes.function(request))\": Must provide HTTP header \"Authorization\" or URL parameter \"authorization\"."
            )
        }
        guard let value = request.bearerToken else {
            server.note(request, "authorization", "the Authorization header is not a bearer token")
            throw .badRequest("Invalid authorization value in HTTP header \"Authorization\".")
        }
        guard DropboxOAuth.isWellFormed(value) else {
            throw .badRequest(
                "Error in call to API function \"\(DropboxRoutes.function(request))\": The given OAuth 2 access token is malformed."
            )
        }
        let now = server.now
        guard let (account, token) = server.withState({ $0.accessToken(value) }), account.provider == .dropbox,
            !token.isRevoked
        else { throw .unauthorized("invalid_access_token") }
        guard token.expiresAt > now else { throw .unauthorized("expired_access_token") }
        if let scope, !(token.scopes ?? account.scopes).contains(scope) {
            throw .unauthorized("missing_scope", requiredScope: scope)
        }
        self.account = account
        self.token = token
    }
}

/// The routes about people: a token's owner, storage usage, and revocation of a grant.
struct DropboxUsers {
    let server: SandboxServer

    func respond(to request: SandboxRequest, _ function: String) throws -> SandboxResponse {
        switch function {
        case "users/get_current_account":
            let caller = try DropboxCaller(request, scope: "account_info.read", server: server)
            _ = try DropboxArgument(request, .rpc, members: [], server: server)
            return .dropbox(current(caller.account))
        case "users/get_account":
            _ = try DropboxCaller(request, scope: "account_info.read", server: server)
            let argument = try DropboxArgument(request, .rpc, members: ["account_id"], server: server)
            let id = try argument.text("account_id")
            // As at Dropbox, any token may query any account, so the reply does not identify the caller.
            guard let account = server.withState({ $0.accounts[id] }), account.provider == .dropbox else {
                throw DropboxError.route(["no_account"])
            }
            return .dropbox(.object(basic(account)))
        case "users/get_space_usage":
            let caller = try DropboxCaller(request, scope: "account_info.read", server: server)
            _ = try DropboxArgument(request, .rpc, members: [], server: server)
            let used = server.withState { $0.dropboxes[caller.account.id]?.usedBytes ?? 0 }
            return .dropbox([
                "used": .int(used),
                "allocation": [".tag": "individual", "allocated": .int(caller.account.quotaBytes)],
            ])
        case "check/user":
            _ = try DropboxCaller(request, scope: "account_info.read", server: server)
            let argument = try DropboxArgument(request, .rpc, members: ["query"], server: server)
            return .dropbox(["result": argument["query"] ?? ""])
        default:
            let caller = try DropboxCaller(request, scope: nil, server: server)
            _ = try DropboxArgument(request, .rpc, members: [], server: server)
            try server.changeAccount(caller.account.id) { $0.revoke(caller.token) }
            return .dropbox(.null)
        }
    }

    private func basic(_ account: Account) -> JSONObject {
        let words = account.name.split(separator: " ", maxSplits: 1).map(String.init)
        return [
            "account_id": .string(account.id),
            "name": [
                "given_name": .string(words.first ?? ""), "surname": .string(words.count == 2 ? words[1] : ""),
                "familiar_name": .string(words.first ?? ""), "display_name": .string(account.name),
                "abbreviated_name": .string(words.compactMap(\.first).map(String.init).joined()),
            ],
            "email": .string(account.email), "email_verified": true, "disabled": false, "is_teammate": false,
        ]
    }

    private func current(_ account: Account) -> JSONValue {
        var json = basic(account)
        json["is_teammate"] = nil
        json["locale"] = "en"
        json["referral_link"] = "https://www.dropbox.com/referrals/sandbox"
        json["is_paired"] = false
        json["account_type"] = [".tag": "basic"]
        json["root_info"] = [".tag": "user", "root_namespace_id": "1", "home_namespace_id": "1"]
        return .object(json)
    }
}

/// An error of the Dropbox API, in the forms of its HTTP documentation ("Errors by status code").
enum DropboxError: Error, Equatable {
    /// 400, plain text: the request itself is wrong.
    case badRequest(String)
    /// 401: the access token does not work, and the reason.
    case unauthorized(String, requiredScope: String? = nil)
    /// 409: an error of the route, as a path of union tags; the last tag may have further members.
    case route([Tag], members: JSONObject = [:])
    /// 429: rate limit exceeded, or another request is writing to the namespace.
    case tooMany(String, retryAfterSeconds: Int)
    /// 500, plain text.
    case internalError

    /// One step into a union's value: its tag, and the member that contains the next one.
    struct Tag: Equatable, ExpressibleByStringLiteral {
        let name: String
        /// `nil` for a member with the tag's own name.
        var member: String?

        init(stringLiteral value: String) { name = value }

        init(_ name: String, member: String? = nil) {
            self.name = name
            self.member = member
        }
    }

    /// A write conflict at a path; `upload` wraps it in a structure, all other routes in a union.
    static func path(_ reason: [Tag], inUpload: Bool = false) -> DropboxError {
        .route([Tag("path", member: inUpload ? "reason" : nil)] + reason)
    }

    /// The path does not exist.
    static func notFound(_ wrapper: Tag = "path") -> DropboxError { .route([wrapper, "not_found"]) }

    /// The response.
    var response: SandboxResponse {
        switch self {
        case .badRequest(let text): Self.text(400, text)
        case .internalError: Self.text(500, "Internal Server Error")
        case .unauthorized(let tag, let scope):
            SandboxResponse.dropbox(
                Self.body([Tag(tag)], members: scope.map { ["required_scope": .string($0)] } ?? [:]), status: 401)
        case .route(let tags, let members): SandboxResponse.dropbox(Self.body(tags, members: members), status: 409)
        case .tooMany(let reason, let seconds):
            SandboxResponse.dropbox(
                [
                    "error_summary": .string(reason + "/" + Self.tail),
                    "error": ["reason": [".tag": .string(reason)], "retry_after": .int(seconds)],
                ], status: 429, headers: [("Retry-After", String(seconds))])
        }
    }

    static func text(_ status: Int, _ text: String) -> SandboxResponse {
        SandboxResponse(
            status, headers: [("Content-Type", "text/plain; charset=utf-8")] + SandboxResponse.dropboxHeaders,
            body: Array(text.utf8))
    }

    /// Dropbox ends each summary differently, to keep clients from comparing whole summaries.
    private static var tail: String { String(repeating: ".", count: Int.random(in: 0...4)) }

    private static func body(_ tags: [Tag], members: JSONObject) -> JSONValue {
        let summary = tags.map(\.name).joined(separator: "/") + "/" + tail
        return ["error_summary": .string(summary), "error": value(tags[...], members: members)]
    }

    /// The JSON of a union's value; see ``value(_:members:)`` of batches, which has no summary.
    static func value(_ tags: ArraySlice<Tag>, members: JSONObject) -> JSONValue {
        guard let first = tags.first else { return .object(members) }
        var object: JSONObject = [".tag": .string(first.name)]
        // `UploadWriteFailed` names a session that keeps the bytes.
        if first.member == "reason" {
            object["upload_session_id"] = .string("pid_upload_session:" + RandomText.token(48))
        }
        if tags.count > 1 {
            object[first.member ?? first.name] = value(tags.dropFirst(), members: members)
        } else {
            for member in members.members { object[member.name] = member.value }
        }
        return .object(object)
    }

    /// This error as a member of another union.
    func wrapped(in tag: Tag?) -> DropboxError {
        guard let tag, case .route(let tags, let members) = self else { return self }
        return .route([tag] + tags, members: members)
    }

    /// The union's value alone, as in an entry of a batch; `nil` for errors that are not the route's.
    var union: JSONValue? {
        guard case .route(let tags, let members) = self else { return nil }
        return Self.value(tags[...], members: members)
    }
}

extension SandboxResponse {
    /// Headers of every response.
    static var dropboxHeaders: [(name: String, value: String)] {
        [("X-Dropbox-Request-Id", RandomText.token(32)), ("Cache-Control", "no-cache")]
    }

    /// A JSON response; its media type has no parameters, as Dropbox's own client requires.
    static func dropbox(
        _ json: JSONValue, status: Int = 200, headers: [(name: String, value: String)] = []
    ) -> SandboxResponse {
        SandboxResponse(
            status, headers: [("Content-Type", "application/json")] + dropboxHeaders + headers, body: json.bytes())
    }
}
