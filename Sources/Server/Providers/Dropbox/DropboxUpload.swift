import HTTPTransport
import HTTPTypes

/// An upload to Dropbox: in a single request if the content is small, otherwise through an upload session (HTTP
/// documentation, `files/upload` and `files/upload_session`).
///
/// Bytes are sent as they arrive. A session's bytes have no path, so nothing becomes visible before Dropbox accepts the
/// request with the last part.
struct DropboxUpload {
    /// Parts are multiples of this size; a sequential session accepts any size.
    static let granularity = 256 * 1024

    let content: any UploadContent
    let reservation: ObjectReservation
    let access: StorageAccess
    /// The time limit of each step, measured from the arrival of its bytes: phones may be slower than any deadline.
    private let patience: Duration

    init(content: any UploadContent, reservation: ObjectReservation, access: StorageAccess) {
        self.content = content
        self.reservation = reservation
        self.access = access
        patience = access.deadline.remaining
    }

    func run() throws(CloudStorageError) -> StoredObject {
        let file = try send()
        guard isOurs(file) else { throw .contentMismatch }
        return file.stored
    }

    private func send() throws(CloudStorageError) -> DropboxFile {
        // While an upload link that somebody else may use still works, no bytes have arrived.
        if let resumption = content.resumption, let id = resumption.session, !Dropbox.isLink(id) {
            return try resume(resumption, DropboxUploadSession(id: id, access: access))
        }
        let first = try part()
        let isSmall = content.resumption.map { first.count <= type(of: $0).smallBytes } ?? true
        return try first.isLast && isSmall ? sendWhole(first) : sendInSession(first)
    }

    private func part() throws(CloudStorageError) -> UploadPart {
        // Content that comes in pieces may end at any byte.
        try content.part(granularity: content.resumption == nil ? Self.granularity : 1)
    }

    // MARK: Small content

    private func sendWhole(_ part: UploadPart) throws(CloudStorageError) -> DropboxFile {
        try underFreeName { name throws(CloudStorageError) in
            var client = ProviderClient(access) { DropboxVerdict.classify($0, accepting: ["conflict"]) }
            // Dropbox also rejects bytes with a different hash.
            let argument = DropboxWholeUpload(
                commit: DropboxCommit(path: Dropbox.path(name)), contentHash: content.providerHash)
            let request = try Self.request("upload", argument, part.body())
            let reply = try client.send(request, with: part, within: patience)
            return reply.status == 409 ? nil : try ProviderJSON.decode(DropboxFile.self, reply.body)
        }
    }

    // MARK: Upload session

    private func sendInSession(_ first: UploadPart) throws(CloudStorageError) -> DropboxFile {
        guard content.resumption == nil, !first.isLast else {
            let none = UploadPart(bytes: [], offset: 0, isLast: false)
            return try transfer(first, in: DropboxUploadSession(none, access: access, within: patience))
        }
        let session = try DropboxUploadSession(first, access: access, within: patience)
        return try transfer(part(), in: session)
    }

    /// Continues the session of an earlier request.
    private func resume(
        _ resumption: any UploadResumption, _ session: DropboxUploadSession
    ) throws(CloudStorageError) -> DropboxFile {
        var session = session
        if !resumption.isPositionCertain {
            guard let position = try session.position(expected: resumption.position, by: .after(patience)) else {
                // The previous request may have published the file.
                for name in names {
                    guard let file = try existing(name), isOurs(file) else { continue }
                    try content.verifyRest(from: part(), granularity: 1)
                    return file
                }
                throw lost()
            }
            guard position >= resumption.position else { throw lost() }
            do { try resumption.skip(to: position) } catch { throw .contentFailed(error) }
        }
        return try transfer(part(), in: session)
    }

