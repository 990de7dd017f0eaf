import FoundationEssentials
import Synchronization

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
        if session.isFinished { return try result(of: session) }
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
        if let total = range.total, !session.settle(total: total) {
            throw broken(
                request, "content-range-total",
                "the total \(total) contradicts the \(session.total ?? 0) bytes that were announced before")
        }
        guard let bytes = range.bytes else {
            guard length ?? 0 == 0 else {
                throw broken(request, "status-query-body", "a status query has no body")
            }
            return session.stored == session.total ? try finish(session, request) : incomplete(session)
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
            request, session, first: bytes.lowerBound, count: bytes.count, total: range.total ?? session.total)
    }

    /// Records the client's mistake and returns the error to throw.
    private func broken(_ request: SandboxRequest, _ rule: String, _ message: String) -> DriveError {
        server.note(request, rule, message)
        return DriveError(400, "badRequest", "Invalid request. " + message)
    }

    private func store(
        _ request: SandboxRequest, _ session: UploadSession, first: Int, count: Int, total: Int?
    ) throws -> SandboxResponse {
        if let total, !session.settle(total: total) {
            throw broken(request, "content-range-total", "the size \(total) contradicts what was announced before")
        }
        guard session.begin() else {
            throw DriveError(503, "backendError", "Another request is sending to this session.")
        }
        defer { session.end() }
        let stored = session.stored
        guard first <= stored else {
            throw broken(
                request, "upload-offset",
                "the upload offset is \(first) byte(s), which exceeds the already uploaded \(stored)")
        }
        let path = server.directory.uploadPath(session.id)
        let keep = effect.keepBytes.map { $0 - $0 % ContentWriter.pieceBytes }
        let ending = try BodyPump.run(request.body, skip: stored - first, keep: keep) { piece throws(StorageError) in
            try session.append(piece, path: path)
        }
        guard case .complete(let received) = ending, received == count else {
            session.roundDown()
            throw RequestBodyError.cut
        }
        // Only this request may have revealed the total, and thereby the end.
        if session.stored == session.total { return try finish(session, request) }
        try server.directory.write(session.json, to: server.directory.uploadFile(session.id))
        return incomplete(session)
    }

    /// 308: the client must continue after the stored bytes.
    private func incomplete(_ session: UploadSession) -> SandboxResponse {
        var headers: [(name: String, value: String)] = [("X-GUploader-UploadID", session.id)]
        if session.stored > 0 { headers.append(("Range", "bytes=0-\(session.stored - 1)")) }
        return SandboxResponse(308, headers: headers)
    }

    /// Creates the file.
    private func finish(_ session: UploadSession, _ request: SandboxRequest) throws -> SandboxResponse {
        let plan = session.plan
        guard let account = server.withState({ $0.accounts[plan.account] }) else {
            throw DriveError.notFound(plan.fileID)
        }
        let path = server.directory.uploadPath(session.id)
        let size = session.stored
        let (md5, sha256) = try session.finish(path: path)
        let content = UploadedContent(
            path: path, size: size, md5: md5, sha256: sha256, contentType: plan.contentType)
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
        server.directory.remove(server.directory.uploadPath(session.id))
    }
}

/// A resumable upload: the state between its first request and its last byte.
///
/// Only one request at a time sends bytes, which ``begin()`` and ``end()`` ensure; status queries may come at any time.
/// A session survives a restart of the sandbox.
final class UploadSession: Sendable {
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
    private let known: Mutex<Known>
    private let slot: Mutex<Slot>

    private struct Known {
        var stored: Int
        var total: Int?
        var isBusy = false
        var isFinished = false
    }

    private struct Slot: ~Copyable {
        var writer: ContentWriter?
    }

    /// A new session.
    init(id: String, plan: Plan, total: Int?) {
        self.id = id
        self.plan = plan
        known = Mutex(Known(stored: 0, total: total))
        slot = Mutex(Slot(writer: nil))
    }

