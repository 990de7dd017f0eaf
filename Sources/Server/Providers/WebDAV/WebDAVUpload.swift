import HTTPTransport
import HTTPTypes
import OpenSSLCrypto

extension HTTPField.Name {
    /// Stored with the file by Nextcloud, compared with the bytes by ownCloud.
    static let ownCloudChecksum = HTTPField.Name("OC-Checksum")!
    /// Asks Nextcloud for the hash of the bytes that it received.
    static let hashWanted = HTTPField.Name("X-Hash")!
    /// Contains that hash in the reply.
    static let md5Received = HTTPField.Name("X-Hash-MD5")!
    static let ownCloudFileID = HTTPField.Name("OC-FileId")!
    static let ownCloudEntityTag = HTTPField.Name("OC-ETag")!
}

/// An upload: the bytes are sent to a temporary name, which is then moved to the object's name.
///
/// Small content is one request, which may be repeated. Large content is sent in chunks if the server accepts them. If
/// it does not, or if there is not enough memory for chunks, large content is one request, which cannot be repeated:
/// there is no resumption method on which servers agree, and some treat a PUT with `Content-Range` as replacing the
/// whole file (Apache; RFC 9110, section 14.5).
struct WebDAVUpload {
    /// Nextcloud's chunks have at least 5 MB; also the largest content that is sent in one repeatable request.
    static let granularity = 5 << 20
    /// Larger content is not read back.
    private static let proofLimitBytes: Int64 = 32 << 20
    /// The time limit for reading back: shorter than the time for which a thread may show no progress.
    private static let readingTime: Duration = .seconds(180)
    private static let cleaningTime: Duration = .seconds(5)

    let content: any UploadContent
    let reservation: ObjectReservation
    let mimeType: String
    let client: WebDAVClient
    private let temporary: WebDAVTemporaryName
    /// The time limit of each step, measured from the arrival of its bytes: phones may be slower than any deadline.
    private let patience: Duration

    init(
        content: any UploadContent, reservation: ObjectReservation, mimeType: String, client: WebDAVClient
    ) {
        self.content = content
        self.reservation = reservation
        self.mimeType = mimeType
        self.client = client
        temporary = WebDAVTemporaryName(of: reservation, hash: content.providerHash)
        patience = client.access.deadline.remaining
    }

    func run() throws(CloudStorageError) -> StoredObject {
        do throws(CloudStorageError) {
            let written = try send()
            for name in [reservation.name, reservation.spareName].compactMap(\.self) {
                if let object = try publish(as: name, written) { return object }
            }
            throw .contentMismatch
        } catch {
            switch error {
            // The server has not failed, so it is asked to clean up; after other errors that is left to the jobs role.
            case .contentFailed, .contentMismatch:
                // An upload in pieces may continue.
                guard content.resumption == nil else { throw error }
                _ = try? client.remove(temporaryURL, by: .after(Self.cleaningTime))
            default: break
            }
            throw error
        }
    }

    private var temporaryURL: String { client.url(temporary.name) }

    // MARK: Bytes

    /// The server's reply about the bytes that it received.
    struct Written {
        var fileID: String?
        /// Whether it has proved that they are right.
        var isProven: Bool
    }

    private func send() throws(CloudStorageError) -> Written {
        var written: Written
        let hasMemory = content.reserveMemory(partBytes: Int(min(content.lengthBytes, Int64(Self.granularity))))
        let limit = content.resumption.map { type(of: $0).smallBytes } ?? Self.granularity
        if hasMemory, content.lengthBytes <= limit {
            written = try put(try part { try content.nextPart(granularity: Self.granularity) })
        } else {
            if content.resumption?.session == nil { try requireRoom() }
            let chunks = NextcloudChunks(
                upload: temporary.name, target: temporaryURL, content: content, client: client, within: patience)
            if let chunks, try begin(chunks, hasMemory: hasMemory) {
                written = try SessionUpload(chunks).run()
            } else {
                written = try put(try part { try content.rest() })
            }
        }
        if !written.isProven { try prove() }
        return written
    }