    /// Sends everything from `first` onwards.
    private func transfer(
        _ first: UploadPart, in session: DropboxUploadSession
    ) throws(CloudStorageError) -> DropboxFile {
        var session = session
        var part = first
        while !part.isLast {
            try append(part, to: &session)
            part = try self.part()
        }
        do throws(CloudStorageError) {
            return try publish(part, in: &session)
        } catch {
            if case .contentFailed = error, let rest = content.resumption?.arrived(granularity: 1) {
                try append(rest, to: &session)
            }
            throw error
        }
    }

    private func append(
        _ part: UploadPart, to session: inout DropboxUploadSession
    ) throws(CloudStorageError) {
        let isTaken = try content.salvaging(part, granularity: 1) { part, _ throws(CloudStorageError) in
            try session.append(part, within: patience)
        } keep: { _, isTaken throws(CloudStorageError) in
            if isTaken { try content.resumption?.keep(session.id) }
        }
        guard isTaken else { throw lost() }
    }

    private func publish(
        _ last: UploadPart, in session: inout DropboxUploadSession
    ) throws(CloudStorageError) -> DropboxFile {
        try underFreeName { name throws(CloudStorageError) in
            switch try session.finish(last, at: Dropbox.path(name), within: patience) {
            case .published(let file): return file
            case .taken: return nil
            case .lost:
                guard let file = try existing(name), isOurs(file) else { throw lost() }
                return file
            }
        }
    }

    private func isOurs(_ file: DropboxFile) -> Bool {
        file.contentHash == content.providerHash && file.size == content.lengthBytes
    }

    private func lost() -> CloudStorageError {
        content.resumption?.startOver()
        return .unavailable(detail: "Dropbox lost the upload session")
    }

    /// The file with that name, if it exists: a finish request whose reply was lost may have created it.
    private func existing(_ name: String) throws(CloudStorageError) -> DropboxFile? {
        do {
            return try Dropbox.describe(Dropbox.path(name), in: access, by: .after(patience))
        } catch .notFound {
            return nil
        }
    }

    // MARK: Both methods

    private var names: [String] { [reservation.name, reservation.spareName].compactMap(\.self) }

    /// Tries the reservation's names until one is free; `attempt` returns `nil` if the name has other contents.
    private func underFreeName(
        _ attempt: (String) throws(CloudStorageError) -> DropboxFile?
    ) throws(CloudStorageError) -> DropboxFile {
        for name in names {
            if let file = try attempt(name) { return file }
        }
        throw .contentMismatch
    }

    /// A request whose argument is in a header.
    static func request(
        _ route: String, _ argument: some Encodable, _ body: OutgoingBody
    ) throws(CloudStorageError) -> OutgoingRequest {
        OutgoingRequest(
            .dropbox, .upload, .post, Dropbox.content + route,
            headers: [
                .contentType: "application/octet-stream", .dropboxArgument: try DropboxJSON.header(argument),
            ], body: body)
    }
}

/// A sequential upload session (HTTP documentation, `files/upload_session`).
///
/// Dropbox accepts bytes only at its current offset and otherwise reports that offset, so a request whose reply was
/// lost may be sent again: its bytes are either stored already or still missing.
struct DropboxUploadSession {
    /// The outcome of a finish request.
    enum Ending {
        case published(DropboxFile)
        /// The path has other contents; the session keeps all bytes, and can be finished at a different path.
        case taken
        /// Dropbox no longer knows the session: an earlier attempt, or a retry by the HTTP library, may have finished
        /// it.
        case lost
    }

    let id: String
    private let access: StorageAccess
    private var client: ProviderClient

    private static let answers: Set = ["incorrect_offset", "conflict", "not_found", "closed"]

    /// A session started by another request.
    init(id: String, access: StorageAccess) {
        self.id = id
        self.access = access
        client = ProviderClient(access) { DropboxVerdict.classify($0, accepting: Self.answers) }
    }

