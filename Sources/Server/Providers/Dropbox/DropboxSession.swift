import HTTPTransport
import HTTPTypes

/// An upload to Dropbox: in a single request if the content is small, otherwise through a sequential upload session (HTTP
/// documentation, `files/upload` and `files/upload_session`).
///
/// Bytes are sent as they arrive. A session's bytes have no path, so nothing becomes visible before Dropbox accepts the
/// request with the last part. Dropbox accepts bytes only at its current offset and otherwise reports that offset, so a
/// request whose reply was lost may be sent again: its bytes are either stored already or still missing.
struct DropboxSession: UploadSession {
    /// Parts are multiples of this size; a sequential session accepts any size.
    private static let granularity = 256 * 1024
    private static let answers: Set = ["incorrect_offset", "conflict", "not_found", "closed"]

    let content: any UploadContent
    private let reservation: ObjectReservation
    private let access: StorageAccess
    /// The time limit of each step, measured from the arrival of its bytes: phones may be slower than any deadline.
    private let patience: Duration
    /// The session's identifier; `nil` before the first part begins it.
    private var id: String?
    private var isPublishing = false
    private var client: ProviderClient

    init(_ content: any UploadContent, as reservation: ObjectReservation, to access: StorageAccess) {
        self.content = content
        self.reservation = reservation
        self.access = access
        patience = access.deadline.remaining
        client = ProviderClient(access) { DropboxVerdict.classify($0, accepting: Self.answers) }
    }

    func run() throws(CloudStorageError) -> StoredObject {
        let file = try SessionUpload(self).run()
        guard isOurs(file) else { throw .contentMismatch }
        return file.stored
    }

    var rules: PartRules {
        PartRules(
            // Content that comes in pieces may end at any byte.
            granularity: content.resumption == nil ? Self.granularity : 1, longest: .max, whole: .max,
            restarts: false, collects: false)
    }

    // MARK: Small content

    func sendWhole(_ part: UploadPart) throws(CloudStorageError) -> DropboxFile {
        for name in names {
            var client = ProviderClient(access) { DropboxVerdict.classify($0, accepting: ["conflict"]) }
            // Dropbox also rejects bytes with a different hash.
            let argument = DropboxWholeUpload(
                commit: DropboxCommit(path: Dropbox.path(name)), contentHash: content.providerHash)
            let request = try Self.request("upload", argument, part.body())
            let reply = try client.send(request, with: part, within: patience)
            if reply.status != 409 { return try ProviderJSON.decode(DropboxFile.self, reply.body) }
        }
        throw .contentMismatch
    }

    // MARK: Upload session

    /// Nothing can prevent a session, since its bytes have no path.
    func begin() -> (() throws(CloudStorageError) -> DropboxFile)? { nil }

    var record: String { id ?? "" }

    /// While an upload link that somebody else may use still works, no bytes have arrived.
    mutating func open(_ record: String) -> Bool {
        guard !Dropbox.isLink(record) else { return false }
        id = record
        return true
    }

    /// Dropbox reports its offset in reply to an empty part.
    mutating func progress(after recorded: Int64) throws(CloudStorageError) -> SessionProgress<DropboxFile> {
        let argument = DropboxSessionArgument.Append(cursor: .init(sessionID: record, offset: recorded))
        let request = try Self.request("upload_session/append_v2", argument, .bytes([]))
        let reply = try client.send(request, by: .after(patience))
        if reply.status == 200 { return .at(recorded) }
        if let offset = DropboxErrorBody(reply.body)?.correctOffset { return .at(offset) }
        // The previous request may have published the file.
        for name in names {
            if let file = try existing(name), isOurs(file) { return .exists { file } }
        }
        throw lost()
    }

    mutating func send(_ part: UploadPart) throws(CloudStorageError) -> SessionOutcome<DropboxFile> {
        if id == nil {
            let isInPieces = content.resumption != nil
            try start(with: isInPieces ? UploadPart(bytes: [], offset: 0, isLast: false) : part)
            if !isInPieces { return .taken }
        }
        isPublishing = part.isLast
        if part.isLast { return .finished(try publish(part)) }
        return try append(part) ? .taken : .lost
    }