    /// - Returns: whether the server accepts chunks. If it refuses an upload in pieces, it is asked once more.
    private func begin(_ chunks: NextcloudChunks, hasMemory: Bool) throws(CloudStorageError) -> Bool {
        if content.resumption?.session != nil { return true }
        if content.resumption != nil, try chunks.makeFolder() { return true }
        guard hasMemory else { return false }
        return try chunks.makeFolder()
    }

    private func part(_ next: () throws -> UploadPart) throws(CloudStorageError) -> UploadPart {
        do { return try next() } catch { throw .contentFailed(error) }
    }

    /// Sends bytes to the temporary name.
    ///
    /// A failed request may have stored the bytes in part or whole, and some servers do not overwrite them (copyparty
    /// creates another file). Therefore they are removed before the bytes are sent again.
    private func put(_ part: UploadPart) throws(CloudStorageError) -> Written {
        var provider = client.provider(accepting: [400, 404, 409])
        let headers: HTTPFields = [
            .contentType: mimeType, .ownCloudChecksum: "MD5:" + content.providerHash, .hashWanted: "md5",
        ]
        let request = client.request(.upload, .put, temporaryURL, headers: headers, body: part.body())
        var hasFolder = false
        var mayHaveLeftBytes = false
        var attempt = 0
        while true {
            let deadline = part.deadline(within: patience)
            var failure: (Duration?, CloudStorageError)?
            if mayHaveLeftBytes { failure = try clear(&provider, by: deadline) }
            if failure == nil {
                mayHaveLeftBytes = true
                switch try provider.sendOnce(request, by: deadline) {
                case .answer(let reply) where [404, 409].contains(reply.status):
                    guard !hasFolder else {
                        throw .rejected(code: "\(reply.status) although the folder exists")
                    }
                    hasFolder = true
                    try client.makeFolder(by: .after(patience))
                    mayHaveLeftBytes = false
                    continue
                case .answer(let reply) where reply.status == 400: throw Self.failure(of: reply)
                case .answer(let reply) where [201, 204].contains(reply.status):
                    guard let copy = copy(by: reply) else {
                        return try Self.written(reply, hash: content.providerHash)
                    }
                    try client.remove(client.url(copy), by: .after(Self.cleaningTime))
                    failure = (nil, .unavailable(detail: "the server has stored the bytes under another name"))
                // For example, the page of a network that requires a sign-in.
                case .answer(let reply): throw .unavailable(detail: "status \(reply.status) for a PUT")
                case .unknown(let retryAfter, let error):
                    // nginx replies with 500 if the folder is missing.
                    if !hasFolder, case .unavailable = error, let isThere = folderIsThere(by: deadline) {
                        hasFolder = true
                        if !isThere {
                            try client.makeFolder(by: .after(patience))
                            mayHaveLeftBytes = false
                            continue
                        }
                    }
                    failure = (retryAfter, error)
                }
            }
            guard let (retryAfter, error) = failure else { continue }
            attempt += 1
            try provider.wait(
                before: attempt, retryAfter: retryAfter, by: part.deadline(within: patience), orThrow: error)
        }
    }

    /// Removes what a request may have left behind at the temporary name. A server that forbids deletion may overwrite.
    /// - Returns: the reason to retry; `nil` if nothing is left.
    private func clear(
        _ provider: inout ProviderClient, by deadline: Deadline
    ) throws(CloudStorageError) -> (Duration?, CloudStorageError)? {
        do throws(CloudStorageError) {
            let removal = client.request(.delete, .delete, temporaryURL)
            guard case .unknown(let retryAfter, let error) = try provider.sendOnce(removal, by: deadline) else {
                return nil
            }
            return (retryAfter, error)
        } catch .notFound {
            return nil
        } catch .rejected {
            return nil
        }
    }

    /// Checks once whether our folder exists; `nil` if that cannot be determined.
    private func folderIsThere(by deadline: Deadline) -> Bool? {
        do throws(CloudStorageError) {
            return try client.lookOnce(at: client.folder, isCollection: true, by: deadline).map { $0 != nil }
        } catch {
            return nil
        }
    }

    /// The name that the server has given to the bytes, if it differs from the requested one (RFC 9110, section 10.2.2)
    /// and is derived from it: copyparty does not overwrite.
    private func copy(by reply: Reply) -> String? {
        guard let location = reply.head.headers[.location],
            let name = WebDAVAddress.lastName(ofReference: location), name != temporary.name,
            name.hasPrefix(temporary.stem)
        else { return nil }
        return name
    }

