import FoundationEssentials
import Posix
import StorageHashes
import Synchronization

/// Upload sessions (Microsoft Graph, "driveItem: createUploadSession"): fragments in order, each except the last a
/// multiple of 320 KiB, on a separate host.
struct OneDriveSessions {
    /// The size of every fragment except the last is a multiple of this number of bytes.
    static let fragmentUnit = 327_680
    static let largestFragment = 60 << 20
    /// Lifetime of a session, in seconds: a few days.
    static let lifeSeconds = 518_400.0
    private static let mostSessions = 2_000
    let server: SandboxServer
    let effect: FaultEffect

    // MARK: Requests to Graph

    /// Begins a session.
    func create(_ request: SandboxRequest, _ place: OneDrivePlace, account: String) throws -> SandboxResponse {
        let bytes = try request.body.readAll(limit: 1 << 20)
        let json = bytes.isEmpty ? [:] : try? JSONValue(parsing: bytes)
        guard let json, bytes.isEmpty || request.mediaType == "application/json" else {
            server.note(request, "json-body", "the body is not a JSON object, or its Content-Type is not JSON")
            throw GraphError.invalid("The request is malformed or incorrect.")
        }
        let item = json["item"]
        if let name = item?["name"]?.string, name != place.name {
            server.note(request, "session-name", "the name in the body differs from the one in the address")
            throw GraphError.invalid("The name does not match the path.")
        }
        let text = item?["@microsoft.graph.conflictBehavior"]?.string ?? "fail"
        guard let conflict = NameConflict(rawValue: text) else {
            throw GraphError.invalid("Invalid value for @microsoft.graph.conflictBehavior")
        }
        let size = item?["fileSize"]?.int
        // Documented only for personal drives.
        if size != nil, server.withState({ $0.accounts[account]?.isOfOrganisation }) == true {
            throw GraphError.invalid("fileSize is not supported by this drive.")
        }
        let time = server.now
        let drive = try server.oneDrive(of: account)
        if conflict == .fail, drive.child(place.name, of: place.folder) != nil { throw GraphError.nameTaken }
        let quota = server.withState { $0.accounts[account]?.quotaBytes } ?? 0
        if let size, drive.usedBytes + size > quota { throw GraphError.quotaExceeded }
        let session = OneDriveSession(
            id: RandomText.token(40), account: account, place: place, conflict: conflict, size: size,
            expiresAt: time.addingTimeInterval(Self.lifeSeconds), directory: server.directory,
            lag: server.withState { $0.settings.oneDriveSessionLag })
        server.withState { state in
            if state.oneDriveSessions.count >= Self.mostSessions {
                for old in state.oneDriveSessions.values where old.expiresAt <= time { old.discard(server.directory) }
                state.oneDriveSessions = state.oneDriveSessions.filter { $0.value.expiresAt > time }
            }
            state.oneDriveSessions[session.id] = session
        }
        var response = self.state(session).object ?? [:]
        response["uploadUrl"] = .string(
            "https://\(OneDriveContentHost.name)/personal/\(drive.driveID)/uploadSession?guid=\(session.id)")
        return SandboxResponse(200, json: .object(response))
    }

    private func state(_ session: OneDriveSession) -> JSONValue {
        let next = session.stored
        // The real service uses both forms.
        let isClosed = server.withState { $0.settings.areOneDriveRangesClosed }
        let end = isClosed ? session.size.map { String($0 - 1) } ?? "" : ""
        return [
            "expirationDateTime": session.expiresAt.json, "nextExpectedRanges": [.string("\(next)-\(end)")],
        ]
    }

    // MARK: Requests to the session's host

    /// Handles a request to a session's address.
    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        let id = request.query["guid"] ?? ""
        guard let session = server.withState({ $0.oneDriveSessions[id] }), session.expiresAt > server.now else {
            throw GraphError.sessionNotFound
        }
        switch request.method {
        case "GET": return SandboxResponse(200, json: state(session))
        case "PUT": return try receive(request, session)
        case "DELETE":
            forget(session)
            session.discard(server.directory)
            return SandboxResponse(204)
        default:
            server.note(request, "method", "\(request.method) is not a method of an upload session")
            throw GraphError(405, "methodNotAllowed", "\(request.method) is not for an upload session")
        }
    }

    private func receive(_ request: SandboxRequest, _ session: OneDriveSession) throws -> SandboxResponse {
        guard !session.isLagging() else { throw GraphError.sessionNotFound }
        guard let range = request.header("content-range").flatMap(ContentRange.init), let bytes = range.bytes,
            let total = range.total
        else { throw broken(request, "content-range", "The Content-Range header is missing or malformed.") }
        guard total > 0, session.settle(total) else {
            throw broken(request, "content-range-total", "The total \(total) contradicts the earlier one.")
        }
        if let length = request.body.declaredLength, length != bytes.count {
            throw broken(
                request, "content-range-length", "The body has \(length) bytes, the range \(bytes.count).")
        }
        guard bytes.count < Self.largestFragment else {
            throw broken(request, "fragment-size", "A fragment must have less than 60 MiB.")
        }
        guard session.begin() else { throw GraphError(409, "conflict", "Another request is sending to this session.") }
        defer { session.end() }
        let stored = session.stored
        guard bytes.lowerBound == stored else {
            let code = bytes.lowerBound < stored ? "fragmentOverlap" : "fragmentOutOfOrder"
            if bytes.lowerBound > stored {
                server.note(request, "fragment-order", "the fragment begins at \(bytes.lowerBound), not at \(stored)")
            }
            throw GraphError(416, "invalidRange", "Optional", innerCode: code)
        }
        let isLast = bytes.upperBound + 1 == total
        // After an irregular offset, which OneDrive itself caused, a fragment may end at the position where it would
        // have ended otherwise.
        let isWhole =
            bytes.count % Self.fragmentUnit == 0
            || (stored % Self.fragmentUnit != 0 && (bytes.upperBound + 1) % Self.fragmentUnit == 0)
        guard isLast || isWhole || server.breaks.contains(.acceptAnyChunk) else {
            throw broken(
                request, "fragment-multiple", "The fragment has \(bytes.count) bytes, not a multiple of 327680.")
        }
        try session.append(request, keep: effect.keepBytes)
        guard session.stored == total else { return SandboxResponse(202, json: state(session)) }
        return try finish(session)
    }

    private func broken(_ request: SandboxRequest, _ rule: String, _ message: String) -> GraphError {
        server.note(request, rule, message)
        return .invalid(message)
    }

    /// Creates the item; if that fails, keeps the session.
    private func finish(_ session: OneDriveSession) throws -> SandboxResponse {
        let time = server.now
        let content = session.content
        let stored = try server.changeOneDrive(of: session.account) { change in
            try change.store(
                content, as: session.place.name, in: session.place.folder, conflict: session.conflict, at: time)
        }
        forget(session)
        let drive = try server.oneDrive(of: session.account)
        return SandboxResponse(
            stored.isNew ? 201 : 200, json: OneDriveResource(server: server, drive: drive).json(stored.item))
    }

    private func forget(_ session: OneDriveSession) {
        server.withState { $0.oneDriveSessions[session.id] = nil }
    }
}