    mutating func keep(_ rest: UploadPart?) throws(CloudStorageError) -> Bool {
        guard let rest else { return false }
        let isTaken = try append(rest)
        if isPublishing, !isTaken { throw lost() }
        return isTaken
    }

    /// Starts a session. If a reply is lost, the abandoned session has no path and expires by itself.
    private mutating func start(with first: UploadPart) throws(CloudStorageError) {
        let request = try Self.request("upload_session/start", DropboxSessionArgument.Start(), first.body())
        let reply = try client.send(request, with: first, within: patience)
        guard reply.status == 200 else { throw .unavailable(detail: "Dropbox started no upload session") }
        id = try ProviderJSON.decode(DropboxStartedSession.self, reply.body).sessionID
    }

    /// Sends one part, starting at Dropbox's current offset.
    /// - Returns: `false` if Dropbox no longer knows the session.
    private mutating func append(_ part: UploadPart) throws(CloudStorageError) -> Bool {
        let end = part.end
        var position = part.offset
        var stalls = 0
        while position < end {
            let argument = DropboxSessionArgument.Append(cursor: .init(sessionID: record, offset: position))
            let request = try Self.request("upload_session/append_v2", argument, part.body(from: position))
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

    /// Sends the last part, and publishes the whole session under the first free name. If a name has other contents,
    /// the session keeps all bytes, and can be finished at a different path.
    private mutating func publish(_ last: UploadPart) throws(CloudStorageError) -> DropboxFile {
        for name in names {
            switch try finish(last, at: Dropbox.path(name)) {
            case .published(let file): return file
            case .taken: continue
            case .lost:
                guard let file = try existing(name), isOurs(file) else { throw lost() }
                return file
            }
        }
        throw .contentMismatch
    }

    /// The outcome of a finish request.
    private enum Ending {
        case published(DropboxFile)
        /// The path has other contents.
        case taken
        /// Dropbox no longer knows the session: an earlier attempt, or a retry by the HTTP library, may have finished
        /// it.
        case lost
    }

    private mutating func finish(_ part: UploadPart, at path: String) throws(CloudStorageError) -> Ending {
        let end = part.end
        var position = part.offset
        var attempt = 0
        var stalls = 0
        while true {
            let argument = DropboxSessionArgument.Finish(
                cursor: .init(sessionID: record, offset: position), commit: DropboxCommit(path: path))
            let request = try Self.request("upload_session/finish", argument, part.body(from: position))
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

    /// ``publish(_:)`` looks for the file itself, under the name that it has tried.
    func created() -> DropboxFile? { nil }

    func lost() -> CloudStorageError { content.lost("Dropbox lost the upload session") }

    /// Dropbox discards sessions itself.
    func failed(_ error: CloudStorageError) -> CloudStorageError { error }

    // MARK: Both methods

    private func isOurs(_ file: DropboxFile) -> Bool {
        file.contentHash == content.providerHash && file.size == content.lengthBytes
    }

    /// The file with that name, if it exists: a finish request whose reply was lost may have created it.
    private func existing(_ name: String) throws(CloudStorageError) -> DropboxFile? {
        do {
            return try Dropbox.describe(Dropbox.path(name), in: access, by: .after(patience))
        } catch .notFound {
            return nil
        }
    }

    private var names: [String] { [reservation.name, reservation.spareName].compactMap(\.self) }

    /// A request whose argument is in a header.
    private static func request(
        _ route: String, _ argument: some Encodable, _ body: OutgoingBody
    ) throws(CloudStorageError) -> OutgoingRequest {
        OutgoingRequest(
            .dropbox, .upload, .post, Dropbox.content + route,
            headers: [
                .contentType: "application/octet-stream", .dropboxArgument: try DropboxJSON.header(argument),
            ], body: body)
    }
}
