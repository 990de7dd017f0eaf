import FoundationEssentials

/// The data phase of a resumable upload: chunks, status queries, cancellation.
///
/// Rules from "Perform a resumable upload" in the Drive guide: chunk sizes are multiples of 256 KiB except for the
/// last, the 308 response reports the stored bytes, and nothing is stored twice.
struct ResumableUpload {
    let server: SandboxServer
    let effect: FaultEffect

    /// Handles a request to a session's URI.
    func respond(to request: SandboxRequest, session id: String) throws -> SandboxResponse {
        // The URI itself grants access; a token may be missing, but not invalid.
        let caller = request.header("authorization") == nil ? nil : try DriveCaller(request, server: server)
        let expiry = server.now.addingTimeInterval(-UploadSession.lifeSeconds)
        guard let session = server.withState({ $0.uploads[id] }), session.plan.createdAt > expiry,
            caller.map({ $0.account.id == session.plan.account }) ?? true
        else { throw DriveError(404, "notFound", "Not Found") }
        switch request.method {
        case "PUT", "POST": return try receive(request, session)
        case "DELETE":
            forget(session)
            return SandboxResponse(499)
        default:
            server.note(request, "method", "\(request.method) is not a method of an upload session")
            throw DriveError(404, "notFound", "Not Found")
        }
    }

    private func receive(_ request: SandboxRequest, _ session: UploadSession) throws -> SandboxResponse {
        if session.bytes.isFinished { return try result(of: session) }
        let length = request.body.declaredLength
        guard let header = request.header("content-range") else {
            guard let length else {
                server.note(request, "content-length", "an upload in one piece requires Content-Length")
                throw DriveError(411, "lengthRequired", "Content-Length is required.")
            }
            return try store(request, session, first: 0, count: length, total: length)
        }
        guard let range = ContentRange(header) else {
            throw broken(request, "content-range", "Failed to parse Content-Range header.")
        }
        if let total = range.total, !session.bytes.settle(total: total) {
            throw broken(
                request, "content-range-total",
                "the total \(total) contradicts the \(session.bytes.total ?? 0) bytes that were announced before")
        }
        guard let bytes = range.bytes else {
            guard length ?? 0 == 0 else {
                throw broken(request, "status-query-body", "a status query has no body")
            }
            return session.bytes.stored == session.bytes.total ? try finish(session, request) : incomplete(session)
        }
        if let length, length != bytes.count {
            throw broken(
                request, "content-range-length",
                "there were \(length) byte(s) in the request body; there should have been \(bytes.count) according to the Content-Range header"
            )
        }
        let isLast = range.total == bytes.upperBound + 1
        if !isLast, bytes.count % ContentWriter.pieceBytes != 0, !server.breaks.contains(.acceptAnyChunk) {
            throw broken(
                request, "chunk-multiple", "the chunk has \(bytes.count) bytes, which is not a multiple of 262144")
        }
        return try store(
            request, session, first: bytes.lowerBound, count: bytes.count, total: range.total ?? session.bytes.total)
    }

    /// Records the client's mistake and returns the error to throw.
    private func broken(_ request: SandboxRequest, _ rule: String, _ message: String) -> DriveError {
        server.note(request, rule, message)
        return DriveError(400, "badRequest", "Invalid request. " + message)
    }

    private func store(
        _ request: SandboxRequest, _ session: UploadSession, first: Int, count: Int, total: Int?
    ) throws -> SandboxResponse {
        if let total, !session.bytes.settle(total: total) {
            throw broken(request, "content-range-total", "the size \(total) contradicts what was announced before")
        }
        guard session.bytes.begin() else {
            throw DriveError(503, "backendError", "Another request is sending to this session.")
        }
        defer { session.bytes.end() }
        let stored = session.bytes.stored
        guard first <= stored else {
            throw broken(
                request, "upload-offset",
                "the upload offset is \(first) byte(s), which exceeds the already uploaded \(stored)")
        }
        let keep = effect.keepBytes.map { $0 - $0 % ContentWriter.pieceBytes }
        let ending = try BodyPump.run(request.body, skip: stored - first, keep: keep) {
            piece throws(StorageError) in
            try session.bytes.append(piece)
        }
        guard case .complete(let received) = ending, received == count else {
            // Keeps a multiple of 256 KiB.
            let arrived = session.bytes.stored
            session.bytes.cut(to: arrived - arrived % ContentWriter.pieceBytes)
            throw RequestBodyError.cut
        }
        // Only this request may have revealed the total, and thereby the end.
        if session.bytes.stored == session.bytes.total { return try finish(session, request) }
        try server.directory.write(session.json, to: server.directory.uploadFile(session.id))
        return incomplete(session)
    }

