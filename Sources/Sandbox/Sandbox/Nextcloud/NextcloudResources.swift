internal import Expat
internal import FoundationEssentials

/// The person's files and folders at `/remote.php/dav/files/USER/…`.
struct NextcloudResources {
    private static let longestBody = 65_536

    let server: SandboxServer
    let caller: NextcloudCaller

    private var account: String { caller.account.id }

    func respond(to request: SandboxRequest, names: [String]) throws -> SandboxResponse {
        guard !names.contains(where: { $0 == "." || $0 == ".." || $0.contains("/") || $0.contains("\\") }) else {
            throw NextcloudError.badRequest("a name that no file can have")
        }
        let path = names.map { "/" + $0 }.joined()
        switch request.method {
        case "OPTIONS":
            return SandboxResponse(200, headers: [("DAV", "1, 3, extended-mkcol"), ("Allow", "OPTIONS, GET, PUT")])
        case "PROPFIND": return try propfind(request, path)
        case "GET", "HEAD": return try download(request, path)
        case "PUT": return try put(request, path)
        case "MKCOL":
            let isXML = request.header("content-type")?.contains("/xml") ?? false
            guard try isXML || request.body.readAll(limit: Self.longestBody).isEmpty else {
                throw NextcloudError.unsupportedMediaType
            }
            try server.makeNextcloudFolder(path, of: account)
            return SandboxResponse(201, headers: Self.headers(of: try existing(path)))
        case "DELETE":
            let tag = request.header("if-match").map { $0.filter { $0 != "\"" } }
            try server.removeNextcloudEntry(path, of: account, onlyIf: tag)
            return SandboxResponse(204)
        case "MOVE":
            let (entry, hasReplaced) = try server.move(
                path, to: request.destination(of: account), overwrites: request.header("overwrite") != "F", of: account)
            return SandboxResponse(hasReplaced ? 204 : 201, headers: Self.headers(of: entry))
        case "COPY":
            let (entry, hasReplaced) = try server.copy(
                path, to: request.destination(of: account), isShallow: request.header("depth") == "0",
                overwrites: request.header("overwrite") != "F", of: account)
            return SandboxResponse(hasReplaced ? 204 : 201, headers: Self.headers(of: entry))
        // Nextcloud has no locks, but pretends to grant them to clients that insist
        // (`apps/dav/lib/Connector/Sabre/FakeLockerPlugin.php`).
        case "LOCK" where request.insistsOnLocks: return NextcloudProperties.lock(of: request.path)
        case "UNLOCK" where request.insistsOnLocks: return SandboxResponse(204)
        case "PROPPATCH":
            // Clients set times; the sandbox keeps its own.
            return NextcloudProperties(nil, of: caller.account, usedBytes: 0).multistatus([try existing(path)])
        default: throw NextcloudError.notImplemented(request.method)
        }
    }

    private func existing(_ path: String) throws(NextcloudError) -> NextcloudEntry {
        guard let entry = server.withState({ $0.nextclouds[account]?[path] }) else { throw .notFound(path) }
        return entry
    }

    static func headers(of entry: NextcloudEntry) -> [(name: String, value: String)] {
        let tag = "\"\(entry.entityTag)\""
        return [("OC-FileId", NextcloudProperties.longID(entry)), ("OC-ETag", tag), ("ETag", tag)]
    }

    private func propfind(_ request: SandboxRequest, _ path: String) throws -> SandboxResponse {
        let entry = try existing(path)
        let body = try request.body.readAll(limit: Self.longestBody)
        var prop: XMLElement?
        if !body.isEmpty {
            guard let root = try? XMLElement(parsing: body), root.isNamed("propfind", in: NextcloudProperties.dav)
            else {
                server.note(request, "propfind", "the body is not a PROPFIND")
                throw NextcloudError.badRequest("The body is not a propfind")
            }
            prop = root.child("prop", in: NextcloudProperties.dav)
        }
        let depth = request.header("depth") ?? "infinity"
        if depth == "infinity" { server.note(request, "depth", "no client should send a PROPFIND of everything") }
        guard let files = server.withState({ $0.nextclouds[account] }) else { throw NextcloudError.notFound(path) }
        let inner = depth == "0" || !entry.isFolder ? [] : files.entries(below: path, isRecursive: false)
        return NextcloudProperties(prop, of: caller.account, usedBytes: files.usedBytes).multistatus([entry] + inner)
    }

