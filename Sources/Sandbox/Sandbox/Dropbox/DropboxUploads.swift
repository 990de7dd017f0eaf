import FoundationEssentials
import OpenSSLCrypto
import Posix
import StorageHashes

/// Dropbox's upload routes: whole files, and sessions.
struct DropboxUploads {
    /// The maximum size of one request, in bytes.
    static let longestRequest = 150 << 20
    static let commitMembers: Set<String> = [
        "path", "mode", "mode/update", "autorename", "client_modified", "mute", "strict_conflict", "property_groups",
    ]

    let server: SandboxServer
    let effect: FaultEffect

    private func caller(_ request: SandboxRequest) throws -> String {
        try DropboxCaller(request, scope: "files.content.write", server: server).account.id
    }

    // MARK: Routes

    /// `files/upload`: a whole file in one request.
    func upload(_ request: SandboxRequest) throws -> SandboxResponse {
        let account = try caller(request)
        let argument = try DropboxArgument(
            request, .upload, members: Self.commitMembers.union(["content_hash"]), server: server)
        let commit = try commit(argument, "")
        let file = server.directory.uploadPath("dropbox-single-" + RandomText.token(24))
        do {
            let content = try receive(request, argument, into: file, at: 0)
            let entry = try server.withDropboxLock(
                account, orThrow: .path(["too_many_write_operations"], inUpload: true)
            ) { try server.commit(commit, content, to: account, inUpload: true) }
            return .dropbox(.object(shown(entry).metadata(isTagged: false)))
        } catch {
            server.directory.remove(file)
            throw error
        }
    }

    /// `files/upload_session/start`.
    func start(_ request: SandboxRequest) throws -> SandboxResponse {
        let account = try caller(request)
        let argument = try DropboxArgument(
            request, .upload, members: ["close", "session_type", "content_hash"], server: server)
        var session = DropboxUploadSession(
            account: account, isConcurrent: argument.tag("session_type") == "concurrent", at: server.now)
        if session.isConcurrent, request.body.declaredLength ?? 1 > 0 {
            server.note(request, "concurrent-data", "a concurrent session must start without bytes")
            throw DropboxError.route(["concurrent_session_data_not_allowed"])
        }
        if session.isConcurrent, argument.bool("close") {
            throw DropboxError.route(["concurrent_session_close_not_allowed"])
        }
        session.stored = try receive(
            request, argument, into: server.directory.uploadPath(session.file), at: 0
        ).size
        session.isClosed = argument.bool("close")
        try keep(session)
        return .dropbox(["session_id": .string(session.id)])
    }

    /// `files/upload_session/append_v2`.
    func append(_ request: SandboxRequest) throws -> SandboxResponse {
        let account = try caller(request)
        let argument = try DropboxArgument(
            request, .upload,
            members: ["cursor", "cursor/session_id", "cursor/offset", "close", "content_hash"], server: server)
        let session = try claim(argument, account, request)
        return try sending(request, to: session.id) { try append(request, argument, to: session) }
    }

    private func append(
        _ request: SandboxRequest, _ argument: DropboxArgument, to session: DropboxUploadSession
    ) throws -> SandboxResponse {
        var session = session
        let offset = try argument.count("cursor/offset")
        if session.isConcurrent {
            try checkConcurrent(request, argument, offset)
        } else if offset != session.stored {
            throw Self.incorrectOffset(session.stored)
        }
        let path = server.directory.uploadPath(session.file)
        let received = try receive(request, argument, into: path, at: offset).size
        session.stored = session.isConcurrent ? max(session.stored, offset + received) : offset + received
        if let keep = effect.keepBytes, keep < received {
            session.stored = offset + keep
            try self.keep(session)
            throw Self.incorrectOffset(session.stored)
        }
        session.isClosed = argument.bool("close")
        try keep(session)
        return .dropbox(.null)
    }

    /// `files/upload_session/finish`: the last bytes, and the destination of all bytes.
    func finish(_ request: SandboxRequest) throws -> SandboxResponse {
        let account = try caller(request)
        let members = Set(Self.commitMembers.map { "commit/" + $0 }).union([
            "commit", "cursor", "cursor/session_id", "cursor/offset", "content_hash",
        ])
        let argument = try DropboxArgument(request, .upload, members: members, server: server)
        let commit = try commit(argument, "commit/")
        let session = try claim(argument, account, request, wrapper: "lookup_failed")
        return try sending(request, to: session.id) { try finish(request, argument, commit, session) }
    }