/// One upload session. Only one request at a time sends bytes, which ``begin()`` and ``end()`` ensure. A session does
/// not survive a restart of the sandbox.
final class OneDriveSession: Sendable {
    let id: String
    let account: String
    let place: OneDrivePlace
    let conflict: NameConflict
    let expiresAt: Date
    private let known: Mutex<Known>

    private struct Known {
        var size: Int?
        var writer: OneDriveWriter
        var isBusy = false
        /// The number of further requests that will not find the session.
        var lag: Int
    }

    init(
        id: String, account: String, place: OneDrivePlace, conflict: NameConflict, size: Int?, expiresAt: Date,
        directory: StateDirectory, lag: Int
    ) {
        self.id = id
        self.account = account
        self.place = place
        self.conflict = conflict
        self.expiresAt = expiresAt
        known = Mutex(Known(size: size, writer: OneDriveWriter(path: directory.uploadPath(id)), lag: lag))
    }

    /// The number of bytes stored so far, from the start of the file.
    var stored: Int { known.withLock { $0.writer.count } }
    /// The total size, once a request has stated it.
    var size: Int? { known.withLock { $0.size } }

    /// Records the total size; `false` if a different size was stated before.
    func settle(_ total: Int) -> Bool {
        known.withLock { known in
            if let before = known.size { return before == total }
            known.size = total
            return true
        }
    }

    /// Whether the session is still unknown to the host that receives the bytes.
    func isLagging() -> Bool {
        known.withLock { known in
            guard known.lag > 0 else { return false }
            known.lag -= 1
            return true
        }
    }

    func begin() -> Bool {
        known.withLock { known in
            guard !known.isBusy else { return false }
            known.isBusy = true
            return true
        }
    }

    func end() { known.withLock { $0.isBusy = false } }

    /// Appends a fragment; call only between ``begin()`` and ``end()``.
    func append(_ request: SandboxRequest, keep: Int?) throws {
        var writer = known.withLock { $0.writer }
        _ = try writer.append(request, keep: keep)
        let grown = writer
        known.withLock { $0.writer = grown }
    }

    var content: OneDriveContent {
        let writer = known.withLock { $0.writer }
        return OneDriveContent(
            path: writer.path, size: writer.count, quickXorHash: writer.quickXorHash, contentType: nil)
    }

    /// Discards the bytes.
    func discard(_ directory: StateDirectory) { directory.remove(known.withLock { $0.writer.path }) }
}

/// Writes an item's bytes as they arrive and computes their quickXorHash at the same time, in constant memory.
struct OneDriveWriter: Sendable {
    let path: String
    /// The number of bytes written and hashed.
    private(set) var count = 0
    private var hash = QuickXorHash()

    init(path: String) { self.path = path }

    /// The hash of the written bytes, in base64.
    var quickXorHash: String { Data(hash.digest()).base64EncodedString() }

    /// Appends the request's body.
    ///
    /// An interrupted request leaves nothing behind.
    /// - Parameter keep: the maximum number of bytes to store; the rest is discarded.
    /// - Returns: the number of bytes in the request.
    /// - Throws: ``RequestBodyError/cut``.
    mutating func append(_ request: SandboxRequest, keep: Int? = nil) throws -> Int {
        let before = self
        var after = self
        let file = try StorageError.translating { () throws(PosixError) in try RegularFile(path, for: .writing) }
        let ending = try BodyPump.run(request.body, keep: keep) { piece throws(StorageError) in
            do { try file.write(piece.span, at: after.count) } catch { throw StorageError(description: "\(error)") }
            after.hash.update(piece)
            after.count += piece.count
        }
        guard case .complete(let received) = ending else {
            self = before
            throw RequestBodyError.cut
        }
        self = after
        return received
    }

    /// Stores a request's whole body.
    static func store(_ request: SandboxRequest, in directory: StateDirectory) throws -> OneDriveContent {
        var writer = OneDriveWriter(path: directory.uploadPath("single-" + RandomText.token(24)))
        do {
            _ = try writer.append(request)
        } catch {
            directory.remove(writer.path)
            throw error
        }
        return OneDriveContent(
            path: writer.path, size: writer.count, quickXorHash: writer.quickXorHash,
            contentType: request.header("content-type"))
    }
}
