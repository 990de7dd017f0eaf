/// The argument of a route, from wherever its style of request puts it, validated as strictly as Dropbox does.
struct DropboxArgument {
    let json: JSONValue
    private let function: String

    /// How a request carries its argument and its bytes (HTTP documentation, "Formats").
    enum Style {
        /// Argument in the body.
        case rpc
        /// Argument in a header or in the URL parameter `arg`, bytes in the request's body.
        case upload
        /// Argument in a header or in the URL parameter `arg`, bytes in the reply's body.
        case download
    }

    /// - Parameter members: the members that the argument may have; a path such as `commit/mode` names a nested member.
    /// - Throws: ``DropboxError/badRequest(_:)``; the mistake is recorded as a violation.
    init(_ request: SandboxRequest, _ style: Style, members: Set<String>, server: SandboxServer) throws {
        function = DropboxRoutes.function(request)
        if members.isEmpty, request.body.declaredLength ?? 0 == 0, request.header("content-type") ?? "" == "" {
            // A route without an argument accepts an empty body instead of `null`, as rclone's library sends it.
            json = .null
            return
        }
        try Self.checkType(request, style, function, server)
        let bytes: [UInt8]
        if style == .rpc {
            bytes = try request.body.readAll(limit: 1 << 20)
        } else {
            bytes = try Self.argumentBesideContent(request, function, server)
        }
        guard let json = try? JSONValue(parsing: bytes) else {
            server.note(request, "argument", "the argument is not JSON")
            throw Self.failure(function, "request body: could not decode input as JSON")
        }
        self.json = json
        if members.isEmpty {
            guard json == .null else {
                server.note(request, "argument", "the route takes no argument, so the body must be null")
                throw Self.failure(function, "request body: expected null, got something else")
            }
            return
        }
        guard let object = json.object else {
            server.note(request, "argument", "the argument is not an object")
            throw Self.failure(function, "request body: expected object, got something else")
        }
        if let unknown = Self.unknown(object, in: members, prefix: "") {
            server.note(request, "argument-member", "the route has no argument \(unknown)")
            throw Self.failure(function, "request body: unknown field '\(unknown)'")
        }
    }

    /// A required string.
    func text(_ path: String) throws(DropboxError) -> String {
        guard let text = self[path]?.string else {
            throw Self.failure(function, "request body: missing required field '\(path)'")
        }
        return text
    }

    /// A required non-negative integer.
    func count(_ path: String) throws(DropboxError) -> Int {
        guard let number = self[path]?.int, number >= 0 else {
            throw Self.failure(function, "request body: missing required field '\(path)'")
        }
        return number
    }

    func bool(_ path: String) -> Bool { self[path]?.bool ?? false }

    /// The tag of a union's value, which may also be a plain string.
    func tag(_ path: String) -> String? { self[path]?.string ?? self[path]?[".tag"]?.string }

    /// The member at a path such as `commit/mode`.
    subscript(_ path: String) -> JSONValue? {
        var value: JSONValue? = json
        for name in path.split(separator: "/") { value = value?[String(name)] }
        return value == .null ? nil : value
    }

    /// 64 hexadecimal digits, if the argument has a content hash.
    func contentHash(_ request: SandboxRequest, _ server: SandboxServer) throws(DropboxError) -> String? {
        guard let hash = self["content_hash"]?.string else { return nil }
        guard hash.utf8.count == 64, hash.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else {
            server.note(request, "content-hash-form", "content_hash is not 64 hexadecimal digits in lower case")
            throw Self.failure(function, "request body: content_hash: did not match pattern")
        }
        return hash
    }

    static func failure(_ function: String, _ text: String) -> DropboxError {
        .badRequest("Error in call to API function \"\(function)\": \(text)")
    }

    private static func unknown(_ object: JSONObject, in members: Set<String>, prefix: String) -> String? {
        for member in object.members where member.name != ".tag" {
            let path = prefix + member.name
            guard members.contains(path) else { return path }
            if let inner = member.value.object, members.contains(where: { $0.hasPrefix(path + "/") }),
                let unknown = unknown(inner, in: members, prefix: path + "/")
            {
                return unknown
            }
        }
        return nil
    }

    /// The argument of a route whose body is content: the `Dropbox-API-Arg` header, or without it the URL parameter
    /// `arg`, in which any character may be percent-encoded.
    private static func argumentBesideContent(
        _ request: SandboxRequest, _ function: String, _ server: SandboxServer
    ) throws(DropboxError) -> [UInt8] {
        guard let header = request.header("dropbox-api-arg") else {
            guard let parameter = request.query["arg"] else {
                server.note(request, "argument", "the request has neither Dropbox-API-Arg nor the URL parameter arg")
                throw failure(
                    function, "Must provide HTTP header \"Dropbox-API-Arg\" or URL parameter \"arg\".")
            }
            return Array(parameter.utf8)
        }
        guard header.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else {
            server.note(request, "api-arg-ascii", "Dropbox-API-Arg contains bytes that are not printable ASCII")
            throw failure(function, "HTTP header \"Dropbox-API-Arg\": could not decode input as JSON")
        }
        return Array(header.utf8)
    }

    private static func checkType(
        _ request: SandboxRequest, _ style: Style, _ function: String, _ server: SandboxServer
    ) throws(DropboxError) {
        let type = (request.header("content-type") ?? "").lowercased()
        let allowed: [String] =
            switch style {
            case .rpc: ["application/json", "application/json; charset=utf-8", "text/plain; charset=dropbox-cors-hack"]
            case .upload: ["application/octet-stream", "text/plain; charset=dropbox-cors-hack"]
            case .download: ["", "application/octet-stream", "text/plain", "text/plain; charset=utf-8"]
            }
        guard allowed.contains(type) else {
            server.note(request, "content-type", "\(function) was sent as \"\(type)\"")
            throw failure(
                function,
                "Bad HTTP \"Content-Type\" header: \"\(type)\".  Expecting one of \(allowed.joined(separator: ", ")).")
        }
        if style == .download, request.body.declaredLength ?? 0 > 0 {
            server.note(request, "download-body", "a download must have no body")
            throw failure(function, "the request body must be empty")
        }
    }
}
