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
