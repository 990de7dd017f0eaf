import HTTPTransport
import HTTPTypes

/// The data phase of a resumable upload (Drive API, "Perform a resumable upload").
///
/// Drive may store less of a chunk than was sent, so its reported position decides where to continue. After an
/// ambiguous reply, Drive is asked for its position before any byte is sent again.
struct DriveUploadSession {
    /// The outcome of one part.
    enum Outcome {
        /// Drive has the whole file.
        case finished(DriveFile)
        /// Drive has this part and waits for the next one.
        case taken
        /// A different upload has created the object with our identifier.
        case exists
        /// Drive no longer knows the session.
        case lost
    }

    /// The session's address. Secret: it authorizes its holder to write.
    private(set) var url: String
    private let totalBytes: Int64
    private let access: StorageAccess
    private var client: ProviderClient

    /// - Parameter url: the session's address. Secret: it authorizes its holder to write.
    init(url: String, totalBytes: Int64, access: StorageAccess) throws(CloudStorageError) {
        self.url = try Self.checked(url)
        self.totalBytes = totalBytes
        self.access = access
        client = ProviderClient(access) { reply in
            // For any other rejection by Drive, the documentation requires a new session.
            switch DriveVerdict.classify(reply, accepting: [308, 404, 409, 410]) {
            case .failure(.rejected) where (400..<500).contains(reply.status) && DriveErrorBody(reply) != nil: .answer
            case let verdict: verdict
            }
        }
    }

    /// Drive's progress with an upload that another request began.
    enum Progress {
        case finished(DriveFile)
        /// Drive has all bytes before this position.
        case at(Int64)
        case exists
        case lost
    }

    /// Asks Drive for its progress.
    mutating func progress(by deadline: Deadline) throws(CloudStorageError) -> Progress {
        let reply = try client.send(query, by: deadline)
        switch reply.status {
        case 308: return .at(Self.storedBytes(reply.head))
        case 409: return .exists
        case 400..<500: return .lost
        default: return .finished(try ProviderJSON.decode(DriveFile.self, reply.body))
        }
    }

    /// Sends one part from Drive's position, if necessary repeatedly.
    ///
    /// - Parameters:
    ///   - patience: how long Drive may take after all of the part has arrived.
    ///   - isPositionKnown: whether Drive is known to have none of the part yet.
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
                    throw .unavailable(detail: "Drive lost acknowledged bytes")
                }
                if stored > position {
                    attempt = 0
                } else if wasPositionKnown {
                    attempt += 1
                    try client.wait(
                        before: attempt, retryAfter: nil, by: deadline,
                        orThrow: .unavailable(detail: "Drive does not accept the part"))
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

    /// A query for Drive's progress; for empty content it is also the only chunk.
    private var query: OutgoingRequest {
        var request = OutgoingRequest(.google, .upload, .put, url)
        request.headers[.contentRange] = "bytes */\(totalBytes)"
        return request
    }

    /// The number of bytes that Drive has: `Range: bytes=0-N` names the last one; without the header, Drive has none.
    private static func storedBytes(_ head: ReplyHead) -> Int64 {
        guard let range = head.headers[.range], range.hasPrefix("bytes=0-"), let last = Int64(range.dropFirst(8)),
            (0..<Int64.max).contains(last)
        else { return 0 }
        return last + 1
    }

    /// `url` if it belongs to Google: the access token is never sent elsewhere.
    private static func checked(_ url: String) throws(CloudStorageError) -> String {
        guard ExternalService.google.owns(url) else {
            throw .rejected(code: "upload session at an unknown host")
        }
        return url
    }
}