    private func finish(
        _ request: SandboxRequest, _ argument: DropboxArgument, _ commit: DropboxCommit, _ session: DropboxUploadSession
    ) throws -> SandboxResponse {
        var session = session
        let offset = try argument.count("cursor/offset")
        guard offset == session.stored else {
            throw Self.incorrectOffset(session.stored).wrapped(in: "lookup_failed")
        }
        if session.isConcurrent, request.body.declaredLength ?? 1 > 0 {
            throw DropboxError.route(["concurrent_session_data_not_allowed"])
        }
        let path = server.directory.uploadPath(session.file)
        // Bytes sent with a failed finish request are kept, so the retry is sent without bytes, at the new offset.
        session.stored += try receive(request, argument, into: path, at: offset).size
        try keep(session)
        return .dropbox(.object(shown(try finish(session, commit)).metadata(isTagged: false)))
    }

    /// `files/upload_session/finish_batch_v2`: many closed sessions under one lock.
    func finishBatch(_ request: SandboxRequest) throws -> SandboxResponse {
        let account = try caller(request)
        let argument = try DropboxArgument(request, .rpc, members: ["entries"], server: server)
        guard let entries = argument["entries"]?.array, entries.count <= 1_000 else {
            throw DropboxArgument.failure("files/upload_session/finish_batch_v2", "entries: at most 1000 items")
        }
        let results = try entries.map { entry -> JSONValue in
            do {
                let session = try batchSession(entry, account)
                let commit = try DropboxCommit(entry["commit"] ?? [:])
                var json: JSONObject = [".tag": "success"]
                for member in shown(try finish(session, commit)).metadata(isTagged: false).members {
                    json[member.name] = member.value
                }
                return .object(json)
            } catch let error as DropboxError {
                guard let union = error.union else { throw error }
                return [".tag": "failure", "failure": union]
            }
        }
        return .dropbox(["entries": .array(results)])
    }

    // MARK: Steps

    private func commit(_ argument: DropboxArgument, _ prefix: String) throws -> DropboxCommit {
        try DropboxCommit(prefix.isEmpty ? argument.json : argument["commit"] ?? [:])
    }

    private func batchSession(_ entry: JSONValue, _ account: String) throws(DropboxError) -> DropboxUploadSession {
        let id = entry["cursor"]?["session_id"]?.string ?? ""
        guard let session = known(id, account) else { throw .route(["lookup_failed", "not_found"]) }
        guard session.isClosed else { throw .route(["lookup_failed", "not_closed"]) }
        guard entry["cursor"]?["offset"]?.int == session.stored else {
            throw .route(["lookup_failed", "incorrect_offset"], members: ["correct_offset": .int(session.stored)])
        }
        return session
    }

    private func finish(_ session: DropboxUploadSession, _ commit: DropboxCommit) throws -> DropboxEntry {
        let path = server.directory.uploadPath(session.file)
        let content = try ContentWriter.resuming(path: path, .dropbox, at: session.stored).content()
        let entry = try server.withDropboxLock(session.account, orThrow: .route(["too_many_write_operations"])) {
            try server.commit(commit, content, to: session.account, inUpload: false)
        }
        server.withState { $0.dropboxUploads[session.id] = nil }
        server.directory.remove(server.directory.uploadFile(session.file))
        server.directory.remove(path)
        return entry
    }

    private func shown(_ entry: DropboxEntry) -> DropboxEntry {
        DropboxFiles.shown(entry, by: server)
    }

    /// Stores the request's bytes starting at `offset`; keeps none of them if the connection is lost.
    private func receive(
        _ request: SandboxRequest, _ argument: DropboxArgument, into path: String, at offset: Int
    ) throws -> UploadedContent {
        let expected = try argument.contentHash(request, server)
        if request.body.declaredLength ?? 0 > Self.longestRequest {
            server.note(request, "payload-too-large", "a request may contain at most 150 MiB")
            throw DropboxError.route(["payload_too_large"])
        }
        var writer = try ContentWriter(path: path, .dropbox, from: offset)
        let ending = try BodyPump.run(request.body) { piece throws(StorageError) in try writer.append(piece) }
        guard ending != .cut else { throw RequestBodyError.cut }
        let content = writer.content()
        guard expected == nil || expected == content.checksum || server.breaks.contains(.acceptAnyHash) else {
            throw DropboxError.route(["content_hash_mismatch"])
        }
        return content
    }

    private func known(_ id: String, _ account: String) -> DropboxUploadSession? {
        let oldest = server.now.addingTimeInterval(-DropboxUploadSession.lifeSeconds)
        guard let session = server.withState({ $0.dropboxUploads[id] }), session.account == account,
            session.createdAt > oldest
        else { return nil }
        return session
    }

