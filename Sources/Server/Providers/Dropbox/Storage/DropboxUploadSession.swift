import HTTPTransport

/// A sequential upload session (HTTP documentation, `files/upload_session`).
///
/// Dropbox accepts bytes only at its current offset and otherwise reports that offset, so a request whose reply was
/// lost may simply be sent again: its bytes are then either stored already or still missing.
struct DropboxUploadSession {
    /// The outcome of a finish.
    enum Ending {
        case published(DropboxFile)
        /// Other contents have the path; the session keeps all bytes, and can be finished elsewhere.
        case taken
        /// Dropbox does not know the session any more: perhaps an earlier attempt has ended it, or a retry by the HTTP
        /// library itself.
        case lost
    }

    private let id: String
    private let access: StorageAccess
    private var client: ProviderClient

    /// Starts a session with the first bytes of a content.
    init(
        _ first: ArraySlice<UInt8>, access: StorageAccess, by deadline: Deadline
    ) throws(CloudStorageError) {
        self.access = access
        client = ProviderClient(access) {
            DropboxVerdict.classify($0, accepting: ["incorrect_offset", "conflict", "not_found", "closed"])
        }
        // A second session left behind by a lost reply has no path and expires by itself.
        let argument = DropboxSessionArgument.Start(contentHash: DropboxUpload.hash(first))
        let reply = try client.send(
            try DropboxUpload.request("upload_session/start", argument, first), by: deadline)
        guard reply.status == 200 else { throw .unavailable(detail: "no upload session") }
        id = try ProviderJSON.decode(DropboxSession.self, reply.body).sessionID
    }

    /// Sends one part, from Dropbox's current offset.
    mutating func append(_ part: UploadPart, by deadline: Deadline) throws(CloudStorageError) {
        let end = part.offset + Int64(part.bytes.count)
        var position = part.offset
        var stalls = 0
        while position < end {
            let rest = part.bytes.dropFirst(Int(position - part.offset))
            let argument = DropboxSessionArgument.Append(
                cursor: .init(sessionID: id, offset: position), contentHash: DropboxUpload.hash(rest))
            let reply = try client.send(
                try DropboxUpload.request("upload_session/append_v2", argument, rest), by: deadline)
            if reply.status == 200 { return }
            let correct = try offset(in: reply, from: part.offset, to: end)
            if correct <= position { stalls += 1 } else { stalls = 0 }
            guard stalls < 3 else { throw .unavailable(detail: "Dropbox does not take the part") }
            position = correct
        }
    }

    /// Sends the last part and publishes all of the session at `path`.
    mutating func finish(
        _ part: UploadPart, at path: String, by deadline: Deadline
    ) throws(CloudStorageError) -> Ending {
        let end = part.offset + Int64(part.bytes.count)
        var position = part.offset
        var attempt = 0
        var stalls = 0
        while true {
            let rest = part.bytes.dropFirst(Int(position - part.offset))
            let argument = DropboxSessionArgument.Finish(
                cursor: .init(sessionID: id, offset: position), commit: DropboxCommit(path: path),
                contentHash: DropboxUpload.hash(rest))
            let request = try DropboxUpload.request("upload_session/finish", argument, rest)
            switch try client.sendOnce(request, by: deadline) {
            case .unknown(let retryAfter, let error):
                attempt += 1
                try client.wait(before: attempt, retryAfter: retryAfter, by: deadline, orThrow: error)
            case .answer(let reply):
                if reply.status == 200 {
                    return .published(try ProviderJSON.decode(DropboxFile.self, reply.body))
                }
                let tags = DropboxErrorBody(reply.body)?.tags ?? []
                if tags.contains("conflict") { return .taken }
                guard tags.contains("incorrect_offset") else { return .lost }
                let correct = try offset(in: reply, from: part.offset, to: end)
                if correct <= position { stalls += 1 } else { stalls = 0 }
                guard stalls < 3 else { throw .unavailable(detail: "Dropbox does not take the last part") }
                position = correct
            }
        }
    }

    /// The offset that Dropbox reports, which must be within the current part: earlier ones are gone.
    private func offset(in reply: Reply, from start: Int64, to end: Int64) throws(CloudStorageError) -> Int64 {
        guard let correct = DropboxErrorBody(reply.body)?.correctOffset else {
            throw .unavailable(detail: "Dropbox lost the upload session")
        }
        guard (start...end).contains(correct) else { throw .unavailable(detail: "Dropbox forgot acknowledged bytes") }
        return correct
    }
}
