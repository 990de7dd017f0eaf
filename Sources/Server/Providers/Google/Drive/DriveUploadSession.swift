import HTTPTransport
import HTTPTypes

/// The data phase of a resumable upload (Drive API, "Perform a resumable upload").
///
/// Drive may store less of a chunk than was sent, so the position that it reports decides where to continue. After
/// anything but a clear reply Drive is asked for its position; no byte is sent again without that.
struct DriveUploadSession {
    /// The outcome of one part.
    enum Outcome {
        /// Drive has the whole file.
        case finished(DriveFile)
        /// Drive has this part and waits for the next one.
        case taken
        /// Another upload has created the object with our identifier.
        case exists
        /// Drive no longer knows the session.
        case lost
    }

    /// The session's address, a secret: whoever has it may write.
    private(set) var url: String
    private let totalBytes: Int64
    private let access: StorageAccess
    private var client: ProviderClient

    /// - Parameter url: the session's address, a secret: whoever has it may write.
    init(url: String, totalBytes: Int64, access: StorageAccess) throws(CloudStorageError) {
        self.url = try Self.checked(url)
        self.totalBytes = totalBytes
        self.access = access
        client = ProviderClient(access) { reply in
            // Of any other refusal of Drive's the documentation says that the session must be begun anew.
            switch DriveVerdict.classify(reply, accepting: [308, 404, 409, 410]) {
            case .failure(.rejected) where (400..<500).contains(reply.status) && DriveErrorBody(reply) != nil: .answer
            case let verdict: verdict
            }
        }
    }

    /// What Drive has of an upload that another request has begun.
    enum Progress {
        case finished(DriveFile)
        /// All bytes before this position.
        case at(Int64)
        case exists
        case lost
    }

    /// Asks how much Drive has.
    mutating func progress(by deadline: Deadline) throws(CloudStorageError) -> Progress {
        let reply = try client.send(query, by: deadline)
        switch reply.status {
        case 308: return .at(Self.storedBytes(reply.head))
        case 409: return .exists
        case 400..<500: return .lost
        default: return .finished(try ProviderJSON.decode(DriveFile.self, reply.body))
        }
    }

    /// Sends one part, if necessary again, from Drive's position.
    ///
    /// - Parameters:
    ///   - patience: how long Drive may take once all of the part has arrived.
    ///   - isPositionKnown: whether Drive has nothing of the part yet.
    mutating func send(
        _ part: UploadPart, within patience: Duration, isPositionKnown: Bool = true
    ) throws(CloudStorageError) -> Outcome {
        let end = part.end
        var position = part.offset
        var isPositionKnown = isPositionKnown
        var attempt = 0
        while true {
            let wasPositionKnown = isPositionKnown
            let request = isPositionKnown && position < end ? chunk(of: part, from: position) : query
            let outcome = try client.sendOnce(request, by: part.deadline(within: patience))
            let deadline = part.deadline(within: patience)
            switch outcome {
            case .unknown(let retryAfter, let error):
                isPositionKnown = false
                attempt += 1
                try client.wait(before: attempt, retryAfter: retryAfter, by: deadline, orThrow: error)
            case .answer(let reply):
                switch reply.status {
                case 308: break
                case 409: return .exists
                case 400..<500: return .lost
                default: return .finished(try ProviderJSON.decode(DriveFile.self, reply.body))
                }
                if let moved = reply.head.headers[.location] { url = try Self.checked(moved) }
                let stored = Self.storedBytes(reply.head)
                if stored == end && !part.isLast { return .taken }
                guard stored >= part.offset && stored <= end else {
                    throw .unavailable(detail: "Drive forgot acknowledged bytes")
                }
                if stored > position {
                    attempt = 0
                } else if wasPositionKnown {
                    attempt += 1
                    try client.wait(
                        before: attempt, retryAfter: nil, by: deadline,
                        orThrow: .unavailable(detail: "Drive does not take the part"))
                }
                position = stored
                isPositionKnown = true
            }
        }
    }

    /// The rest of a part as a chunk.
    private func chunk(of part: UploadPart, from position: Int64) -> OutgoingRequest {
        var request = OutgoingRequest(.google, .upload, .put, url, body: part.body(from: position))
        request.headers[.contentRange] = "bytes \(position)-\(part.end - 1)/\(totalBytes)"
        return request
    }

    /// A query for what Drive has; of empty content it is also the only chunk.
    private var query: OutgoingRequest {
        var request = OutgoingRequest(.google, .upload, .put, url)
        request.headers[.contentRange] = "bytes */\(totalBytes)"
        return request
    }

    /// How many bytes Drive has: `Range: bytes=0-N` names the last one, and no such header means none.
    private static func storedBytes(_ head: ReplyHead) -> Int64 {
        guard let range = head.headers[.range], range.hasPrefix("bytes=0-"), let last = Int64(range.dropFirst(8)),
            (0..<Int64.max).contains(last)
        else { return 0 }
        return last + 1
    }

    /// `url` if it is one of Google's: the access token goes nowhere else.
    private static func checked(_ url: String) throws(CloudStorageError) -> String {
        guard ExternalService.google.owns(url) else {
            throw .rejected(code: "upload session at a foreign address")
        }
        return url
    }
}
