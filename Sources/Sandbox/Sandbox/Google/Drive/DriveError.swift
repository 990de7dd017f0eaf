/// An error of the Drive API, in Google's JSON form.
struct DriveError: Error, Equatable {
    let status: Int
    /// The value for programs, e.g. `notFound`.
    let reason: String
    let message: String
    /// `global`, or `usageLimits`.
    let domain: String
    /// The parameter or header at fault.
    let location: String?

    /// An error.
    init(_ status: Int, _ reason: String, _ message: String, domain: String = "global", location: String? = nil) {
        self.status = status
        self.reason = reason
        self.message = message
        self.domain = domain
        self.location = location
    }

    static let invalidCredentials = DriveError(
        401, "authError",
        "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.",
        location: "Authorization")
    static let quotaExceeded = DriveError(
        403, "storageQuotaExceeded", "The user's Drive storage quota has been exceeded.", domain: "usageLimits")

    /// The file does not exist or is not visible to this app; Drive does not reveal which.
    static func notFound(_ id: String) -> DriveError {
        DriveError(404, "notFound", "File not found: \(id).", location: "fileId")
    }

    /// A parameter has an invalid value.
    static func invalid(_ name: String, _ message: String = "Invalid Value") -> DriveError {
        DriveError(400, "invalid", message, location: name)
    }

    private var statusName: String? {
        switch status {
        case 400: "INVALID_ARGUMENT"
        case 401: "UNAUTHENTICATED"
        case 403: "PERMISSION_DENIED"
        case 404: "NOT_FOUND"
        case 409: "ALREADY_EXISTS"
        case 429: "RESOURCE_EXHAUSTED"
        case 500: "INTERNAL"
        case 503: "UNAVAILABLE"
        default: nil
        }
    }

    /// The response, with the `errors` array unless the sandbox is configured to omit it.
    func response(_ server: SandboxServer? = nil) -> SandboxResponse {
        var one: JSONObject = [
            "message": .string(message), "domain": .string(domain), "reason": .string(reason),
        ]
        one["location"] = .string(location)
        if let location {
            one["locationType"] = location == "Authorization" || location == "Range" ? "header" : "parameter"
        }
        var error: JSONObject = ["code": .int(status), "message": .string(message)]
        if server?.withState({ $0.settings.hasGoogleErrorsArray }) ?? true {
            error["errors"] = .array([.object(one)])
        } else {
            error["details"] = [
                [
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": .string(reason),
                    "domain": "googleapis.com",
                ]
            ]
        }
        error["status"] = .string(statusName)
        var headers: [(name: String, value: String)] = []
        if status == 401 {
            headers.append(
                ("WWW-Authenticate", "Bearer realm=\"https://accounts.google.com/\", error=\"invalid_token\""))
        }
        return SandboxResponse(status, json: ["error": .object(error)], headers: headers)
    }
}
