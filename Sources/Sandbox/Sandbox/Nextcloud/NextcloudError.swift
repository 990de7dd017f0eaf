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
