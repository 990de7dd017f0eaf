import FoundationEssentials

/// The emulated routes of Microsoft Graph v1.0: the signed-in user and their OneDrive.
struct GraphRoutes {
    let server: SandboxServer
    let effect: FaultEffect

    /// Handles a request.
    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        do {
            return try route(request)
        } catch let error as GraphError {
            return error.response(at: server.now)
        }
    }

    private func route(_ request: SandboxRequest) throws -> SandboxResponse {
        let prefix = "/v1.0"
        guard request.path.hasPrefix(prefix + "/") else { throw unknown(request) }
        let path = request.path.dropFirst(prefix.count)
        let caller = try GraphCaller(request, server: server)
        switch (request.method, path) {
        case ("GET", "/me"): return me(caller, request)
        case ("GET", "/me/drives"):
            try caller.requireFiles()
            return SandboxResponse(200, json: ["value": [try drive(caller)]])
        case ("POST", "/$batch"): return try GraphBatch(server: server).respond(to: request)
        default: break
        }
        try caller.requireFiles()
        let drive = try server.oneDrive(of: caller.account.id)
        let rest: Substring
        if path == "/me/drive" || path.hasPrefix("/me/drive/") {
            rest = path.dropFirst("/me/drive".count)
        } else if path.hasPrefix("/drives/") {
            let id = path.dropFirst("/drives/".count).prefix { $0 != "/" }
            guard id.lowercased() == drive.driveID.lowercased() else { throw GraphError.notFound }
            rest = path.dropFirst("/drives/".count + id.count)
        } else {
            throw unknown(request)
        }
        if rest.isEmpty || rest == "/" {
            guard request.method == "GET" else { throw unknown(request) }
            return SandboxResponse(200, json: try self.drive(caller))
        }
        guard let address = GraphAddress(rest) else { throw unknown(request) }
        return try GraphItems(server: server, effect: effect, caller: caller).respond(to: request, address)
    }

    private func unknown(_ request: SandboxRequest) -> GraphError {
        server.note(request, "unknown-route", "the sandbox's Graph has no \(request.method) \(request.path)")
        return GraphError(400, "BadRequest", "Resource not found for the segment in \(request.path).")
    }

    private func me(_ caller: GraphCaller, _ request: SandboxRequest) -> SandboxResponse {
        let account = caller.account
        let words = account.name.split(separator: " ", maxSplits: 1).map(String.init)
        var json: JSONObject = [
            "@odata.context": "https://graph.microsoft.com/v1.0/$metadata#users/$entity",
            "userPrincipalName": .string(account.email), "id": .string(account.id),
            "displayName": .string(account.name), "mail": .null, "givenName": .string(words.first ?? ""),
        ]
        json["surname"] = .string(words.count == 2 ? words[1] : nil)
        return SandboxResponse(200, json: .object(json))
    }

    private func drive(_ caller: GraphCaller) throws(GraphError) -> JSONValue {
        let drive = try server.oneDrive(of: caller.account.id)
        let total = caller.account.quotaBytes
        let remaining = max(0, total - drive.usedBytes)
        return [
            "id": .string(drive.driveID), "driveType": "personal", "name": "OneDrive",
            "owner": ["user": ["displayName": .string(caller.account.name), "id": .string(caller.account.id)]],
            "quota": [
                "total": .int(total), "used": .int(drive.usedBytes), "remaining": .int(remaining), "deleted": 0,
                "state": .string(remaining == 0 ? "exceeded" : "normal"),
            ],
        ]
    }
}