    /// The session named by the cursor, claimed for this request.
    /// - Parameter wrapper: the tag in which `finish` wraps its errors; closed sessions can be finished.
    private func claim(
        _ argument: DropboxArgument, _ account: String, _ request: SandboxRequest, wrapper: DropboxError.Tag? = nil
    ) throws(DropboxError) -> DropboxUploadSession {
        let id = try argument.text("cursor/session_id")
        guard let session = known(id, account) else {
            throw DropboxError.route(["not_found"]).wrapped(in: wrapper)
        }
        guard !session.isClosed || wrapper != nil || session.isConcurrent else { throw .route(["closed"]) }
        guard !session.isConcurrent else { return session }
        let rival = server.violation(
            request, "session-concurrency", "two requests at once write to a sequential session")
        let isClaimed = server.withState { state in
            guard state.dropboxRivals[id] == nil else {
                state.dropboxRivals[id]?.append(rival)
                return false
            }
            state.dropboxRivals[id] = []
            return true
        }
        guard isClaimed else { throw .tooMany("too_many_requests", retryAfterSeconds: 1) }
        return session
    }

    /// Runs `send`, which writes bytes to the claimed session, and releases the session.
    ///
    /// Requests that arrived meanwhile violate the rule, unless this request was interrupted or its client has
    /// disconnected, since a client cannot know how long that goes unnoticed.
    private func sending<Result>(
        _ request: SandboxRequest, to id: String, _ send: () throws -> Result
    ) throws -> Result {
        let outcome: Swift.Result<Result, any Error>
        do { outcome = .success(try send()) } catch { outcome = .failure(error) }
        let rivals = server.withState { $0.dropboxRivals.removeValue(forKey: id) } ?? []
        let isCut = if case .failure(RequestBodyError.cut) = outcome { true } else { false }
        if !rivals.isEmpty, !isCut, !request.body.isClientGone() { for rival in rivals { server.note(rival) } }
        return try outcome.get()
    }

    private func keep(_ session: DropboxUploadSession) throws(StorageError) {
        try server.directory.write(entry: session, to: server.directory.uploadFile(session.file))
        server.withState { $0.dropboxUploads[session.id] = session }
    }

    private func checkConcurrent(
        _ request: SandboxRequest, _ argument: DropboxArgument, _ offset: Int
    ) throws(DropboxError) {
        let unit = DropboxUploadSession.concurrentBytes
        guard offset % unit == 0 else { throw .route(["concurrent_session_invalid_offset"]) }
        guard argument.bool("close") || (request.body.declaredLength ?? 0) % unit == 0 else {
            throw .route(["concurrent_session_invalid_data_size"])
        }
    }

    private static func incorrectOffset(_ correct: Int) -> DropboxError {
        .route(["incorrect_offset"], members: ["correct_offset": .int(correct)])
    }
}

extension DropboxCommit {
    /// `CommitInfo` as on the wire.
    /// - Throws: ``DropboxError/badRequest(_:)`` without a path.
    init(_ json: JSONValue) throws(DropboxError) {
        guard let path = json["path"]?.string else {
            throw .badRequest("Error in call to API function: commit: missing required field 'path'")
        }
        self.init(path: path)
        switch json["mode"]?.string ?? json["mode"]?[".tag"]?.string {
        case "overwrite": mode = .overwrite
        case "update": mode = .update(revision: json["mode"]?["update"]?.string ?? "")
        default: mode = .add
        }
        isRenamedOnConflict = json["autorename"]?.bool ?? false
        isStrict = json["strict_conflict"]?.bool ?? false
        clientModifiedAt = json["client_modified"]?.string.flatMap { Date(text: $0) }
    }
}

/// An upload session: uploaded bytes that have no path until they are committed.
struct DropboxUploadSession: Codable, Sendable {
    /// Lifetime of a session, in seconds: seven days.
    static let lifeSeconds = 604_800.0
    /// Offsets and lengths of concurrent appends are multiples of this number.
    static let concurrentBytes = 4_194_304

    let id: String
    let account: String
    let isConcurrent: Bool
    let createdAt: Date
    /// The number of stored bytes, counted from the start; without gaps unless the session is concurrent.
    var stored = 0
    /// Whether the session accepts no more bytes.
    var isClosed = false

    init(account: String, isConcurrent: Bool, at time: Date) {
        id = "pid_upload_session:" + RandomText.token(48)
        self.account = account
        self.isConcurrent = isConcurrent
        createdAt = time
    }

    /// The name of its files in the state directory.
    var file: String { "dropbox-" + id.dropFirst("pid_upload_session:".count) }
}