    /// The meaning of a 400: ownCloud rejects bytes that do not match the header. Nextcloud reports bytes that were
    /// lost in transit as `BadRequest`, and other faults, such as invalid names, as other exceptions
    /// (`apps/dav/lib/Connector/Sabre/File.php`).
    static func failure(of reply: Reply) -> CloudStorageError {
        let text = String(decoding: reply.body, as: UTF8.self)
        if text.lowercased().contains("checksum") { return .contentMismatch }
        if text.contains("Sabre\\DAV\\Exception\\BadRequest") {
            return .unavailable(detail: "the server has not received all bytes of a PUT")
        }
        return .rejected(code: "400 for a PUT")
    }

    /// - Throws: ``CloudStorageError/contentMismatch`` if the server received different bytes.
    static func written(_ reply: Reply, hash: String) throws(CloudStorageError) -> Written {
        let received = reply.head.headers[.md5Received]?.lowercased()
        if let received, received != hash { throw .contentMismatch }
        return Written(
            fileID: reply.head.headers[.ownCloudFileID].flatMap(WebDAVObjectID.fileID), isProven: received != nil)
    }

    /// Before sending bytes that cannot be sent again, verifies that the folder exists and has room.
    private func requireRoom() throws(CloudStorageError) {
        let folder = try client.look(
            at: client.folder, "<d:resourcetype/><d:quota-available-bytes/>", isCollection: true)
        guard let folder else { return try client.makeFolder() }
        if let available = folder.availableBytes, available >= 0, available < content.lengthBytes {
            throw .quotaExceeded
        }
    }

    // MARK: Proof

    /// Compares what the server has with what was sent: always the size, and the bytes, up to a size limit, for the
    /// first upload to each account and for a sample of the others.
    private func prove() throws(CloudStorageError) {
        guard client.memory.isProofDue(client.account) else { return }
        if content.lengthBytes <= Self.proofLimitBytes {
            guard try hash(of: temporary.name) == content.providerHash else { throw .contentMismatch }
        } else {
            let resource = try client.look(at: client.folder + [temporary.name], by: .after(patience))
            guard resource?.sizeBytes == content.lengthBytes else { throw .contentMismatch }
        }
    }

    /// The MD5 of a file in our folder.
    /// - Throws: ``CloudStorageError/contentMismatch`` if the file is longer than ours.
    private func hash(of name: String) throws(CloudStorageError) -> String {
        let deadline = Deadline.after(Self.readingTime)
        var download = client.by(.after(patience)).download()
        var readBytes: Int64 = 0
        var digest = IncrementalDigest(.md5)
        do throws(CloudStorageError) {
            try download.run(
                client.url(name), begin: { _ in },
                receive: { bytes in
                    digest.update(bytes)
                    readBytes += Int64(bytes.count)
                    return readBytes <= content.lengthBytes && !deadline.hasPassed
                })
        } catch .downloadCancelled {
            throw deadline.hasPassed ? .timedOut : .contentMismatch
        }
        return digest.finish().hexLowercase
    }

    // MARK: Publication

