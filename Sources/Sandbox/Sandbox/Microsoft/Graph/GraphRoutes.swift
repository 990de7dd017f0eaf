internal import FoundationEssentials

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
