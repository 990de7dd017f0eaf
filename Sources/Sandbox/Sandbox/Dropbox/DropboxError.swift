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
