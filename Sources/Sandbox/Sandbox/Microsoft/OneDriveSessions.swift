import FoundationEssentials

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
        let id = RandomText.token(40)
        let session = OneDriveSession(
            id: id, account: account, place: place, conflict: conflict,
            expiresAt: time.addingTimeInterval(Self.lifeSeconds),
            bytes: PartialUpload(path: server.directory.uploadPath(id), .quickXor, total: size),
            lag: server.withState { $0.settings.oneDriveSessionLag })
        server.withState { state in
            if state.oneDriveSessions.count >= Self.mostSessions {
                for old in state.oneDriveSessions.values where old.expiresAt <= time {
                    server.directory.remove(old.bytes.path)
                }
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
        let next = session.bytes.stored
        // The real service uses both forms.
        let isClosed = server.withState { $0.settings.areOneDriveRangesClosed }
        let end = isClosed ? session.bytes.total.map { String($0 - 1) } ?? "" : ""
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
            server.directory.remove(session.bytes.path)
            return SandboxResponse(204)
        default:
            server.note(request, "method", "\(request.method) is not a method of an upload session")
            throw GraphError(405, "methodNotAllowed", "\(request.method) is not for an upload session")
        }
    }

    private func receive(_ request: SandboxRequest, _ session: OneDriveSession) throws -> SandboxResponse {
        guard !isLagging(session) else { throw GraphError.sessionNotFound }
        guard let range = request.header("content-range").flatMap(ContentRange.init), let bytes = range.bytes,
            let total = range.total
        else { throw broken(request, "content-range", "The Content-Range header is missing or malformed.") }
        guard total > 0, session.bytes.settle(total: total) else {
            throw broken(request, "content-range-total", "The total \(total) contradicts the earlier one.")
        }
        if let length = request.body.declaredLength, length != bytes.count {
            throw broken(
                request, "content-range-length", "The body has \(length) bytes, the range \(bytes.count).")
        }
        guard bytes.count < Self.largestFragment else {
            throw broken(request, "fragment-size", "A fragment must have less than 60 MiB.")
        }
        guard session.bytes.begin() else {
            throw GraphError(409, "conflict", "Another request is sending to this session.")
        }
        defer { session.bytes.end() }
        let stored = session.bytes.stored
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
        let ending = try BodyPump.run(request.body, keep: effect.keepBytes) { piece throws(StorageError) in
            try session.bytes.append(piece)
        }
        guard ending != .cut else {
            // An interrupted request leaves nothing behind.
            session.bytes.cut(to: stored)
            throw RequestBodyError.cut
        }
        guard session.bytes.stored == total else { return SandboxResponse(202, json: state(session)) }
        return try finish(session)
    }

    /// Whether the session is still unknown to the host that receives the bytes.
    private func isLagging(_ session: OneDriveSession) -> Bool {
        server.withState { state in
            guard let lag = state.oneDriveSessions[session.id]?.lag, lag > 0 else { return false }
            state.oneDriveSessions[session.id]?.lag = lag - 1
            return true
        }
    }

    private func broken(_ request: SandboxRequest, _ rule: String, _ message: String) -> GraphError {
        server.note(request, rule, message)
        return .invalid(message)
    }

    /// Creates the item; if that fails, keeps the session.
    private func finish(_ session: OneDriveSession) throws -> SandboxResponse {
        let time = server.now
        let content = try session.bytes.content()
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

/// One upload session. It does not survive a restart of the sandbox.
struct OneDriveSession: Sendable {
    let id: String
    let account: String
    let place: OneDrivePlace
    let conflict: NameConflict
    let expiresAt: Date
    let bytes: PartialUpload
    /// The number of further requests that will not find the session.
    var lag: Int
}
