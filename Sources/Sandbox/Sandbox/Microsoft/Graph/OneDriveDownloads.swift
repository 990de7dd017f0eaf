internal import FoundationEssentials

/// Temporary addresses from which an item's bytes can be downloaded without a token.
struct OneDriveDownloads {
    /// Lifetime of an address, in seconds: about an hour.
    static let lifeSeconds = 3_600.0
    private static let mostAddresses = 20_000
    let server: SandboxServer

    /// The download that an address authorizes.
    struct Grant: Sendable {
        let account: String
        let item: String
        let expiresAt: Date
    }

    /// A new address for an item.
    func newAddress(of item: String, account: String) -> String {
        let key = RandomText.token(60)
        let time = server.now
        server.withState { state in
            if state.oneDriveDownloads.count >= Self.mostAddresses {
                state.oneDriveDownloads = state.oneDriveDownloads.filter { $0.value.expiresAt > time }
                if state.oneDriveDownloads.count >= Self.mostAddresses { state.oneDriveDownloads.removeAll() }
            }
            state.oneDriveDownloads[key] = Grant(
                account: account, item: item, expiresAt: time.addingTimeInterval(Self.lifeSeconds))
        }
        return "https://\(OneDriveContentHost.name)/personal/\(item.prefix { $0 != "!" })/_layouts/15/download.aspx"
            + "?UniqueId=\(PercentEncoding.encode(item))&Translate=false&tempauth=\(key)"
    }

    /// Handles a request for bytes.
    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        guard request.method == "GET" || request.method == "HEAD" else {
            throw GraphError(405, "methodNotAllowed", "Only GET is for a download's address.")
        }
        let time = server.now
        let grant = request.query["tempauth"].flatMap { key in server.withState { $0.oneDriveDownloads[key] } }
        guard let grant, grant.expiresAt > time else {
            throw GraphError(401, "unauthenticated", "The link has expired.")
        }
        guard let item = try server.oneDrive(of: grant.account)[grant.item], !item.isFolder else {
            throw GraphError.notFound
        }
        let size = server.breaks.contains(.dropLastByte) ? max(0, item.size - 1) : item.size
        let path = server.directory.contentPath(grant.account, item.id)
        var headers: [(name: String, value: String)] = [
            ("Content-Type", item.mimeType), ("Accept-Ranges", "bytes"), ("ETag", item.eTag),
            ("Cache-Control", "private"),
        ]
        switch ByteRange(request.header("range"), length: size) {
        case .whole: return SandboxResponse(200, headers: headers, file: path, offset: 0, count: size)
        case .part(let first, let last):
            headers.append(("Content-Range", "bytes \(first)-\(last)/\(size)"))
            return SandboxResponse(206, headers: headers, file: path, offset: first, count: last - first + 1)
        case .unsatisfiable:
            var response = GraphError(416, "invalidRange", "Range not satisfiable").response(at: time)
            response.headers.append(("Content-Range", "bytes */\(size)"))
            return response
        }
    }
}

/// The host for uploading and downloading bytes. A client that sends it a token discloses a secret to the wrong host.
struct OneDriveContentHost {
    static let name = "my.microsoftpersonalcontent.com"
    let server: SandboxServer
    let effect: FaultEffect

    /// Handles a request.
    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        do {
            guard request.header("authorization") == nil else {
                server.note(request, "authorization", "a token was sent to an address that is itself the authorization")
                throw GraphError(401, "unauthenticated", "The caller is not authenticated.")
            }
            if request.path.hasSuffix("/download.aspx") {
                return try OneDriveDownloads(server: server).respond(to: request)
            }
            if request.path.hasSuffix("/uploadSession") {
                return try OneDriveSessions(server: server, effect: effect).respond(to: request)
            }
            server.note(request, "unknown-route", "the sandbox has no \(request.path) at \(request.host)")
            throw GraphError.notFound
        } catch let error as GraphError {
            return error.response(at: server.now)
        }
    }
}
