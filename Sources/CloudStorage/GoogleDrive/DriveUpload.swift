import HTTPTransport
import HTTPTypes

/// One upload to Drive: in a single multipart request if the content is small, else through a resumable session
/// (Drive API, "Upload file data").
///
/// Nothing appears in the person's drive before the last part has been accepted.
struct DriveUpload {
    /// Every chunk of a session but the last is a multiple of this.
    static let granularity = 256 * 1024
    /// Up to this size the bytes are copied into a multipart body.
    static let multipartLimitBytes = 1 << 20

    let content: any UploadContent
    let file: DriveNewFile
    let access: StorageAccess

    func run() throws(CloudStorageError) -> StoredObject {
        let stored: DriveFile
        do {
            stored = try send(try part())
        } catch .notFound {
            // Nothing but the folder can be missing.
            access.folder.markDoubtful()
            throw .unavailable(detail: "the folder is gone")
        }
        guard stored.md5Checksum == content.providerHash,
            stored.size.flatMap({ Int64($0) }) == content.lengthBytes
        else { throw .contentMismatch }
        return stored.stored
    }

    private func send(_ first: UploadPart) throws(CloudStorageError) -> DriveFile {
        if first.isLast && first.bytes.count <= Self.multipartLimitBytes { return try sendWhole(first.bytes) }
        return try sendInSession(first)
    }

    private func part() throws(CloudStorageError) -> UploadPart {
        do {
            return try content.nextPart(granularity: Self.granularity)
        } catch {
            throw .contentFailed(error)
        }
    }

    // MARK: Small content

    private func sendWhole(_ bytes: ArraySlice<UInt8>) throws(CloudStorageError) -> DriveFile {
        let boundary = "part-\(file.id)"
        var body = Array("--\(boundary)\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n".utf8)
        body += try DriveJSON.encode(file)
        body += Array("\r\n--\(boundary)\r\nContent-Type: \(file.mimeType)\r\n\r\n".utf8)
        body += bytes
        body += Array("\r\n--\(boundary)--\r\n".utf8)
        var request = OutgoingRequest(.post, url(uploadType: "multipart"))
        request.headers[.contentType] = "multipart/related; boundary=\(boundary)"
        request.body = body[...]
        var client = ProviderClient(access) { DriveVerdict.judge($0, answers: [409]) }
        let reply = try client.sendRepeatably(request, deadline: .after(access.deadline.remaining))
        // The identifier is ours alone: a conflict means that an earlier attempt, whose reply was lost, has worked.
        if reply.status == 409 { return try GoogleDrive.describe(file.id, with: &client) }
        return try DriveJSON.decode(DriveFile.self, reply.body)
    }

    // MARK: Resumable session

    private func sendInSession(_ first: UploadPart) throws(CloudStorageError) -> DriveFile {
        var session = try startSession()
        var client = ProviderClient(access) { DriveVerdict.judge($0, answers: [308, 404, 410]) }
        var part = first
        while true {
            if let file = try send(part, to: &session, with: &client) { return file }
            guard !part.isLast else { throw .unavailable(detail: "Drive wants more than the whole file") }
            // The old part is let go before the next one is read, so that its memory can be used again.
            part.bytes = []
            part = try self.part()
        }
    }

    private func startSession() throws(CloudStorageError) -> String {
        var client = ProviderClient(access) { DriveVerdict.judge($0, answers: []) }
        var request = OutgoingRequest(.post, url(uploadType: "resumable"))
        request.headers[.contentType] = "application/json; charset=UTF-8"
        request.headers[.uploadContentType] = file.mimeType
        request.headers[.uploadContentLength] = String(content.lengthBytes)
        request.body = try DriveJSON.encode(file)[...]
        let reply = try client.sendRepeatably(request, deadline: .after(.seconds(40)))
        guard reply.status == 200, let location = reply.head.headers[.location] else {
            throw .unavailable(detail: "status \(reply.status) when starting a session")
        }
        return location
    }

    /// Sends one part, again and from where Drive stands if need be.
    /// - Returns: the file once Drive has it all.
    private func send(
        _ part: UploadPart, to session: inout String, with client: inout ProviderClient
    ) throws(CloudStorageError) -> DriveFile? {
        let deadline = Deadline.after(.seconds(40))
        let end = part.offset + Int64(part.bytes.count)
        var position = part.offset
        var attempt = 0
        while true {
            let chunk = part.bytes.dropFirst(Int(position - part.offset))
            var request = OutgoingRequest(.put, session, body: chunk)
            request.headers[.contentRange] = "bytes \(position)-\(end - 1)/\(content.lengthBytes)"
            if chunk.isEmpty { request.headers[.contentRange] = "bytes */\(content.lengthBytes)" }
            var reply = try client.send(request, isRepeatable: false, deadline: deadline)
            if reply == nil {
                // Nobody knows how much arrived, so Drive is asked.
                request.headers[.contentRange] = "bytes */\(content.lengthBytes)"
                request.body = []
                reply = try client.sendRepeatably(request, deadline: deadline)
            }
            guard let reply else { throw .timedOut }
            switch reply.status {
            case 308:
                if let moved = reply.head.headers[.location] { session = moved }
                let stored = Self.storedBytes(reply.head)
                if stored == end && !part.isLast { return nil }
                guard stored >= part.offset && stored <= end else {
                    throw .unavailable(detail: "Drive forgot acknowledged bytes")
                }
                if stored > position { attempt = 0 }
                position = stored
                attempt += 1
                guard access.backoff.wait(before: attempt, told: stored > part.offset ? .zero : nil, deadline: deadline)
                else { throw .unavailable(detail: "Drive does not take the part") }
            case 404, 410:
                throw .unavailable(detail: "Drive lost the upload session")
            default:
                return try DriveJSON.decode(DriveFile.self, reply.body)
            }
        }
    }

    /// How many bytes Drive has: `Range: bytes=0-N` names the last one, and no such header means none.
    static func storedBytes(_ head: ReplyHead) -> Int64 {
        guard let range = head.headers[.range], let dash = range.lastIndex(of: "-"),
            let last = Int64(range[range.index(after: dash)...])
        else { return 0 }
        return last + 1
    }

    private func url(uploadType: String) -> String {
        PercentEncoding.url(
            GoogleDrive.upload, [("uploadType", uploadType), ("fields", DriveFile.fields)])
    }
}

extension HTTPField.Name {
    fileprivate static let uploadContentType = HTTPField.Name("X-Upload-Content-Type")!
    fileprivate static let uploadContentLength = HTTPField.Name("X-Upload-Content-Length")!
}