    /// 308: the client must continue after the stored bytes.
    private func incomplete(_ session: UploadSession) -> SandboxResponse {
        var headers: [(name: String, value: String)] = [("X-GUploader-UploadID", session.id)]
        if session.bytes.stored > 0 { headers.append(("Range", "bytes=0-\(session.bytes.stored - 1)")) }
        return SandboxResponse(308, headers: headers)
    }

    /// Creates the file.
    private func finish(_ session: UploadSession, _ request: SandboxRequest) throws -> SandboxResponse {
        let plan = session.plan
        guard let account = server.withState({ $0.accounts[plan.account] }) else {
            throw DriveError.notFound(plan.fileID)
        }
        let content = try session.bytes.content(type: plan.contentType)
        session.bytes.finish()
        let caller = DriveCaller(account: account, project: plan.project)
        do {
            if plan.isUpdate {
                let time = server.now
                try server.changeFile(plan.fileID, by: caller, at: time, content: content) { file, _ in
                    plan.metadata.apply(to: &file, at: time)
                }
            } else {
                _ = try server.createFile(
                    plan.metadata, content: content, by: caller, reservedID: plan.fileID, request: request)
            }
        } catch {
            forget(session)
            throw error
        }
        server.directory.remove(server.directory.uploadFile(session.id))
        return try result(of: session)
    }

    /// The file that the session has created.
    private func result(of session: UploadSession) throws -> SandboxResponse {
        let plan = session.plan
        let mask = try plan.fields.map { text throws(DriveError) in try FieldMask(text) } ?? DriveResource.defaultMask
        guard
            let (account, drive) = server.withState({ state in
                state.accounts[plan.account].flatMap { account in state.drives[plan.account].map { (account, $0) } }
            }), let file = drive[plan.fileID]
        else { throw DriveError.notFound(plan.fileID) }
        return SandboxResponse(
            200, json: DriveResource(server: server, account: account).json(file, in: drive, mask: mask),
            headers: [("X-GUploader-UploadID", session.id)])
    }

    private func forget(_ session: UploadSession) {
        server.withState { $0.uploads[session.id] = nil }
        server.directory.remove(server.directory.uploadFile(session.id))
        server.directory.remove(session.bytes.path)
    }
}

/// A resumable upload: the state between its first request and its last byte. It survives a restart of the sandbox.
struct UploadSession: Sendable {
    /// Lifetime of a session, in seconds: about a week.
    static let lifeSeconds = 604_800.0

    /// The file that the upload will create or change.
    struct Plan: Sendable {
        let account: String
        let project: String
        /// The ID of the file to create or change.
        let fileID: String
        let isUpdate: Bool
        let metadata: DriveMetadata
        let contentType: String?
        /// The `fields` of the first request, for the response to the last.
        let fields: String?
        let createdAt: Date
    }

    let id: String
    let plan: Plan
    let bytes: PartialUpload

    /// A new session.
    init(id: String, plan: Plan, bytes: PartialUpload) {
        self.id = id
        self.plan = plan
        self.bytes = bytes
    }

    /// The session in its stored form.
    var json: JSONValue {
        var json: JSONObject = [
            "account": .string(plan.account), "project": .string(plan.project), "fileID": .string(plan.fileID),
            "isUpdate": .bool(plan.isUpdate), "metadata": plan.metadata.json, "createdAt": plan.createdAt.json,
        ]
        json["contentType"] = .string(plan.contentType)
        json["fields"] = .string(plan.fields)
        json["total"] = .int(bytes.total)
        return .object(json)
    }

    /// A session from its stored form, of whose part file only whole pieces count.
    init?(id: String, json: JSONValue, in directory: StateDirectory) {
        guard let account = json["account"]?.string, let project = json["project"]?.string,
            let fileID = json["fileID"]?.string, let createdAt = Date(json: json["createdAt"]),
            let metadata = try? DriveMetadata((json["metadata"] ?? [:]).bytes())
        else { return nil }
        let path = directory.uploadPath(id)
        let partBytes = directory.size(path)
        self.init(
            id: id,
            plan: Plan(
                account: account, project: project, fileID: fileID, isUpdate: json["isUpdate"]?.bool ?? false,
                metadata: metadata, contentType: json["contentType"]?.string, fields: json["fields"]?.string,
                createdAt: createdAt),
            bytes: PartialUpload(
                path: path, .md5, stored: partBytes - partBytes % ContentWriter.pieceBytes,
                total: json["total"]?.int))
    }
}
