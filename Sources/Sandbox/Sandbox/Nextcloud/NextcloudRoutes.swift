/// A Nextcloud: its files over WebDAV, and the requests that clients send first (Nextcloud, Developer Manual, "Client
/// APIs").
struct NextcloudRoutes {
    static let host = "nextcloud.sandbox.test"
    static let version = "30.0.4"

    let server: SandboxServer
    let effect: FaultEffect

    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        do {
            return try route(request)
        } catch let error as NextcloudError {
            return error.response
        }
    }

    private func route(_ request: SandboxRequest) throws -> SandboxResponse {
        let path = request.segments
        switch (path.first, path.dropFirst().first) {
        case ("status.php", nil): return status
        case ("ocs", _):
            return try NextcloudServices(server: server).respond(to: request, path: Array(path.dropFirst()))
        case ("index.php", "login"), ("login", "v2"):
            return try NextcloudLogin(server: server).respond(
                to: request, path: Array(path.drop { $0 == "index.php" }.dropFirst()))
        case ("index.php", "apps") where path.dropFirst(2) == ["oauth2", "authorize"]:
            return try NextcloudAuthorization(server: server).respond(to: request)
        case ("index.php", "apps") where path.dropFirst(2) == ["oauth2", "api", "v1", "token"]:
            return try NextcloudOAuth(server: server).token(request)
        case ("remote.php", "dav"): break
        default: throw NextcloudError.notFound(request.path)
        }
        let caller =
            try path.dropFirst(2).first == "files"
            ? NextcloudCaller(request, reading: path.dropFirst(3).first, server: server)
            : NextcloudCaller(request, server: server)
        switch (path.dropFirst(2).first, path.dropFirst(3).first) {
        case (nil, _): return try NextcloudSearch(server: server, caller: caller).respond(to: request)
        case ("files", let user?) where user == caller.account.id:
            return try NextcloudResources(server: server, caller: caller).respond(
                to: request, names: Array(path.dropFirst(4)))
        case ("uploads", let user?) where user == caller.account.id:
            return try NextcloudUploads(server: server, caller: caller).respond(
                to: request, names: Array(path.dropFirst(4)))
        // Another user's home is shown as an empty folder (Nextcloud 32.0.1).
        case ("files", let user?) where request.method == "PROPFIND" && path.count == 4:
            guard
                let (other, home) = server.withState({ state in
                    state.accounts[user].flatMap { other in state.nextclouds[user]?[""].map { (other, $0) } }
                })
            else { throw NextcloudError.notFound(request.path) }
            return NextcloudProperties(nil, of: other, usedBytes: 0).multistatus([home])
        // Everything else of another user does not exist.
        default: throw NextcloudError.notFound(request.path)
        }
    }

    private var status: SandboxResponse {
        SandboxResponse(
            200,
            json: [
                "installed": true, "maintenance": false, "needsDbUpgrade": false,
                "version": .string(Self.version + ".1"),
                "versionstring": .string(Self.version), "edition": "", "productname": "Nextcloud",
                "extendedSupport": false,
            ])
    }
}

extension SandboxRequest {
    /// The path in the person's files that the header `Destination` names, as a whole URL or a path.
    func destination(of account: String) throws(NextcloudError) -> String {
        guard let text = header("destination") else { throw .badRequest("The destination header was not supplied") }
        var path = text[...]
        if let separator = text.firstRange(of: "://") {
            path = text[separator.upperBound...].drop { $0 != "/" }
        }
        let segments = path.split(separator: "/").map { PercentEncoding.decode($0, plusIsBlank: false) ?? "" }
        guard segments.starts(with: ["remote.php", "dav", "files", account]), !segments.contains("") else {
            throw .badRequest("the destination is not among the person's files")
        }
        return segments.dropFirst(4).map { "/" + $0 }.joined()
    }
}