    private func download(_ request: SandboxRequest, _ path: String) throws -> SandboxResponse {
        let entry = try existing(path)
        guard var size = entry.size else { throw NextcloudError.methodNotAllowed }
        if server.breaks.contains(.dropLastByte) { size = max(0, size - 1) }
        let file = server.directory.contentPath(account, entry.id)
        var headers: [(name: String, value: String)] = [
            ("Content-Type", MediaType.guess(entry.name)), ("Accept-Ranges", "bytes"),
            ("Last-Modified", HTTPDate.text(entry.modifiedAt)),
        ]
        headers += Self.headers(of: entry).dropFirst()
        if let checksum = entry.checksum { headers.append(("OC-Checksum", checksum)) }
        switch ByteRange(request.header("range"), length: size) {
        case .whole: return SandboxResponse(200, headers: headers, file: file, offset: 0, count: size)
        case .part(let first, let last):
            headers.append(("Content-Range", "bytes \(first)-\(last)/\(size)"))
            return SandboxResponse(206, headers: headers, file: file, offset: first, count: last - first + 1)
        case .unsatisfiable:
            return SandboxResponse(416, headers: [("Content-Range", "bytes */\(size)")])
        }
    }

    private func put(_ request: SandboxRequest, _ path: String) throws -> SandboxResponse {
        if request.header("content-range") != nil {
            server.note(request, "content-range", "servers do not agree on Content-Range in a PUT")
            throw NextcloudError.badRequest("Content-Range on PUT requests are forbidden.")
        }
        let room = server.withState { state in
            (state.accounts[account]?.quotaBytes ?? 0) - (state.nextclouds[account]?.usedBytes ?? 0)
        }
        guard request.body.declaredLength ?? 0 <= room else { throw NextcloudError.insufficientStorage }
        let condition = EntityCondition(request)
        try condition.check(server.withState { $0.nextclouds[account]?[path]?.entityTag })
        let modifiedAt = request.header("x-oc-mtime").flatMap { Double($0) }.map { Date(timeIntervalSince1970: $0) }
        let content = try server.directory.receive(request, .md5)
        do {
            let (entry, isNew) = try server.store(
                content, at: path, checksum: request.header("oc-checksum"), of: account, modifiedAt: modifiedAt,
                onlyIf: condition)
            var headers = Self.headers(of: entry)
            headers += server.hashHeaders(of: content, for: request)
            if modifiedAt != nil { headers.append(("X-OC-MTime", "accepted")) }
            return SandboxResponse(isNew ? 201 : 204, headers: headers)
        } catch {
            server.directory.remove(content.path)
            throw error
        }
    }
}

extension SandboxRequest {
    /// Whether the client is one that writes nothing without locks (`apps/dav/lib/Server.php`).
    fileprivate var insistsOnLocks: Bool {
        let agent = header("user-agent") ?? ""
        return agent.hasPrefix("Microsoft-WebDAV") || ["WebDAVFS", "OneNote"].contains(where: agent.contains)
    }
}

extension SandboxServer {
    /// The hash of the received bytes, if the client requests it with `X-Hash`.
    func hashHeaders(of content: UploadedContent, for request: SandboxRequest) -> [(name: String, value: String)] {
        guard ["md5", "all"].contains(request.header("x-hash")) else { return [] }
        return [("X-Hash-MD5", breaks.contains(.wrongMD5) ? String(content.checksum.reversed()) : content.checksum)]
    }
}
