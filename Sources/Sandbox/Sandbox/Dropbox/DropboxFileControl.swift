/// The actions of a Dropbox user with the files in the app's folder, outside the app.
struct DropboxFileControl {
    let server: SandboxServer
    let account: Account

    /// Handles a request; `path` follows `/files`. A name may contain slashes; `?folder=` precedes it.
    func respond(to request: SandboxRequest, path: [String]) throws -> SandboxResponse {
        let folder = request.query["folder"].map { $0.isEmpty ? "" : "/" + $0 } ?? ""
        let full = folder + "/" + path.joined(separator: "/")
        switch request.method {
        case "GET" where path.isEmpty:
            return SandboxResponse(200, json: .array(Self.files(of: account, server).map(Self.json)))
        case "GET": return content(of: try existing(full))
        case "PUT" where !path.isEmpty: return try put(full, request)
        case "DELETE" where !path.isEmpty:
            let entry = try existing(full)
            server.removeDropboxEntry(entry.id, of: account.id)
            return SandboxResponse(204)
        default: throw ControlError.methodNotAllowed
        }
    }

    /// All files except folders, in order of creation.
    static func files(of account: Account, _ server: SandboxServer) -> [DropboxEntry] {
        server.withState { $0.dropboxes[account.id]?.entries.values.filter { !$0.isFolder } ?? [] }
            .sorted { $0.sequence < $1.sequence }
    }

    private func existing(_ path: String) throws(ControlError) -> DropboxEntry {
        guard let entry = server.withState({ $0.dropboxes[account.id]?[path] }), !entry.isFolder else {
            throw .notFound("file \(path) does not exist")
        }
        return entry
    }

    /// The bytes of a file, with headers that prevent a browser from executing them.
    private func content(of entry: DropboxEntry) -> SandboxResponse {
        SandboxResponse(
            200,
            headers: [
                ("Content-Type", MediaType.guess(entry.name)), ("X-Content-Type-Options", "nosniff"),
                ("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'"),
            ],
            file: server.directory.contentPath(account.id, entry.id), offset: 0, count: entry.size ?? 0)
    }

    /// Replaces the content of a file, or creates one.
    private func put(_ path: String, _ request: SandboxRequest) throws -> SandboxResponse {
        let content = try server.directory.receive(request, .dropbox)
        let isNew = server.withState { $0.dropboxes[account.id]?[path] } == nil
        do {
            let entry = try server.commit(
                DropboxCommit(path: path, mode: .overwrite), content, to: account.id, inUpload: false)
            return SandboxResponse(isNew ? 201 : 200, json: Self.json(entry))
        } catch let error as DropboxError {
            server.directory.remove(content.path)
            throw ControlError.badRequest("\(error)")
        }
    }

    /// One file as JSON.
    static func json(_ entry: DropboxEntry) -> JSONValue {
        [
            "name": .string(entry.name), "folder": .string(String(entry.folder.dropFirst())),
            "size": .int(entry.size ?? 0), "checkSum": .string(entry.contentHash ?? ""),
            "modified": entry.serverModifiedAt.json, "id": .string(entry.id),
            "mimeType": .string(MediaType.guess(entry.name)), "trashed": false,
        ]
    }
}
