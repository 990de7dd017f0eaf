internal import FoundationEssentials

/// Addresses that are themselves the authorization to upload or download one file (`files/get_temporary_upload_link`,
/// `files/get_temporary_link`).
///
/// They do not survive a restart of the sandbox.
struct DropboxTemporaryLinks {
    /// Lifetime of an address in seconds, and the range that a caller may request for an upload.
    static let lifeSeconds = 14_400.0
    static let shortestLifeSeconds = 60.0
    /// The beginning of the paths of upload addresses, at ``uploadHost``.
    static let uploadPath = "/apitul/1/"
    static let uploadHost = "content.dropboxapi.com"
    static let downloadHost = "ucsandbox.dl.dropboxusercontent.com"
    private static let downloadPath = "/cd/0/get/"
    private static let mostLinks = 20_000

    /// The upload that an address authorizes.
    struct Upload: Sendable {
        let account: String
        let commit: DropboxCommit
        let expiresAt: Date
        /// Whether a request has used the address, or is about to.
        var isUsed = false
    }

    struct Download: Sendable {
        let account: String
        let entry: String
        let expiresAt: Date
    }

    let server: SandboxServer

    // MARK: Routes of the API

    /// `files/get_temporary_upload_link`: the destination of the file is checked only when its bytes arrive.
    func newUpload(_ request: SandboxRequest) throws -> SandboxResponse {
        let account = try DropboxCaller(request, scope: "files.content.write", server: server).account.id
        let members = Set(DropboxUploads.commitMembers.map { "commit_info/" + $0 }).union(["commit_info", "duration"])
        let argument = try DropboxArgument(request, .rpc, members: members, server: server)
        let commit = try DropboxCommit(argument["commit_info"] ?? [:])
        let duration = argument["duration"]?.double ?? Self.lifeSeconds
        guard (Self.shortestLifeSeconds...Self.lifeSeconds).contains(duration) else {
            server.note(request, "link-duration", "a temporary upload link is valid for 60 to 14400 seconds")
            throw DropboxArgument.failure(
                "files/get_temporary_upload_link", "request body: duration: \(duration) is out of range")
        }
        let key = RandomText.token(40)
        let upload = Upload(
            account: account, commit: commit, expiresAt: server.now.addingTimeInterval(duration))
        server.withState { state in
            if state.dropboxUploadLinks.count >= Self.mostLinks { state.dropboxUploadLinks.removeAll() }
            state.dropboxUploadLinks[key] = upload
        }
        return .dropbox(["link": .string("https://\(Self.uploadHost)\(Self.uploadPath)\(key)")])
    }

    /// `files/get_temporary_link`.
    func newDownload(_ request: SandboxRequest) throws -> SandboxResponse {
        let account = try DropboxCaller(request, scope: "files.content.read", server: server).account.id
        let argument = try DropboxArgument(request, .rpc, members: ["path"], server: server)
        let entry = try DropboxFiles.entry(argument.text("path"), of: account, server, wrapper: "path")
        guard entry.size != nil else { throw DropboxError.path(["not_file"]) }
        let key = RandomText.token(60)
        let download = Download(
            account: account, entry: entry.id, expiresAt: server.now.addingTimeInterval(Self.lifeSeconds))
        server.withState { state in
            if state.dropboxDownloadLinks.count >= Self.mostLinks { state.dropboxDownloadLinks.removeAll() }
            state.dropboxDownloadLinks[key] = download
        }
        return .dropbox([
            "metadata": .object(DropboxFiles.shown(entry, by: server).metadata(isTagged: false)),
            "link": .string("https://\(Self.downloadHost)\(Self.downloadPath)\(key)/file"),
        ])
    }

    // MARK: Requests to the addresses

    /// Receives a whole file at an upload address. The documentation lists no statuses other than these.
    func receive(_ request: SandboxRequest) throws -> SandboxResponse {
        try refuseToken(request)
        guard request.method == "POST" else {
            server.note(request, "method", "\(request.method) is not a method of a temporary upload link")
            return DropboxError.text(405, "Method Not Allowed")
        }
        guard ["application/octet-stream", "text/plain"].contains(request.mediaType) else {
            server.note(request, "content-type", "a temporary upload link accepts only application/octet-stream")
            return DropboxError.text(400, "Bad Request")
        }
        if request.body.declaredLength ?? 0 > DropboxUploads.longestRequest {
            server.note(request, "payload-too-large", "a request may contain at most 150 MiB")
            return DropboxError.text(400, "Bad Request")
        }
        let key = String(request.path.dropFirst(Self.uploadPath.count))
        let time = server.now
        let link: Upload? = server.withState { state in
            let link = state.dropboxUploadLinks[key]
            state.dropboxUploadLinks[key]?.isUsed = true
            return link
        }
        guard let link else { return DropboxError.text(409, "Conflict") }
        guard !link.isUsed, link.expiresAt > time else { return DropboxError.text(410, "Gone") }
        var received: UploadedContent?
        do {
            let content = try server.directory.receive(request, .dropbox)
            received = content
            _ = try server.withDropboxLock(
                link.account, orThrow: .path(["too_many_write_operations"], inUpload: true)
            ) { try server.commit(link.commit, content, to: link.account, inUpload: true) }
            return .dropbox(["content-hash": .string(content.checksum)])
        } catch {
            if let received { server.directory.remove(received.path) }
            // The client does not learn the cause; an address remains usable if the upload failed.
            server.withState { $0.dropboxUploadLinks[key]?.isUsed = false }
            guard error is DropboxError else { throw error }
            return DropboxError.text(409, "Conflict")
        }
    }

    /// The bytes of a file, for a download address.
    func send(_ request: SandboxRequest) throws -> SandboxResponse {
        try refuseToken(request)
        guard request.method == "GET" || request.method == "HEAD" else {
            server.note(request, "method", "\(request.method) is not a method of a temporary link")
            return DropboxError.text(405, "Method Not Allowed")
        }
        let key =
            request.path.hasPrefix(Self.downloadPath) ? String(request.path.dropFirst(Self.downloadPath.count)) : ""
        let time = server.now
        let link = server.withState { $0.dropboxDownloadLinks[String(key.prefix { $0 != "/" })] }
        guard let link else { return DropboxError.text(404, "Not Found") }
        guard link.expiresAt > time, let entry = server.withState({ $0.dropboxes[link.account]?[link.entry] }),
            let size = entry.size
        else { return DropboxError.text(410, "Gone") }
        return DropboxDownloads(server: server).bytes(of: entry, size: size, in: link.account, to: request)
    }

    /// Records it if a client sends a token to an address that is itself the authorization, and so discloses the token
    /// needlessly.
    private func refuseToken(_ request: SandboxRequest) throws {
        guard request.header("authorization") != nil else { return }
        server.note(request, "authorization", "a token was sent to an address that is itself the authorization")
        throw DropboxError.badRequest("Unexpected HTTP header \"Authorization\".")
    }
}