/// `POST /$batch`: up to 20 requests in one, each with its own status.
struct GraphBatch {
    let server: SandboxServer
    private static let mostRequests = 20

    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        guard let json = try? JSONValue(parsing: try request.body.readAll(limit: 4 << 20)),
            let requests = json["requests"]?.array
        else { throw GraphError.invalid("Invalid batch payload format.") }
        guard requests.count <= Self.mostRequests else {
            server.note(request, "batch-size", "a batch may have at most \(Self.mostRequests) requests")
            throw GraphError.invalid("Number of batch request steps exceeds the maximum value of 20.")
        }
        var responses: [JSONValue] = []
        for one in requests {
            guard let id = one["id"]?.string, let method = one["method"]?.string, let url = one["url"]?.string else {
                throw GraphError.invalid("Invalid batch payload format.")
            }
            var headers = [(name: "Authorization", value: request.header("authorization") ?? "")]
            for member in one["headers"]?.object?.members ?? [] {
                headers.append((name: member.name, value: member.value.string ?? ""))
            }
            let inner = SandboxRequest(
                method: method, host: request.host, target: "/v1.0" + (url.hasPrefix("/") ? url : "/" + url),
                headers: headers, peer: request.peer, body: RequestBody(one["body"]?.bytes() ?? []))
            // Uses the public entry point, so that faults apply to each request of the batch.
            let response = server.respond(to: inner)
            var json: JSONObject = ["id": .string(id), "status": .int(response.status)]
            var fields: JSONObject = [:]
            for header in response.headers { fields[header.name] = .string(header.value) }
            json["headers"] = .object(fields)
            json["body"] = response.bodyJSON
            responses.append(.object(json))
        }
        return SandboxResponse(200, json: ["responses": .array(responses)])
    }
}

/// The caller of a Graph request, and the permissions of the token.
struct GraphCaller {
    let account: Account
    private let scopes: [String]

    /// The caller identified by the request's access token.
    /// - Throws: ``GraphError`` 401 for an invalid or expired token.
    init(_ request: SandboxRequest, server: SandboxServer) throws(GraphError) {
        guard let value = request.bearerToken else {
            server.note(request, "no-authorization", "the request has no bearer token")
            throw GraphError(401, "InvalidAuthenticationToken", "Access token is empty.")
        }
        let now = server.now
        guard let (account, token) = server.withState({ $0.accessToken(value) }), account.provider == .microsoft,
            !token.isRevoked, token.expiresAt > now
        else { throw .invalidToken }
        guard token.audience == MicrosoftOAuth.graph else {
            server.note(request, "token-audience", "the token was not issued for Graph")
            throw GraphError(
                401, "InvalidAuthenticationToken", "Access token validation failure. Invalid audience.")
        }
        self.account = account
        scopes = token.scopes ?? account.scopes
    }

    /// - Throws: ``GraphError`` 403 if no permission for files was granted, 400 or 404 if the account has no OneDrive.
    func requireFiles() throws(GraphError) {
        guard scopes.contains(where: { $0.hasPrefix("Files.ReadWrite") }) else {
            throw GraphError(403, "accessDenied", "The caller does not have permission to perform the action.")
        }
        if let error = account.oneDriveState.error { throw error }
    }
}

/// How a request names an item (Microsoft Graph, "Address resources in a drive on OneDrive"): by ID, by a path from the
/// root or the app's folder, or by a path from an ID.
struct GraphAddress: Equatable {
    /// The beginning of the path.
    enum Base: Equatable {
        case root
        case appFolder
        case item(String)
    }

    let base: Base
    /// Decoded names from the base downwards; empty for the base itself.
    let path: [String]
    /// The operation on the item: `children`, `content`, `createUploadSession`, …; empty for the item itself.
    let action: String

