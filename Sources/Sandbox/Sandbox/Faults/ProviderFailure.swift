internal import FoundationEssentials

/// A failure in the format of the called provider.
enum ProviderFailure {
    /// A response with this status in the format of the request's provider, unless the fault defines its own body.
    static func response(status: Int, to request: SandboxRequest, effect: FaultEffect) -> SandboxResponse {
        var response: SandboxResponse
        if let body = effect.body {
            response = SandboxResponse(
                status, headers: [("Content-Type", effect.contentType ?? "text/html; charset=UTF-8")],
                body: Array(body.utf8))
        } else if DropboxRoutes.hosts.contains(request.host), request.path.hasPrefix("/2/") {
            response = dropbox(status, effect)
        } else if request.host == "graph.facebook.com" {
            response = facebook(status, effect.reason)
        } else if request.host == "graph.microsoft.com" || request.host == OneDriveContentHost.name {
            response = graph(status, effect.reason)
        } else if request.host == "login.microsoftonline.com" {
            response = MicrosoftOAuth.failure(status, effect.reason)
        } else if request.host == NextcloudRoutes.host {
            response = NextcloudError.response(status, effect.reason ?? "Sabre\\DAV\\Exception", "Sandbox fault")
        } else if request.host.hasSuffix(Backend.hostSuffix) {
            response = backend(status, effect.reason)
        } else if request.host != "www.googleapis.com" {
            let code =
                effect.reason
                ?? (status == 400 ? "invalid_grant" : status == 401 ? "invalid_client" : "internal_failure")
            response = SandboxResponse(status, json: ["error": .string(code), "error_description": "Sandbox fault"])
        } else {
            response = google(status, effect.reason)
        }
        if let retryAfter = effect.retryAfter { response.headers.append(("Retry-After", retryAfter)) }
        return response
    }

    /// The response for a host without a backend, as a proxy would send it.
    static var noBackend: SandboxResponse { backend(502, "NoBackend") }

    /// In the format of Amazon S3 ("Error responses"), whose body clients of other servers ignore; a 401 also has the
    /// challenge that all other servers send.
    private static func backend(_ status: Int, _ reason: String?) -> SandboxResponse {
        let code =
            switch status {
            case 401: "Unauthorized"
            case 403: "AccessDenied"
            case 404: "NoSuchKey"
            case 412: "PreconditionFailed"
            case 429, 503: "SlowDown"
            case 507: "QuotaExceeded"
            case 500...: "InternalError"
            default: "InvalidRequest"
            }
        let text =
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>\(reason ?? code)</Code>"
            + "<Message>Sandbox fault</Message></Error>"
        let challenge = status == 401 ? [(name: "WWW-Authenticate", value: "Basic realm=\"files\"")] : []
        return SandboxResponse(
            status, headers: [("Content-Type", "application/xml")] + challenge, body: Array(text.utf8))
    }

    private static func google(_ status: Int, _ reason: String?) -> SandboxResponse {
        let error =
            switch status {
            case 401: DriveError.invalidCredentials
            case 403:
                DriveError(403, reason ?? "userRateLimitExceeded", "User Rate Limit Exceeded", domain: "usageLimits")
            case 404: DriveError(404, reason ?? "notFound", "File not found.")
            case 429: DriveError(429, reason ?? "rateLimitExceeded", "Rate Limit Exceeded", domain: "usageLimits")
            case 500: DriveError(500, reason ?? "internalError", "Internal Error")
            case 501...599: DriveError(status, reason ?? "backendError", "Backend Error")
            default: DriveError(status, reason ?? "badRequest", "Bad Request")
            }
        return error.response()
    }

    private static func graph(_ status: Int, _ reason: String?) -> SandboxResponse {
        let code =
            switch status {
            case 401: "InvalidAuthenticationToken"
            case 403: "accessDenied"
            case 404: "itemNotFound"
            case 409: "nameAlreadyExists"
            case 416: "invalidRange"
            case 423: "resourceLocked"
            case 429: "activityLimitReached"
            case 503: "serviceNotAvailable"
            case 507: "insufficientStorage"
            case 500...: "generalException"
            default: "invalidRequest"
            }
        return GraphError(status, reason ?? code, "Sandbox fault").response(at: Date())
    }

    /// Dropbox's own formats; `reason` is the tag, or several tags separated by slashes, or `text` for a 429 with plain
    /// text.
    private static func dropbox(_ status: Int, _ effect: FaultEffect) -> SandboxResponse {
        switch status {
        case 401: return DropboxError.unauthorized(effect.reason ?? "invalid_access_token").response
        case 409:
            let tags = (effect.reason ?? "too_many_write_operations").split(separator: "/")
            return DropboxError.route(tags.map { DropboxError.Tag(String($0)) }).response
        case 429 where effect.reason != "text":
            let seconds = effect.retryAfter.flatMap { Int($0) } ?? 1
            var response = DropboxError.tooMany(effect.reason ?? "too_many_requests", retryAfterSeconds: seconds)
                .response
            // The JSON contains the value; the header is not always present.
            response.headers.removeAll { $0.name == "Retry-After" }
            return response
        default: return DropboxError.text(status, "Sandbox fault")
        }
    }

    private static func facebook(_ status: Int, _ reason: String?) -> SandboxResponse {
        let code = reason.flatMap { Int($0) } ?? (status == 429 ? 4 : status >= 500 ? 2 : 190)
        return FacebookError(status: status, code: code, subcode: nil, message: "Sandbox fault").response
    }
}