    /// The number of bytes stored so far, from the start of the file.
    var stored: Int { known.withLock { $0.stored } }
    /// The total size, once a request has stated it.
    var total: Int? { known.withLock { $0.total } }
    /// Whether the file has been created.
    var isFinished: Bool { known.withLock { $0.isFinished } }

    /// Records the total size.
    /// - Returns: false if a different size was stated before.
    func settle(total: Int) -> Bool {
        known.withLock { known in
            if let before = known.total { return before == total }
            known.total = total
            return true
        }
    }

    /// Claims the session for a request that sends bytes; `false` if another request is still in progress.
    func begin() -> Bool {
        known.withLock { known in
            guard !known.isBusy, !known.isFinished else { return false }
            known.isBusy = true
            return true
        }
    }

    /// Releases the session.
    func end() { known.withLock { $0.isBusy = false } }

    /// Opens the part file at `path`. Like Google, computes all checksums of the received bytes, whether or not they
    /// are requested.
    private func writer(path: String, at start: Int) throws(StorageError) -> ContentWriter {
        try ContentWriter(
            path: path, resumingAt: start,
            withSHA256: total.map { $0 <= StoredContent.largestWithAllChecksums } ?? false)
    }

    /// Appends bytes to the part file at `path`.
    func append(_ bytes: ArraySlice<UInt8>, path: String) throws(StorageError) {
        let start = stored
        let count = try slot.withLock { slot throws(StorageError) in
            if slot.writer == nil { slot.writer = try writer(path: path, at: start) }
            try slot.writer?.append(bytes)
            return slot.writer?.count ?? 0
        }
        known.withLock { $0.stored = count }
    }

    /// Drops an incomplete tail, so that the stored size is again a multiple of 256 KiB.
    func roundDown() {
        let isRagged = known.withLock { known in
            let rest = known.stored % ContentWriter.pieceBytes
            known.stored -= rest
            return rest != 0
        }
        if isRagged { slot.withLock { $0.writer = nil } }
    }

    /// Closes the part file at `path`.
    /// - Returns: the checksums of its bytes; `nil` for a checksum that was not computed.
    func finish(path: String) throws(StorageError) -> (md5: String, sha256: String?) {
        let start = stored
        let sums = try slot.withLock { slot throws(StorageError) -> (md5: String, sha256: String?) in
            if slot.writer == nil { slot.writer = try writer(path: path, at: start) }
            defer { slot.writer = nil }
            return (slot.writer?.finish() ?? "", slot.writer?.finishSHA256())
        }
        known.withLock { $0.isFinished = true }
        return sums
    }

    /// The session in its stored form.
    var json: JSONValue {
        var json: JSONObject = [
            "account": .string(plan.account), "project": .string(plan.project), "fileID": .string(plan.fileID),
            "isUpdate": .bool(plan.isUpdate), "metadata": plan.metadata.json, "createdAt": plan.createdAt.json,
        ]
        json["contentType"] = .string(plan.contentType)
        json["fields"] = .string(plan.fields)
        json["total"] = .int(total)
        return .object(json)
    }

    /// A session from its stored form, with `partBytes` in its part file.
    convenience init?(id: String, json: JSONValue, partBytes: Int) {
        guard let account = json["account"]?.string, let project = json["project"]?.string,
            let fileID = json["fileID"]?.string, let createdAt = Date(json: json["createdAt"]),
            let metadata = try? DriveMetadata((json["metadata"] ?? [:]).bytes())
        else { return nil }
        self.init(
            id: id,
            plan: Plan(
                account: account, project: project, fileID: fileID, isUpdate: json["isUpdate"]?.bool ?? false,
                metadata: metadata, contentType: json["contentType"]?.string, fields: json["fields"]?.string,
                createdAt: createdAt),
            total: json["total"]?.int)
        known.withLock { $0.stored = partBytes - partBytes % ContentWriter.pieceBytes }
    }
}
