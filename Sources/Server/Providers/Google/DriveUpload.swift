import HTTPTransport
import HTTPTypes

/// An upload to Drive: in a single multipart request if the content is small, otherwise through a resumable session
/// (Drive API, "Upload file data"). Both send bytes as they arrive.
///
/// Nothing appears in the person's drive before Drive has accepted the last part. The object's identifier is chosen
/// beforehand, so an object that already exists is our own, from an earlier attempt of unknown outcome.
struct DriveUpload {
    /// Every chunk of a session except the last is a multiple of this size.
    static let granularity = 256 * 1024
    /// Content up to this size needs only one request; Drive accepts 5 MB including metadata.
    static let multipartLimitBytes = 4 << 20

    let content: any UploadContent
    let file: DriveNewFile
    let access: StorageAccess
    /// The time limit of each step, measured from the arrival of its bytes: phones may be slower than any deadline.
    private let patience: Duration

    init(content: any UploadContent, file: DriveNewFile, access: StorageAccess) {
        self.content = content
        self.file = file
        self.access = access
        patience = access.deadline.remaining
    }

    func run() throws(CloudStorageError) -> StoredObject {
        let stored = try send()
        guard stored.md5Checksum == content.providerHash,
            stored.size.flatMap({ Int64($0) }) == content.lengthBytes
        else { throw .contentMismatch }
        return stored.stored
    }

    private func send() throws(CloudStorageError) -> DriveFile {
        if let resumption = content.resumption, let url = resumption.session {
            return try resume(resumption, DriveUploadSession(url: url, totalBytes: content.lengthBytes, access: access))
        }
        let first = try part()
        let limit = content.resumption.map { type(of: $0).smallBytes } ?? Self.multipartLimitBytes
        return try first.isLast && first.count <= limit ? sendWhole(first) : sendInSession(first)
    }

    private func part() throws(CloudStorageError) -> UploadPart { try content.part(granularity: Self.granularity) }

    // MARK: Small content

    private func sendWhole(_ part: UploadPart) throws(CloudStorageError) -> DriveFile {
        let boundary = "part-\(file.id)"
        var metadata = Array("--\(boundary)\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n".utf8)
        metadata += try ProviderJSON.encode(file)
        metadata += Array("\r\n--\(boundary)\r\nContent-Type: \(file.mimeType)\r\n\r\n".utf8)
        var request = OutgoingRequest(.google, .upload, .post, Self.url(uploadType: "multipart"))
        request.headers[.contentType] = "multipart/related; boundary=\(boundary)"
        request.body = part.body(after: metadata, before: Array("\r\n--\(boundary)--\r\n".utf8))
        let reply = try Self.create(in: access) { client throws(CloudStorageError) in
            try client.send(request, with: part, within: patience)
        }
        if reply.status == 409 { return try existingAfterRest(from: part) }
        return try ProviderJSON.decode(DriveFile.self, reply.body)
    }

    // MARK: Resumable session

    private func sendInSession(_ first: UploadPart) throws(CloudStorageError) -> DriveFile {
        guard let session = try startSession() else { return try existingAfterRest(from: first) }
        return try transfer(first, in: session, mayRestart: true)
    }

    /// Continues the session of an earlier request.
    private func resume(
        _ resumption: any UploadResumption, _ session: DriveUploadSession
    ) throws(CloudStorageError) -> DriveFile {
        var session = session
        if !resumption.isPositionCertain {
            switch try session.progress(by: .after(patience)) {
            case .at(let position):
                do { try resumption.skip(to: position) } catch { throw .contentFailed(error) }
            case .finished, .exists: return try existingAfterRest(from: part())
            case .lost:
                if let file = try existingIfAny() {
                    try content.verifyRest(from: part(), granularity: Self.granularity)
                    return file
                }
                throw lost()
            }
        }
        return try transfer(part(), in: session, mayRestart: false)
    }

