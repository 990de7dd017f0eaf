/// Routes a request for one of Google's hosts.
struct GoogleRoutes {
    let server: SandboxServer
    let effect: FaultEffect

    /// Handles a request.
    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        let oauth = GoogleOAuth(server: server)
        switch (request.host, request.path) {
        case ("accounts.google.com", "/o/oauth2/v2/auth"), ("accounts.google.com", "/o/oauth2/auth"):
            return try GoogleAuthorization(server: server).respond(to: request)
        case ("oauth2.googleapis.com", "/token"), ("www.googleapis.com", "/oauth2/v4/token"),
            ("accounts.google.com", "/o/oauth2/token"):
            return try oauth.token(request)
        case ("oauth2.googleapis.com", "/revoke"), ("accounts.google.com", "/o/oauth2/revoke"):
            return try oauth.revoke(request)
        case ("oauth2.googleapis.com", "/tokeninfo"), ("www.googleapis.com", "/oauth2/v3/tokeninfo"):
            return oauth.tokenInfo(request)
        case ("www.googleapis.com", "/oauth2/v3/userinfo"), ("openidconnect.googleapis.com", "/v1/userinfo"),
            ("www.googleapis.com", "/oauth2/v2/userinfo"), ("www.googleapis.com", "/oauth2/v1/userinfo"):
            return oauth.userInfo(request)
        default: break
        }
        if request.host == "www.googleapis.com",
            request.path.hasPrefix("/drive/v3/") || request.path.contains("upload/drive/v3/files")
        {
            return try DriveRoutes(server: server, effect: effect).respond(to: request)
        }
        server.note(request, "unknown-route", "the sandbox's Google has no \(request.path) at \(request.host)")
        return DriveError(404, "notFound", "Not Found").response(server)
    }
}