    /// Moves the bytes to `name`.
    ///
    /// A request whose reply was lost may have moved them, even the first one: libcurl itself repeats a request whose
    /// connection ends without a byte. Servers then reply with various statuses: 404 (Nextcloud), 403 (ASGIWebDAV), 400
    /// or 500 (copyparty). After any failure, the object with that name is therefore examined.
    /// - Returns: `nil` if the name has other contents.
    private func publish(as name: String, _ written: Written) throws(CloudStorageError) -> StoredObject? {
        var provider = client.provider(accepting: [400, 404, 409, 412, 502])
        let deadline = Deadline.after(patience)
        var namesPath = client.memory.namesDestinationsByPath(client.account)
        var hasChanged = false
        var attempt = 0
        while true {
            let destination = namesPath ? client.address.path(client.folder + [name]) : client.url(name)
            let move = client.request(
                .metadata, .move, temporaryURL, headers: [.destination: destination, .overwrite: "F"])
            let outcome: SingleOutcome
            do throws(CloudStorageError) { outcome = try provider.sendOnce(move, by: deadline) } catch {
                if let holder = try holder(of: name, by: deadline) { return holder.object }
                throw error
            }
            let failure: (Duration?, CloudStorageError)
            switch outcome {
            case .answer(let reply) where [201, 204].contains(reply.status):
                if hasChanged { client.memory.remember(namesDestinationsByPath: namesPath, client.account) }
                return try object(named: name, written, reply.head)
            // The name is taken: by other contents, or by ours if a reply was lost before.
            case .answer(let reply) where reply.status == 412: return try adopt(name)
            // The server may require the other form of the destination.
            case .answer(let reply) where [400, 502].contains(reply.status):
                namesPath.toggle()
                if !hasChanged {
                    hasChanged = true
                    continue
                }
                if let holder = try holder(of: name, by: deadline) { return holder.object }
                guard reply.status == 502 else { throw .rejected(code: "400 for a move") }
                failure = (reply.head.retryAfter, .unavailable(detail: "status 502"))
            case .answer(let reply):
                // Nothing to move: an attempt whose reply was lost has moved the bytes, or somebody has deleted them.
                if let object = try adopt(name) { return object }
                throw .unavailable(detail: "status \(reply.status) instead of a move")
            case .unknown(let retryAfter, let error):
                if case .rateLimited = error {
                } else if let holder = try holder(of: name, by: deadline) {
                    return holder.object
                }
                failure = (retryAfter, error)
            }
            attempt += 1
            try provider.wait(before: attempt, retryAfter: failure.0, by: deadline, orThrow: failure.1)
        }
    }

    /// The description of the object that the server has just moved, from its reply if that suffices.
    private func object(
        named name: String, _ written: Written, _ head: ReplyHead
    ) throws(CloudStorageError) -> StoredObject {
        let fileID = head.headers[.ownCloudFileID].flatMap(WebDAVObjectID.fileID) ?? written.fileID
        if let fileID, client.finds(fileID), let tag = head.headers[.ownCloudEntityTag].flatMap(WebDAVResource.strong),
            written.isProven
        {
            client.memory.remember(fileID, at: client.folder + [name], entityTag: tag, client.account)
            let object = StoredObject(
                objectID: WebDAVObjectID.file(fileID).text, name: name, sizeBytes: content.lengthBytes,
                providerHash: content.providerHash, revision: tag)
            guard object.isPlausible else { throw .unavailable(detail: "unreadable reply from the WebDAV server") }
            return object
        }
        guard let resource = try client.look(at: client.folder + [name], by: .after(patience)) else {
            throw .unavailable(detail: "the moved file is missing")
        }
        guard resource.sizeBytes == content.lengthBytes else {
            try client.remove(client.url(name), by: .after(Self.cleaningTime))
            throw .contentMismatch
        }
        return try client.stored(resource, named: name)
    }

    /// The object with that name, if its contents are ours; our own copy of them is then removed.
    private func adopt(_ name: String) throws(CloudStorageError) -> StoredObject? {
        let deadline = Deadline.after(patience)
        return try adopt(try client.look(at: client.folder + [name], by: deadline), name, by: deadline)
    }

    /// What exists under a name.
    private enum Holder {
        case ours(StoredObject)
        case others

        var object: StoredObject? { if case .ours(let object) = self { object } else { nil } }
    }

    /// Checks once; `nil` if the name is free, or if the server cannot be asked.
    private func holder(of name: String, by deadline: Deadline) throws(CloudStorageError) -> Holder? {
        let seen: WebDAVResource??
        do throws(CloudStorageError) {
            seen = try client.lookOnce(at: client.folder + [name], by: deadline)
        } catch {
            return nil
        }
        guard let seen = seen ?? nil else { return nil }
        return try adopt(seen, name, by: deadline).map { .ours($0) } ?? .others
    }

    private func adopt(
        _ resource: WebDAVResource?, _ name: String, by deadline: Deadline
    ) throws(CloudStorageError) -> StoredObject? {
        guard let resource, !resource.isCollection, resource.sizeBytes == content.lengthBytes else { return nil }
        let present: String
        if let md5 = resource.md5 { present = md5 } else { present = try hash(of: name) }
        guard present == content.providerHash else { return nil }
        try client.remove(temporaryURL, by: deadline)
        return try client.stored(resource, named: name)
    }
}
