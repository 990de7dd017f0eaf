/// An error of Facebook's Graph API.
struct FacebookError: Error, Equatable {
    /// HTTP status, usually 400.
    let status: Int
    /// 190: the access token; 100: a parameter; 4: throttled; 2: transient; 101 and 1: the app.
    let code: Int
    /// With 190: 458 app removed, 463 expired, 467 invalid.
    let subcode: Int?
    let message: String

    /// An error of status 400.
    static func badRequest(_ code: Int, _ message: String, subcode: Int? = nil) -> FacebookError {
        FacebookError(status: 400, code: code, subcode: subcode, message: message)
    }

    /// The error object inside a body.
    var json: JSONValue {
        var error: JSONObject = ["message": .string(message), "type": "OAuthException", "code": .int(code)]
        error["error_subcode"] = .int(subcode)
        error["fbtrace_id"] = .string("A" + RandomText.token(22))
        return .object(error)
    }

    /// The response.
    var response: SandboxResponse {
        SandboxResponse(
            status, json: ["error": json],
            headers: status == 401 ? [("WWW-Authenticate", "OAuth \"Facebook Platform\" \"invalid_token\"")] : [])
    }
}
