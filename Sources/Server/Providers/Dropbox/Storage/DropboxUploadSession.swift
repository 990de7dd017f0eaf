import HTTPTransport

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
