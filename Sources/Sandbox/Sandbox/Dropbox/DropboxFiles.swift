import FoundationEssentials

/// Dropbox's file routes without content.
struct DropboxFiles {
    let server: SandboxServer

    func respond(to request: SandboxRequest, _ function: String) throws -> SandboxResponse {
        switch function {
        case "files/get_metadata": return try metadata(request)
        case "files/list_folder": return try list(request)
        case "files/list_folder/continue": return try listMore(request)
        case "files/create_folder_v2": return try createFolder(request)
        case "files/move_v2": return try move(request)
        case "files/delete_v2": return try delete(request)
        case "files/delete_batch": return try deleteBatch(request)
        case "files/delete_batch/check": return try checkBatch(request)
        default:
            server.note(request, "unknown-route", "the sandbox's Dropbox has no \(function)")
            throw DropboxError.badRequest("Unknown API function: \"\(function)\"")
        }
    }

    /// The entry that `path` names. A path may be missing for a while after it was written; an ID is found at once.
    static func entry(
        _ path: String, of account: String, _ server: SandboxServer, wrapper: DropboxError.Tag
    ) throws(DropboxError) -> DropboxEntry {
        guard path.hasPrefix("/") || path.hasPrefix("id:") || path.hasPrefix("rev:") || path.hasPrefix("ns:") else {
            throw .route([wrapper, "malformed_path"])
        }
        guard let entry = server.withState({ $0.dropboxes[account]?[path] }),
            path.hasPrefix("id:") || isKnown(entry, to: server)
        else { throw .notFound(wrapper) }
        return entry
    }

    /// Whether enough time has passed for an entry to appear in searches.
    private static func isKnown(_ entry: DropboxEntry, to server: SandboxServer) -> Bool {
        let lag = Double(server.withState { $0.settings.searchLagMilliseconds }) / 1_000
        return lag == 0 || entry.serverModifiedAt <= server.now.addingTimeInterval(-lag)
    }

    /// An entry as the sandbox reports it, deliberately wrong if so configured.
    static func shown(_ entry: DropboxEntry, by server: SandboxServer) -> DropboxEntry {
        guard server.breaks.contains(.wrongContentHash), entry.contentHash != nil else { return entry }
        var entry = entry
        entry.contentHash = String(repeating: "0", count: 64)
        return entry
    }

    // MARK: Reading

    private func metadata(_ request: SandboxRequest) throws -> SandboxResponse {
        let caller = try DropboxCaller(request, scope: "files.metadata.read", server: server)
        let argument = try DropboxArgument(
            request, .rpc,
            members: [
                "path", "include_media_info", "include_deleted", "include_has_explicit_shared_members",
                "include_property_groups", "include_restorable_info",
            ], server: server)
        let path = try argument.text("path")
        guard path != "", path != "/" else {
            server.note(request, "root-metadata", "metadata for the root folder is unsupported")
            throw DropboxError.badRequest(
                "Error in call to API function \"files/get_metadata\": request body: path: The root folder is unsupported."
            )
        }
        let entry = try Self.entry(path, of: caller.account.id, server, wrapper: "path")
        return .dropbox(.object(Self.shown(entry, by: server).metadata()))
    }

    private func list(_ request: SandboxRequest) throws -> SandboxResponse {
        let caller = try DropboxCaller(request, scope: "files.metadata.read", server: server)
        let argument = try DropboxArgument(
            request, .rpc,
            members: [
                "path", "recursive", "include_media_info", "include_deleted", "include_has_explicit_shared_members",
                "include_mounted_folders", "limit", "shared_link", "include_property_groups",
                "include_non_downloadable_files", "include_restorable_info",
            ], server: server)
        var path = try argument.text("path")
        if path == "/" {
            server.note(request, "root-path", "the root folder is the empty path")
            throw DropboxArgument.failure("files/list_folder", "path: Specify the root folder as an empty string")
        }
        if !path.isEmpty {
            let entry = try Self.entry(path, of: caller.account.id, server, wrapper: "path")
            guard entry.isFolder else { throw DropboxError.path(["not_folder"]) }
            path = entry.address
        }
        let limit = argument["limit"]?.int ?? 500
        guard (1...2_000).contains(limit) else {
            throw DropboxArgument.failure("files/list_folder", "limit: must be 1 to 2000")
        }
        return try page(
            DropboxCursor(path: path, isRecursive: argument.bool("recursive"), limit: limit, offset: 0), caller)
    }