    /// Starts a session with the first part of the content.
    /// - Parameter patience: how long Dropbox may take after all of the part has arrived.
    init(_ first: UploadPart, access: StorageAccess, within patience: Duration) throws(CloudStorageError) {
        self.access = access
        client = ProviderClient(access) { DropboxVerdict.classify($0, accepting: Self.answers) }
        // If a reply is lost, the abandoned session has no path and expires by itself.
        let request = try DropboxUpload.request(
            "upload_session/start", DropboxSessionArgument.Start(), first.body())
        let reply = try client.send(request, with: first, within: patience)
        guard reply.status == 200 else { throw .unavailable(detail: "Dropbox started no upload session") }
        id = try ProviderJSON.decode(DropboxSession.self, reply.body).sessionID
    }

    /// Asks for the number of bytes that Dropbox has, by sending an empty part.
    /// - Returns: `nil` if Dropbox no longer knows the session.
    mutating func position(expected: Int64, by deadline: Deadline) throws(CloudStorageError) -> Int64? {
        let argument = DropboxSessionArgument.Append(cursor: .init(sessionID: id, offset: expected))
        let request = try DropboxUpload.request("upload_session/append_v2", argument, .bytes([]))
        let reply = try client.send(request, by: deadline)
        return reply.status == 200 ? expected : DropboxErrorBody(reply.body)?.correctOffset
    }

    /// Sends one part, starting at Dropbox's current offset.
    /// - Returns: `false` if Dropbox no longer knows the session.
    mutating func append(_ part: UploadPart, within patience: Duration) throws(CloudStorageError) -> Bool {
        let end = part.end
        var position = part.offset
        var stalls = 0
        while position < end {
            let argument = DropboxSessionArgument.Append(cursor: .init(sessionID: id, offset: position))
            let request = try DropboxUpload.request("upload_session/append_v2", argument, part.body(from: position))
            let reply = try client.send(request, with: part, within: patience)
            if reply.status == 200 { return true }
            guard DropboxErrorBody(reply.body)?.correctOffset != nil else { return false }
            let correct = try offset(in: reply, from: part.offset, to: end)
            if correct <= position { stalls += 1 } else { stalls = 0 }
            guard stalls < 3 else { throw .unavailable(detail: "Dropbox does not accept the part") }
            position = correct
        }
        return true
    }

    /// Sends the last part and publishes the whole session at `path`.
    mutating func finish(
        _ part: UploadPart, at path: String, within patience: Duration
    ) throws(CloudStorageError) -> Ending {
        let end = part.end
        var position = part.offset
        var attempt = 0
        var stalls = 0
        while true {
            let argument = DropboxSessionArgument.Finish(
                cursor: .init(sessionID: id, offset: position), commit: DropboxCommit(path: path))
            let request = try DropboxUpload.request("upload_session/finish", argument, part.body(from: position))
            switch try client.sendOnce(request, by: part.deadline(within: patience)) {
            case .unknown(let retryAfter, let error):
                attempt += 1
                try client.wait(
                    before: attempt, retryAfter: retryAfter, by: part.deadline(within: patience), orThrow: error)
            case .answer(let reply):
                if reply.status == 200 {
                    return .published(try ProviderJSON.decode(DropboxFile.self, reply.body))
                }
                let tags = DropboxErrorBody(reply.body)?.tags ?? []
                if tags.contains("conflict") { return .taken }
                guard tags.contains("incorrect_offset") else { return .lost }
                let correct = try offset(in: reply, from: part.offset, to: end)
                if correct <= position { stalls += 1 } else { stalls = 0 }
                guard stalls < 3 else { throw .unavailable(detail: "Dropbox does not accept the last part") }
                position = correct
            }
        }
    }

    /// The offset that Dropbox reports. It must be within the current part, since earlier parts are gone.
    private func offset(in reply: Reply, from start: Int64, to end: Int64) throws(CloudStorageError) -> Int64 {
        guard let correct = DropboxErrorBody(reply.body)?.correctOffset else {
            throw .unavailable(detail: "Dropbox lost the upload session")
        }
        guard (start...end).contains(correct) else { throw .unavailable(detail: "Dropbox lost acknowledged bytes") }
        return correct
    }
}
