/// The actions of a person with the files in their Nextcloud, outside the app.
struct NextcloudFileControl {
    let server: SandboxServer
    let account: Account

    /// Handles a request. `path` follows `/files` and is a path from the person's root, or the name of a file if it is
    /// unique; `?folder=` precedes it. `POST` with `{"path"}` renames or moves.
    func respond(to request: SandboxRequest, path: [String]) throws -> SandboxResponse {
        switch request.method {
        case "GET" where path.isEmpty:
            return SandboxResponse(200, json: .array(Self.files(of: account, server).map(Self.json)))
        case "GET":
            let entry = try existing(request, path)
            return SandboxResponse(
                200,
                headers: [
                    ("Content-Type", MediaType.guess(entry.name)), ("X-Content-Type-Options", "nosniff"),
                    ("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'"),
                ],
                file: server.directory.contentPath(account.id, entry.object), offset: 0, count: entry.size ?? 0)
        case "PUT" where !path.isEmpty: return try put(request, path)
        case "POST" where !path.isEmpty:
            guard let target = try ControlInterface.json(request)["path"]?.string else {
                throw ControlError.badRequest("path must be the file's path from the person's root")
            }
            do {
                let entry = try existing(request, path)
                let moved = try server.move(entry.path, to: "/" + target, overwrites: false, of: account.id).entry
                return SandboxResponse(200, json: Self.json(moved))
            } catch let error as NextcloudError {
                throw ControlError.badRequest("\(error)")
            }
        case "DELETE" where !path.isEmpty:
            try server.removeNextcloudEntry(try existing(request, path).path, of: account.id)
            return SandboxResponse(204)
        default: throw ControlError.methodNotAllowed
        }
    }

    /// All files except folders, in order of creation.
    static func files(of account: Account, _ server: SandboxServer) -> [NextcloudEntry] {
        server.withState { $0.nextclouds[account.id]?.entries.values.filter { !$0.isFolder } ?? [] }
            .sorted { $0.fileID < $1.fileID }
    }

    private func full(_ request: SandboxRequest, _ path: [String]) -> String {
        let folder = request.query["folder"].map { $0.isEmpty ? "" : "/" + $0 } ?? ""
        return folder + "/" + path.joined(separator: "/")
    }

    private func find(_ request: SandboxRequest, _ path: [String]) -> NextcloudEntry? {
        let full = full(request, path)
        if let entry = server.withState({ $0.nextclouds[account.id]?[full] }), !entry.isFolder { return entry }
        guard request.query["folder"] == nil, path.count == 1 else { return nil }
        return Self.files(of: account, server).last { $0.name == path[0] }
    }

    private func existing(_ request: SandboxRequest, _ path: [String]) throws(ControlError) -> NextcloudEntry {
        guard let entry = find(request, path) else {
            throw .notFound("file \(path.joined(separator: "/")) does not exist")
        }
        return entry
    }

    /// Replaces the contents of a file, or creates one; in the app's folder unless the request names another.
    private func put(_ request: SandboxRequest, _ path: [String]) throws -> SandboxResponse {
        let content = try server.directory.receive(request, .md5)
        let target = find(request, path)?.path ?? full(request, path)
        do {
            var folder = ""
            for name in target.split(separator: "/").dropLast() {
                folder += "/" + name
                if server.withState({ $0.nextclouds[account.id]?[folder] }) == nil {
                    try server.makeNextcloudFolder(folder, of: account.id)
                }
            }
            let (entry, isNew) = try server.store(content, at: target, checksum: nil, of: account.id)
            return SandboxResponse(isNew ? 201 : 200, json: Self.json(entry))
        } catch let error as NextcloudError {
            server.directory.remove(content.path)
            throw ControlError.badRequest("\(error)")
        }
    }

    /// One file as JSON.
    static func json(_ entry: NextcloudEntry) -> JSONValue {
        [
            "name": .string(entry.name), "folder": .string(String(entry.folder.dropFirst())),
            "size": .int(entry.size ?? 0), "checkSum": .string(entry.checksum ?? ""),
            "modified": entry.modifiedAt.json, "id": .string(entry.object),
            "mimeType": .string(MediaType.guess(entry.name)), "trashed": false,
        ]
    }
}