    private func listMore(_ request: SandboxRequest) throws -> SandboxResponse {
        let caller = try DropboxCaller(request, scope: "files.metadata.read", server: server)
        let argument = try DropboxArgument(request, .rpc, members: ["cursor"], server: server)
        guard let cursor = DropboxCursor(try argument.text("cursor")) else { throw DropboxError.route(["reset"]) }
        return try page(cursor, caller)
    }

    private func page(_ cursor: DropboxCursor, _ caller: DropboxCaller) throws -> SandboxResponse {
        let all = server.withState {
            $0.dropboxes[caller.account.id]?.entries(below: cursor.path, isRecursive: cursor.isRecursive) ?? []
        }.filter { Self.isKnown($0, to: server) }
        let page = all.dropFirst(cursor.offset).prefix(cursor.limit)
        var next = cursor
        next.offset += page.count
        return .dropbox([
            "entries": .array(page.map { .object(Self.shown($0, by: server).metadata()) }),
            "cursor": .string(try next.text), "has_more": .bool(next.offset < all.count),
        ])
    }

    // MARK: Changes

    private func createFolder(_ request: SandboxRequest) throws -> SandboxResponse {
        let account = try DropboxCaller(request, scope: "files.content.write", server: server).account.id
        let argument = try DropboxArgument(request, .rpc, members: ["path", "autorename"], server: server)
        let path = try argument.text("path")
        if let reason = SandboxServer.objection(to: path) { throw DropboxError.path([reason]) }
        let time = server.now
        let entry = try server.withDropboxLock(account, orThrow: .path(["too_many_write_operations"])) {
            try server.withState { state in
                if let existing = state.dropboxes[account]?[path] {
                    throw DropboxError.path(["conflict", existing.isFolder ? "folder" : "file"])
                }
                try server.makeFolders(
                    above: path, in: account, &state, .path(["conflict", "file_ancestor"]), at: time)
                return try server.keep(DropboxEntry(path: path, at: time), in: account, &state)
            }
        }
        return .dropbox(["metadata": .object(entry.metadata(isTagged: false))])
    }

    private func move(_ request: SandboxRequest) throws -> SandboxResponse {
        let account = try DropboxCaller(request, scope: "files.content.write", server: server).account.id
        let argument = try DropboxArgument(
            request, .rpc,
            members: ["from_path", "to_path", "autorename", "allow_shared_folder", "allow_ownership_transfer"],
            server: server)
        let target = try argument.text("to_path")
        let entry = try Self.entry(try argument.text("from_path"), of: account, server, wrapper: "from_lookup")
        if let reason = SandboxServer.objection(to: target) { throw DropboxError.route(["to", reason]) }
        let time = server.now
        let moved = try server.withDropboxLock(account, orThrow: .route(["too_many_write_operations"])) {
            try server.withState { state in
                if let existing = state.dropboxes[account]?[target], existing.id != entry.id {
                    throw DropboxError.route(["to", "conflict", existing.isFolder ? "folder" : "file"])
                }
                let below = state.dropboxes[account]?.entries(below: entry.address, isRecursive: true) ?? []
                try server.makeFolders(
                    above: target, in: account, &state, .route(["to", "conflict", "file_ancestor"]), at: time)
                for var inner in below where entry.isFolder {
                    inner.path = target + inner.path.dropFirst(entry.path.count)
                    _ = try server.keep(inner, in: account, &state)
                }
                var entry = entry
                entry.path = target
                return try server.keep(entry, in: account, &state)
            }
        }
        return .dropbox(["metadata": .object(moved.metadata())])
    }

    private func delete(_ request: SandboxRequest) throws -> SandboxResponse {
        let account = try DropboxCaller(request, scope: "files.content.write", server: server).account.id
        let argument = try DropboxArgument(request, .rpc, members: ["path", "parent_rev"], server: server)
        let path = try argument.text("path")
        let entry = try server.withDropboxLock(account, orThrow: .route(["too_many_write_operations"])) {
            let entry = try Self.entry(path, of: account, server, wrapper: "path_lookup")
            if let revision = argument["parent_rev"]?.string, revision != entry.revision {
                throw DropboxError.route(["path_write", "conflict", "file"])
            }
            server.removeDropboxEntry(entry.id, of: account)
            return entry
        }
        return .dropbox(["metadata": .object(entry.metadata())])
    }