    /// Sends everything from `first` onwards.
    private func transfer(
        _ first: UploadPart, in session: DriveUploadSession, mayRestart: Bool
    ) throws(CloudStorageError) -> DriveFile {
        var session = session
        var part = first
        var mayRestart = mayRestart
        while true {
            switch try send(part, in: &session) {
            case .finished(let file): return file
            case .taken:
                guard !part.isLast else { throw .unavailable(detail: "Drive expects more than the whole file") }
                part = try self.part()
            case .exists: return try existingAfterRest(from: part)
            case .lost:
                if part.isLast {
                    // The hash is certain only after the end of the content.
                    try part.arrive()
                    if let file = try existingIfAny() { return file }
                }
                // The bytes of earlier parts are gone; while the first part is still in memory, the upload can start
                // over.
                guard part.offset == 0, mayRestart, let fresh = try startSession() else { throw lost() }
                session = fresh
                mayRestart = false
            }
        }
    }

    private func send(
        _ part: UploadPart, in session: inout DriveUploadSession
    ) throws(CloudStorageError) -> DriveUploadSession.Outcome {
        try content.salvaging(part, granularity: Self.granularity) { part, isRepetition throws(CloudStorageError) in
            try session.send(part, within: patience, isPositionKnown: !isRepetition)
        } keep: { part, outcome throws(CloudStorageError) in
            if case .taken = outcome { try content.resumption?.keep(session.url) }
        }
    }

    /// A session also ends if the folder is deleted.
    private func lost() -> CloudStorageError {
        access.folder.markDoubtful()
        content.resumption?.startOver()
        return .unavailable(detail: "Drive lost the upload session")
    }

    private func startSession() throws(CloudStorageError) -> DriveUploadSession? {
        try Self.startSession(for: file, ofBytes: content.lengthBytes, in: access, by: .after(patience))
    }

    /// - Returns: `nil` if the object already exists.
    static func startSession(
        for file: DriveNewFile, ofBytes lengthBytes: Int64, in access: StorageAccess, by deadline: Deadline
    ) throws(CloudStorageError) -> DriveUploadSession? {
        var request = OutgoingRequest(.google, .upload, .post, Self.url(uploadType: "resumable"))
        request.headers[.contentType] = "application/json; charset=UTF-8"
        request.headers[.uploadContentType] = file.mimeType
        request.headers[.uploadContentLength] = String(lengthBytes)
        request.body = .bytes(try ProviderJSON.encode(file)[...])
        let reply = try create(in: access) { client throws(CloudStorageError) in
            try client.send(request, by: deadline)
        }
        if reply.status == 409 { return nil }
        guard reply.status == 200, let location = reply.head.headers[.location] else {
            throw .unavailable(detail: "status \(reply.status) when starting a session")
        }
        return try DriveUploadSession(url: location, totalBytes: lengthBytes, access: access)
    }

    // MARK: Both methods

    /// Sends a request that creates an object; a conflict is a valid reply.
    private static func create(
        in access: StorageAccess, _ send: (inout ProviderClient) throws(CloudStorageError) -> Reply
    ) throws(CloudStorageError) -> Reply {
        var client = ProviderClient(access) { DriveVerdict.classify($0, accepting: [409]) }
        do {
            return try send(&client)
        } catch .notFound {
            // Only the folder can be missing.
            access.folder.markDoubtful()
            throw .unavailable(detail: "the folder is gone")
        }
    }

    /// The object with our identifier, after reading and thereby verifying the rest of the content.
    private func existingAfterRest(from part: UploadPart) throws(CloudStorageError) -> DriveFile {
        try content.verifyRest(from: part, granularity: Self.granularity)
        return try existing()
    }

    /// The object with our identifier, which Drive reports as already used.
    private func existing() throws(CloudStorageError) -> DriveFile {
        guard let file = try existingIfAny() else {
            throw .unavailable(detail: "the object's identifier is used: the object was deleted")
        }
        return file
    }

    private func existingIfAny() throws(CloudStorageError) -> DriveFile? {
        var client = ProviderClient(access) { DriveVerdict.classify($0, accepting: []) }
        do {
            return try GoogleDrive.describe(file.id, with: &client, by: .after(patience))
        } catch .notFound {
            return nil
        }
    }

    private static func url(uploadType: String) -> String {
        OutgoingRequest.url(
            GoogleDrive.upload,
            [("uploadType", uploadType), ("fields", DriveFile.fields)] + GoogleDrive.allDrives)
    }
}

extension HTTPField.Name {
    fileprivate static let uploadContentType = HTTPField.Name("X-Upload-Content-Type")!
    fileprivate static let uploadContentLength = HTTPField.Name("X-Upload-Content-Length")!
}

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
