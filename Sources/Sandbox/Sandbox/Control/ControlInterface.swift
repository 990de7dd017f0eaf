/// The sandbox's own routes below `/sandbox`, for tests and for people on this machine.
///
/// Accepts only loopback peers, only under a loopback host name, and POST only as `application/json` or as a form of
/// its own pages. No other web page in a browser can therefore use it, not even after DNS rebinding to this machine.
struct ControlInterface {
    let server: SandboxServer
    private static let longestBody = 1 << 20

    /// Whether a `Host` (without port) is the control interface rather than a provider.
    static func isControlHost(_ host: String) -> Bool {
        ["127.0.0.1", "localhost", "[::1]"].contains(host)
    }

    /// Handles a request.
    func respond(to request: SandboxRequest) -> SandboxResponse {
        do {
            try requireLocal(request)
            let response = try route(request)
            try? request.body.drain()
            return response
        } catch let error as ControlError {
            try? request.body.drain()
            return error.response
        } catch RequestBodyError.tooLong {
            return ControlError.badRequest("the body is longer than \(Self.longestBody) bytes").response
        } catch RequestBodyError.cut {
            return .cut
        } catch {
            return ControlError.storage("\(error)").response
        }
    }

    private func requireLocal(_ request: SandboxRequest) throws(ControlError) {
        guard request.peer == "127.0.0.1" || request.peer == "::1" || request.peer == "unix:" || request.peer.isEmpty
        else { throw .forbidden("the control interface is for this machine only") }
        if let site = request.header("sec-fetch-site"), site != "same-origin", site != "none" {
            throw .forbidden("the control interface is not available to other web sites")
        }
        guard request.method == "POST" else { return }
        guard takesForm(request) else {
            if request.mediaType != "application/json" { throw .wrongContentType }
            return
        }
        guard PageForm.isForm(request) else { throw .wrongContentType }
        guard PageForm.isFromOwnPage(request) else {
            throw .forbidden("forms are accepted only from the sandbox's own pages")
        }
    }

    /// Whether this address receives a form from the pages for people.
    private func takesForm(_ request: SandboxRequest) -> Bool {
        let segments = request.segments
        return segments == ["sandbox", "people"]
            || segments.starts(with: ["sandbox", "accounts"]) && segments.dropFirst(3).first == "phone"
    }

    private func route(_ request: SandboxRequest) throws -> SandboxResponse {
        let segments = request.segments
        guard segments.first == "sandbox" else {
            throw ControlError.notFound("providers have their own host names; the sandbox is at /sandbox")
        }
        switch (request.method, segments.dropFirst().first, segments.count) {
        case ("GET", nil, _): return SandboxPage(server: server).response()
        case ("POST", "people", 2): return try PhoneControl(server: server).addPerson(request)
        case (_, "accounts", _):
            return try AccountControl(server: server).respond(to: request, path: Array(segments.dropFirst(2)))
        case ("POST", "faults", 2): return try addFault(request)
        case ("GET", "faults", 2):
            return SandboxResponse(200, json: .array(server.withState { $0.faults }.map(\.json)))
        case ("DELETE", "faults", 2):
            server.withState { $0.faults = [] }
            return SandboxResponse(204)
        case ("GET", "requests", 2): return try requests(request)
        case ("GET", "tokens", 2):
            return try SandboxResponse(200, entries: server.issuedTokens.sorted())
        case (_, "backends", 2): return try BackendControl(server: server).respond(to: request)
        case (_, "pushes", 2), (_, "push-tokens", 2): return try PushControl(server: server).respond(to: request)
        case ("GET", "violations", 2):
            return try SandboxResponse(200, entries: server.withState { $0.violations })
        case ("DELETE", "violations", 2):
            server.withState { $0.violations = [] }
            return SandboxResponse(204)
        case ("POST", "apple", 3) where segments[2] == "rotate-keys":
            try server.appleKeys.rotate()
            return SandboxResponse(204)
        case ("POST", "redirect-uris", 2): return try registerRedirect(request)
        case ("GET", "clock", 2): return clock()
        case ("POST", "clock", 2): return try setClock(request)
        case ("GET", "settings", 2): return SandboxResponse(200, json: server.withState { $0.settings }.json)
        case ("POST", "settings", 2):
            try change(try Self.json(request))
            return SandboxResponse(200, json: server.withState { $0.settings }.json)
        case (_, "faults", 2), (_, "requests", 2), (_, "tokens", 2), (_, "violations", 2), (_, "clock", 2),
            (_, "settings", 2), (_, "redirect-uris", 2), (_, "people", 2):
            throw ControlError.methodNotAllowed
        default: throw ControlError.notFound("no such route: \(request.path)")
        }
    }

