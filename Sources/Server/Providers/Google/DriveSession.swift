import HTTPTransport
import HTTPTypes

/// An upload to Drive: in a single multipart request if the content is small, otherwise through a resumable session
/// (Drive API, "Upload file data" and "Perform a resumable upload"). Both send bytes as they arrive.
///
/// Nothing appears in the person's drive before Drive has accepted the last part. The object's identifier is chosen
/// beforehand, so an object that already exists is our own, from an earlier attempt of unknown outcome.
///
/// Drive may store less of a chunk than was sent, so its reported position decides where to continue. After an
/// ambiguous reply, Drive is asked for its position before any byte is sent again.
struct DriveSession: UploadSession {
    /// Every chunk of a session except the last is a multiple of this size.
    static let granularity = 256 * 1024
    /// Content up to this size needs only one request; Drive accepts 5 MB including metadata.
    private static let multipartLimitBytes = 4 << 20

    let content: any UploadContent
    private let file: DriveNewFile
    private let access: StorageAccess
    /// The time limit of each step, measured from the arrival of its bytes: phones may be slower than any deadline.
    private let patience: Duration
    /// The session's address; empty before the session begins. Secret: it authorizes its holder to write.
    private(set) var record = ""
    private var client: ProviderClient

    init(_ content: any UploadContent, as file: DriveNewFile, to access: StorageAccess) {
        self.content = content
        self.file = file
        self.access = access
        patience = access.deadline.remaining
        client = Self.client(access)
    }

    func run() throws(CloudStorageError) -> StoredObject {
        let stored = try SessionUpload(self).run()
        guard stored.md5Checksum == content.providerHash,
            stored.size.flatMap({ Int64($0) }) == content.lengthBytes
        else { throw .contentMismatch }
        return stored.stored
    }

    var rules: PartRules {
        PartRules(
            granularity: Self.granularity, longest: .max, whole: Self.multipartLimitBytes, restarts: true,
            collects: false)
    }

    // MARK: Small content

    func sendWhole(_ part: UploadPart) throws(CloudStorageError) -> DriveFile {
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
        guard reply.status == 409 else { return try ProviderJSON.decode(DriveFile.self, reply.body) }
        try content.verifyRest(from: part, granularity: Self.granularity)
        return try existing()
    }

    // MARK: Resumable session

    mutating func begin() throws(CloudStorageError) -> (() throws(CloudStorageError) -> DriveFile)? {
        let url = try Self.startSession(for: file, ofBytes: content.lengthBytes, in: access, by: .after(patience))
        guard let url else { return existing }
        try join(url)
        return nil
    }

    mutating func open(_ record: String) throws(CloudStorageError) -> Bool {
        try join(try Self.checked(record))
        return true
    }

    private mutating func join(_ url: String) throws(CloudStorageError) {
        record = url
        client = Self.client(access)
    }

    private static func client(_ access: StorageAccess) -> ProviderClient {
        ProviderClient(access) { reply in
            // For any other rejection by Drive, the documentation requires a new session.
            switch DriveVerdict.classify(reply, accepting: [308, 404, 409, 410]) {
            case .failure(.rejected) where (400..<500).contains(reply.status) && DriveErrorBody(reply) != nil: .answer
            case let verdict: verdict
            }
        }
    }

    mutating func progress(after recorded: Int64) throws(CloudStorageError) -> SessionProgress<DriveFile> {
        let reply = try client.send(query, by: .after(patience))
        switch reply.status {
        // If Drive has fewer bytes than were recorded, its reply to the next chunk is a failure.
        case 308: return .at(max(Self.storedBytes(reply.head), recorded))
        case 409: return .exists(existing)
        case 400..<500:
            guard let file = try created() else { throw lost() }
            return .exists { file }
        default:
            _ = try ProviderJSON.decode(DriveFile.self, reply.body)
            return .exists(existing)
        }
    }

    mutating func send(_ part: UploadPart) throws(CloudStorageError) -> SessionOutcome<DriveFile> {
        try send(part, isPositionKnown: true)
    }

    mutating func keep(_ rest: UploadPart?) throws(CloudStorageError) -> Bool {
        guard let rest, case .taken = try send(rest, isPositionKnown: false) else { return false }
        return true
    }

    /// - Parameter isPositionKnown: whether Drive is known to have none of the part yet.
    private mutating func send(
        _ part: UploadPart, isPositionKnown: Bool
    ) throws(CloudStorageError) -> SessionOutcome<DriveFile> {
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
                case 409: return .exists(existing)
                case 400..<500: return .lost
                default: return .finished(try ProviderJSON.decode(DriveFile.self, reply.body))
                }
                if let moved = reply.head.headers[.location] { record = try Self.checked(moved) }
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
        var request = OutgoingRequest(.google, .upload, .put, record, body: part.body(from: position))
        request.headers[.contentRange] = "bytes \(position)-\(part.end - 1)/\(content.lengthBytes)"
        return request
    }

    /// A query for Drive's progress; for empty content it is also the only chunk.
    private var query: OutgoingRequest {
        var request = OutgoingRequest(.google, .upload, .put, record)
        request.headers[.contentRange] = "bytes */\(content.lengthBytes)"
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

    /// A session also ends if the folder is deleted.
    func lost() -> CloudStorageError {
        access.folder.markDoubtful()
        return content.lost("Drive lost the upload session")
    }

    /// Drive discards sessions itself.
    func failed(_ error: CloudStorageError) -> CloudStorageError { error }

    /// - Returns: the session's address; `nil` if the object already exists.
    static func startSession(
        for file: DriveNewFile, ofBytes lengthBytes: Int64, in access: StorageAccess, by deadline: Deadline
    ) throws(CloudStorageError) -> String? {
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
        return try checked(location)
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

    /// The object with our identifier, which Drive reports as already used.
    private func existing() throws(CloudStorageError) -> DriveFile {
        guard let file = try created() else {
            throw .unavailable(detail: "the object's identifier is used: the object was deleted")
        }
        return file
    }

    func created() throws(CloudStorageError) -> DriveFile? {
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