    private func deleteBatch(_ request: SandboxRequest) throws -> SandboxResponse {
        let account = try DropboxCaller(request, scope: "files.content.write", server: server).account.id
        let argument = try DropboxArgument(request, .rpc, members: ["entries"], server: server)
        guard let entries = argument["entries"]?.array, entries.count <= 1_000 else {
            throw DropboxArgument.failure("files/delete_batch", "entries: at most 1000 items")
        }
        let results = try entries.map { item -> JSONValue in
            do {
                let entry = try Self.entry(item["path"]?.string ?? "", of: account, server, wrapper: "path_lookup")
                server.removeDropboxEntry(entry.id, of: account)
                return [".tag": "success", "metadata": .object(entry.metadata())]
            } catch let error as DropboxError {
                guard let union = error.union else { throw error }
                return [".tag": "failure", "failure": union]
            }
        }
        let job = "dbjid:" + RandomText.token(40)
        server.withState { $0.dropboxJobs[job] = DropboxJob(account: account, entries: results) }
        return .dropbox([".tag": "async_job_id", "async_job_id": .string(job)])
    }

    private func checkBatch(_ request: SandboxRequest) throws -> SandboxResponse {
        let account = try DropboxCaller(request, scope: "files.content.write", server: server).account.id
        let argument = try DropboxArgument(request, .rpc, members: ["async_job_id"], server: server)
        let id = try argument.text("async_job_id")
        let job = server.withState { state -> DropboxJob? in
            state.dropboxJobs[id]?.pollsLeft -= 1
            return state.dropboxJobs[id]
        }
        guard let job, job.account == account else { throw DropboxError.route(["invalid_async_job_id"]) }
        if job.pollsLeft > 0 { return .dropbox([".tag": "in_progress"]) }
        return .dropbox([".tag": "complete", "entries": .array(job.entries)])
    }
}

/// A batch of deletions that have been carried out but are reported only after several polls.
struct DropboxJob: Sendable {
    let account: String
    let entries: [JSONValue]
    var pollsLeft = Int.random(in: 1...3)
}

/// The position at which the listing of a folder continues.
struct DropboxCursor: Codable {
    /// The folder's path in lower case.
    let path: String
    let isRecursive: Bool
    let limit: Int
    var offset: Int
}

extension DropboxCursor {
    /// The cursor as text; opaque to clients.
    var text: String { get throws { Data(try EntryJSON.bytes(of: self)).base64EncodedString() } }

    init?(_ text: String) {
        guard let data = Data(base64Encoded: text),
            let cursor = try? EntryJSON.entry(DropboxCursor.self, from: [UInt8](data))
        else { return nil }
        self = cursor
    }
}

/// `files/download`.
struct DropboxDownloads {
    let server: SandboxServer

    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        let caller = try DropboxCaller(request, scope: "files.content.read", server: server)
        let argument = try DropboxArgument(request, .download, members: ["path", "rev"], server: server)
        let entry = try DropboxFiles.entry(argument.text("path"), of: caller.account.id, server, wrapper: "path")
        guard let size = entry.size else { throw DropboxError.path(["not_file"]) }
        let metadata = DropboxFiles.shown(entry, by: server).metadata(isTagged: false)
        var response = bytes(of: entry, size: size, in: caller.account.id, to: request)
        if response.status != 416 { response.headers.append(("Dropbox-API-Result", Self.ascii(.object(metadata)))) }
        return response
    }

    /// A file's bytes, or the requested range of them.
    func bytes(
        of entry: DropboxEntry, size: Int, in account: String, to request: SandboxRequest
    ) -> SandboxResponse {
        let size = server.breaks.contains(.dropLastByte) ? max(0, size - 1) : size
        let path = server.directory.contentPath(account, entry.id)
        var headers: [(name: String, value: String)] = [
            ("Content-Type", "application/octet-stream"), ("Accept-Ranges", "bytes"),
            ("ETag", "W/\"\(entry.revision)\""),
        ]
        headers += SandboxResponse.dropboxHeaders
        switch ByteRange(request.header("range"), length: size) {
        case .whole: return SandboxResponse(200, headers: headers, file: path, offset: 0, count: size)
        case .part(let first, let last):
            headers.append(("Content-Range", "bytes \(first)-\(last)/\(size)"))
            return SandboxResponse(206, headers: headers, file: path, offset: first, count: last - first + 1)
        case .unsatisfiable:
            var response = DropboxError.text(416, "Requested Range Not Satisfiable")
            response.headers.append(("Content-Range", "bytes */\(size)"))
            return response
        }
    }

    /// JSON for a header: everything except printable ASCII is escaped.
    static func ascii(_ json: JSONValue) -> String {
        var text = ""
        for unit in json.text().utf16 {
            if (0x20..<0x7F).contains(unit) {
                text.unicodeScalars.append(Unicode.Scalar(UInt8(unit)))
            } else {
                let digits = String(unit, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return text
    }
}