    /// The JSON object of a request; an empty body stands for an empty object.
    static func json(_ request: SandboxRequest) throws -> JSONValue {
        let bytes = try request.body.readAll(limit: longestBody)
        if bytes.isEmpty { return [:] }
        guard let value = try? JSONValue(parsing: bytes), value.object != nil else {
            throw ControlError.badRequest("the body is not a JSON object")
        }
        return value
    }

    private func addFault(_ request: SandboxRequest) throws -> SandboxResponse {
        let json = try Self.json(request)
        let rule = try server.withState { state throws(ControlError) in
            let rule = try FaultRule(number: state.nextFaultNumber, json: json)
            state.nextFaultNumber += 1
            state.faults.append(rule)
            return rule
        }
        return SandboxResponse(201, json: rule.json)
    }

    private func requests(_ request: SandboxRequest) throws -> SandboxResponse {
        let since = request.query["since"].map { Int($0) } ?? 0
        guard let since, since >= 0 else { throw ControlError.badRequest("since must be an integer from 0") }
        let (entries, last) = server.withState { ($0.log.since(since), $0.log.last) }
        var response = try SandboxResponse(200, entries: entries)
        response.headers.append(("X-Sandbox-Last-Request", String(last)))
        return response
    }

    private func clock() -> SandboxResponse {
        SandboxResponse(
            200,
            json: [
                "offsetSeconds": .double(server.withState { $0.settings.clockOffsetSeconds }), "now": server.now.json,
            ])
    }

    private func setClock(_ request: SandboxRequest) throws -> SandboxResponse {
        guard let offset = try Self.json(request)["offsetSeconds"]?.double else {
            throw ControlError.badRequest("offsetSeconds must be a number")
        }
        try change(["clockOffsetSeconds": .double(offset)])
        return clock()
    }

    /// Registers a redirect URI, as in the provider's console.
    private func registerRedirect(_ request: SandboxRequest) throws -> SandboxResponse {
        let json = try Self.json(request)
        guard let provider = json["provider"]?.string.flatMap(Provider.init(rawValue:)),
            provider == .google || provider == .dropbox, let uri = json["redirectURI"]?.string, !uri.contains("#")
        else { throw ControlError.badRequest("provider must be google or dropbox; redirectURI must have no fragment") }
        let directory = server.directory
        try server.withState { state throws(StorageError) in
            state.settings.redirects.add(uri, provider)
            try directory.write(state.settings.json, to: directory.settingsPath)
        }
        return SandboxResponse(201, json: server.withState { $0.settings.redirects }.json)
    }

    private func change(_ json: JSONValue) throws(StorageError) {
        let directory = server.directory
        try server.withState { state throws(StorageError) in
            state.settings.merge(json)
            try directory.write(state.settings.json, to: directory.settingsPath)
        }
    }
}

/// The reason why the control interface rejects a request.
enum ControlError: Error, Equatable {
    /// 400: the sentence names the mistake.
    case badRequest(String)
    /// 403: the caller is not on this machine, or might be a web page.
    case forbidden(String)
    /// 404: the account, file or route does not exist.
    case notFound(String)
    /// 405.
    case methodNotAllowed
    /// 415: not `application/json`.
    case wrongContentType
    /// 500: the state directory cannot be used.
    case storage(String)

    /// The response.
    var response: SandboxResponse {
        let (status, code, message) =
            switch self {
            case .badRequest(let text): (400, "bad_request", text)
            case .forbidden(let text): (403, "forbidden", text)
            case .notFound(let text): (404, "not_found", text)
            case .methodNotAllowed: (405, "method_not_allowed", "this route does not support the method")
            case .wrongContentType: (415, "wrong_content_type", "send Content-Type: application/json")
            case .storage(let text): (500, "storage", text)
            }
        return SandboxResponse(status, json: ["error": .string(message), "code": .string(code)])
    }
}
