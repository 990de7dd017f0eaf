/// Routes a request for one of Dropbox's hosts.
struct DropboxRoutes {
    static let hosts: Set<String> = [
        "api.dropboxapi.com", "content.dropboxapi.com", "notify.dropboxapi.com", "api.dropbox.com", "www.dropbox.com",
        DropboxTemporaryLinks.downloadHost,
    ]
    private static let contentRoutes: Set<String> = [
        "files/upload", "files/upload_session/start", "files/upload_session/append_v2", "files/upload_session/finish",
        "files/download",
    ]

    let server: SandboxServer
    let effect: FaultEffect

    /// The route's name, such as `files/upload`.
    static func function(_ request: SandboxRequest) -> String {
        request.path.hasPrefix("/2/") ? String(request.path.dropFirst(3)) : request.path
    }

    /// Handles a request.
    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        do {
            switch (request.host, request.path) {
            case ("api.dropboxapi.com", "/oauth2/token"), ("api.dropbox.com", "/oauth2/token"):
                return try DropboxOAuth(server: server).token(request)
            case ("www.dropbox.com", "/oauth2/authorize"):
                return try DropboxAuthorization(server: server).respond(to: request)
            case (DropboxTemporaryLinks.downloadHost, _):
                return try DropboxTemporaryLinks(server: server).send(request)
            case (DropboxTemporaryLinks.uploadHost, let path) where path.hasPrefix(DropboxTemporaryLinks.uploadPath):
                return try DropboxTemporaryLinks(server: server).receive(request)
            case (_, let path) where path.hasPrefix("/2/"): return try call(Self.function(request), request)
            default:
                server.note(request, "unknown-route", "the sandbox's Dropbox has no \(request.path) at \(request.host)")
                return DropboxError.text(404, "Not Found")
            }
        } catch let error as DropboxError {
            return error.response
        }
    }

    private func call(_ function: String, _ request: SandboxRequest) throws -> SandboxResponse {
        let host = Self.contentRoutes.contains(function) ? "content.dropboxapi.com" : "api.dropboxapi.com"
        guard request.host == host else {
            server.note(request, "wrong-host", "\(function) is a route of \(host)")
            return DropboxError.text(404, "Not Found")
        }
        guard request.method == "POST" else {
            server.note(request, "method", "\(request.method) is not a method of \(function)")
            throw DropboxError.badRequest(
                "Error in call to API function \"\(function)\": Bad HTTP request method: \(request.method)")
        }
        switch function {
        case "users/get_current_account", "users/get_account", "users/get_space_usage", "check/user",
            "auth/token/revoke":
            return try DropboxUsers(server: server).respond(to: request, function)
        case "files/get_temporary_upload_link": return try DropboxTemporaryLinks(server: server).newUpload(request)
        case "files/get_temporary_link": return try DropboxTemporaryLinks(server: server).newDownload(request)
        case "files/download": return try DropboxDownloads(server: server).respond(to: request)
        case "files/upload": return try DropboxUploads(server: server, effect: effect).upload(request)
        case "files/upload_session/start": return try DropboxUploads(server: server, effect: effect).start(request)
        case "files/upload_session/append_v2":
            return try DropboxUploads(server: server, effect: effect).append(request)
        case "files/upload_session/finish": return try DropboxUploads(server: server, effect: effect).finish(request)
        case "files/upload_session/finish_batch_v2":
            return try DropboxUploads(server: server, effect: effect).finishBatch(request)
        default: return try DropboxFiles(server: server).respond(to: request, function)
        }
    }
}
