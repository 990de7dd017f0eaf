/// A chunked upload in progress.
struct NextcloudUpload: Sendable {
    let account: String
    /// The path of the future file; `nil` for an upload of version 1, which names it only at its end, and whose chunks
    /// are ordered by name and have any size.
    let destination: String?
    /// Chunks by name.
    var chunks: [String: UploadedContent] = [:]
}

/// Chunked uploads, of version 2 and of version 1, which rclone uses, at `/remote.php/dav/uploads/USER/ID/…` (Developer
/// Manual, "Chunked file upload").
struct NextcloudUploads {
    private static let smallestChunk = 5_000_000
    private static let numbers = 1...10_000

    let server: SandboxServer
    let caller: NextcloudCaller

    func respond(to request: SandboxRequest, names: [String]) throws -> SandboxResponse {
        guard let id = names.first, names.count <= 2 else { throw NextcloudError.notFound(request.path) }
        let key = caller.account.id + "/" + id
        switch (request.method, names.count) {
        case ("MKCOL", 1): return try begin(request, key)
        case ("DELETE", 1):
            let upload = try known(key)
            end(key, upload)
            return SandboxResponse(204)
        case ("PUT", 2): return try put(request, names[1], key)
        case ("MOVE", 2) where names[1] == ".file": return try assemble(request, key)
        default: throw NextcloudError.methodNotAllowed
        }
    }

    private func known(_ key: String) throws(NextcloudError) -> NextcloudUpload {
        guard let upload = server.withState({ $0.nextcloudUploads[key] }) else { throw .notFound(key) }
        return upload
    }

    private func end(_ key: String, _ upload: NextcloudUpload) {
        server.withState { $0.nextcloudUploads[key] = nil }
        for chunk in upload.chunks.values { server.directory.remove(chunk.path) }
    }

    private func begin(_ request: SandboxRequest, _ key: String) throws -> SandboxResponse {
        let destination =
            request.header("destination") == nil ? nil : try request.destination(of: caller.account.id)
        let upload = NextcloudUpload(account: caller.account.id, destination: destination)
        try server.withState { state throws(NextcloudError) in
            guard state.nextcloudUploads[key] == nil else { throw .methodNotAllowed }
            state.nextcloudUploads[key] = upload
        }
        return SandboxResponse(201)
    }

    private func put(_ request: SandboxRequest, _ name: String, _ key: String) throws -> SandboxResponse {
        let upload = try known(key)
        try check(request, upload)
        guard upload.destination == nil || Int(name).map(Self.numbers.contains) == true else {
            server.note(request, "chunk-name", "chunks must be named by numbers from 1 to 10000")
            throw NextcloudError.badRequest("Invalid chunk name, must be numeric between 1 and 10000")
        }
        let total = request.header("oc-total-length").flatMap { Int($0) } ?? 0
        let room = server.withState { state in
            (state.accounts[upload.account]?.quotaBytes ?? 0) - (state.nextclouds[upload.account]?.usedBytes ?? 0)
        }
        guard total <= room else { throw NextcloudError.insufficientStorage }
        let content = try server.directory.receive(request, .md5)
        let replaced = server.withState { state in
            state.nextcloudUploads[key]?.chunks.updateValue(content, forKey: name)
        }
        if let replaced { server.directory.remove(replaced.path) }
        return SandboxResponse(201, headers: server.hashHeaders(of: content, for: request))
    }

    /// Concatenates the chunks in the order of their numbers, or names.
    private func assemble(_ request: SandboxRequest, _ key: String) throws -> SandboxResponse {
        let upload = try known(key)
        try check(request, upload)
        let isNumbered = upload.destination != nil
        let target = try request.destination(of: upload.account)
        let chunks = upload.chunks.sorted { left, right in
            isNumbered ? (Int(left.key) ?? 0) < (Int(right.key) ?? 0) : left.key < right.key
        }.map(\.value)
        if isNumbered, chunks.dropLast().contains(where: { $0.size < Self.smallestChunk }) {
            server.note(request, "chunk-size", "chunks must have at least 5 MB, except the last")
            if !server.breaks.contains(.acceptAnyChunk) { throw NextcloudError.badRequest("a chunk is too small") }
        }
        let size = chunks.reduce(0) { $0 + $1.size }
        if let total = request.header("oc-total-length"), Int(total) != size {
            throw NextcloudError.badRequest("Chunks on server do not sum up to \(total) but to \(size) bytes")
        }
        let content = try server.directory.store(.md5) { writer in
            for chunk in chunks { try writer.append(chunk) }
        }
        let (entry, isNew): (NextcloudEntry, Bool)
        do {
            (entry, isNew) = try server.store(
                content, at: target, checksum: request.header("oc-checksum"), of: upload.account)
        } catch {
            server.directory.remove(content.path)
            throw error
        }
        end(key, upload)
        return SandboxResponse(isNew ? 201 : 204, headers: NextcloudResources.headers(of: entry))
    }

    /// Every request of version 2 contains the destination.
    private func check(_ request: SandboxRequest, _ upload: NextcloudUpload) throws {
        guard try upload.destination == nil || request.destination(of: upload.account) == upload.destination else {
            server.note(request, "chunk-destination", "the destination differs from the one at the start of the upload")
            throw NextcloudError.badRequest("another destination")
        }
    }
}