    /// Parses the part after the drive, such as `/special/approot:/a/b.txt:/content`, still percent-encoded. `nil` if
    /// it is not an address.
    init?(_ text: Substring) {
        var rest = text
        if rest.hasPrefix("/root") {
            base = .root
            rest = rest.dropFirst("/root".count)
        } else if rest.hasPrefix("/special/approot") {
            base = .appFolder
            rest = rest.dropFirst("/special/approot".count)
        } else if rest.hasPrefix("/items/") {
            rest = rest.dropFirst("/items/".count)
            let id = rest.prefix { $0 != "/" && $0 != ":" }
            guard !id.isEmpty, let decoded = PercentEncoding.decode(id, plusIsBlank: false) else { return nil }
            base = .item(decoded)
            rest = rest.dropFirst(id.count)
        } else {
            return nil
        }
        var names: [String] = []
        if rest.hasPrefix(":") {
            rest = rest.dropFirst()
            let relative = rest.prefix { $0 != ":" }
            rest = rest.dropFirst(relative.count)
            for segment in relative.split(separator: "/", omittingEmptySubsequences: true) {
                guard let name = PercentEncoding.decode(segment, plusIsBlank: false) else { return nil }
                names.append(name)
            }
            if rest.hasPrefix(":") { rest = rest.dropFirst() }
        }
        path = names
        guard rest.isEmpty || rest.hasPrefix("/") else { return nil }
        action = String(rest.drop { $0 == "/" })
    }

    /// Whether OneDrive accepts the name.
    static func isValidName(_ name: String) -> Bool {
        guard !name.isEmpty, name.utf8.count <= 400, !name.contains(where: { "\"*:<>?/\\|".contains($0) }),
            name.first != " ", name.last != " ", name.last != "."
        else { return false }
        let upper = name.uppercased()
        let stem = upper.prefix { $0 != "." }
        let reserved: Set = ["CON", "PRN", "AUX", "NUL"]
        let isNumbered = stem.count == 4 && (stem.hasPrefix("COM") || stem.hasPrefix("LPT")) && stem.last!.isNumber
        return !reserved.contains(String(stem)) && !isNumbered && upper != ".LOCK" && upper != "DESKTOP.INI"
            && !name.hasPrefix("~$") && !name.contains("_vti_")
    }
}

/// An error of Microsoft Graph, in its JSON form.
struct GraphError: Error, Equatable {
    let status: Int
    /// The value for programs, e.g. `itemNotFound`.
    let code: String
    let message: String
    /// A more specific code, one level deeper.
    let innerCode: String?

    /// An error.
    init(_ status: Int, _ code: String, _ message: String, innerCode: String? = nil) {
        self.status = status
        self.code = code
        self.message = message
        self.innerCode = innerCode
    }

    static let invalidToken = GraphError(
        401, "InvalidAuthenticationToken", "Lifetime validation failed, the token is expired.")
    static let notFound = GraphError(404, "itemNotFound", "The resource could not be found.")
    static let nameTaken = GraphError(
        409, "nameAlreadyExists", "An item with the same name already exists under the parent")
    static let quotaExceeded = GraphError(
        507, "insufficientStorage", "Insufficient Space Available", innerCode: "quotaLimitReached")
    static let sessionNotFound = GraphError(
        404, "itemNotFound", "The upload session was not found", innerCode: "uploadSessionNotFound")
    static let accessDenied = GraphError(403, "accessDenied", "Access Denied")

    /// The request is malformed.
    static func invalid(_ message: String) -> GraphError { GraphError(400, "invalidRequest", message) }

    /// The response at `time`.
    func response(at time: Date) -> SandboxResponse {
        var inner: JSONObject = [
            "date": .string(String(time.text.prefix(19))), "request-id": .string(RandomText.token(36)),
            "client-request-id": .string(RandomText.token(36)),
        ]
        inner["code"] = .string(innerCode)
        var headers: [(name: String, value: String)] = []
        if status == 401 {
            headers.append(
                (
                    "WWW-Authenticate",
                    "Bearer realm=\"\", authorization_uri=\"https://login.microsoftonline.com/common/oauth2/authorize\", error=\"invalid_token\", error_description=\"expired_token\""
                ))
        }
        return SandboxResponse(
            status,
            json: ["error": ["code": .string(code), "message": .string(message), "innerError": .object(inner)]],
            headers: headers)
    }
}
