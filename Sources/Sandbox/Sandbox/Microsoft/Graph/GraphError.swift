internal import FoundationEssentials

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
