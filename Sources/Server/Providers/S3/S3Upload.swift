import FoundationEssentials
import HTTPTransport
import HTTPTypes
import OpenSSLCrypto

/// An upload to S3: in a single request if the content fits into one part, otherwise in parts that a final request
/// assembles.
///
/// Each part is kept in memory until it is confirmed. If there is not enough memory, content of any size is sent in one
/// request, which cannot be repeated.
///
/// In both cases, nothing is visible before the last request, which is sent only after the content is known to be
/// right.
struct S3Upload {
    /// "Amazon S3 multipart upload limits".
    private static let maximumParts = 10_000
    /// The largest object that a single request can create ("Amazon S3 multipart upload limits": 5 GiB).
    private static let largestSingleBytes: Int64 = 5 << 30

    let content: any UploadContent
    let reservation: ObjectReservation
    let mimeType: String
    let bucket: S3Bucket
    private let granularity: Int
    /// The time limit of each step, measured from the arrival of its bytes: phones may be slower than any deadline.
    private let patience: Duration

    init(
        content: any UploadContent, reservation: ObjectReservation, mimeType: String, bucket: S3Bucket,
        granularity: Int
    ) {
        self.content = content
        self.reservation = reservation
        self.mimeType = mimeType
        self.bucket = bucket
        patience = bucket.access.deadline.remaining
        // The largest allowed number of parts, each a whole number of the smallest parts.
        let least = Int((content.lengthBytes + Int64(Self.maximumParts) - 1) / Int64(Self.maximumParts))
        self.granularity = max(1, (least + granularity - 1) / granularity) * granularity
    }

    func run() throws(CloudStorageError) -> StoredObject {
        if let resumption = content.resumption, content.lengthBytes > type(of: resumption).smallBytes {
            return try S3PieceUpload.run(self, resumption, partBytes: granularity, patience: patience)
        }
        let hasMemory = content.reserveMemory(partBytes: Int(min(content.lengthBytes, Int64(granularity))))
        if !hasMemory, !bucket.signsPayloads, content.lengthBytes <= Self.largestSingleBytes { return try sendOnce() }
        let first = try nextPart()
        return first.isLast ? try sendWhole(first) : try sendInParts(first)
    }

    /// Only the last part may differ in size, and it must not be larger, as Cloudflare R2 requires ("Multipart
    /// upload").
    private func nextPart() throws(CloudStorageError) -> UploadPart {
        try content.part(granularity: granularity, atMost: granularity)
    }

    // MARK: In one request

    private func sendWhole(_ part: UploadPart) throws(CloudStorageError) -> StoredObject {
        for name in names {
            if let object = try put(part, as: name) { return object }
        }
        throw .contentMismatch
    }

    /// Sends the whole content in a request that cannot be repeated, not even with a different name.
    private func sendOnce() throws(CloudStorageError) -> StoredObject {
        let place = try place()
        let all: UploadPart
        do { all = try content.rest() } catch { throw .contentFailed(error) }
        switch place {
        case .free(let name):
            guard let object = try put(all, as: name, isRepeatable: false) else { throw .contentMismatch }
            return object
        case .stored(let object):
            try all.arrive()
            return object
        }
    }

    /// - Returns: `nil` if other contents have the name.
    private func put(
        _ part: UploadPart, as name: String, isRepeatable: Bool = true
    ) throws(CloudStorageError) -> StoredObject? {
        let isConditional = bucket.has(.conditions)
        if !isConditional, let object = try existing(name) {
            try part.arrive()
            return isOurs(object) ? object : nil
        }
        let objectID = S3.objectID(name)
        var request = bucket.request(.upload, .put, object: objectID, headers: objectHeaders)
        if isConditional { request.headers[.ifNoneMatch] = "*" }
        request.headers[.contentMD5] = [UInt8](hexadecimal: content.providerHash).map {
            Data($0).base64EncodedString()
        }
        try bucket.attach(part, to: &request)
        var client = bucket.client(accepting: isConditional ? Self.taken.union(S3Abilities.refusals) : Self.taken)
        let reply = try client.send(request, with: part, within: patience)
        guard reply.status < 300 else {
            if let code = S3ErrorBody(reply.body)?.code, S3Abilities.refusals.contains(code) {
                bucket.rememberLack(of: .conditions)
                guard isRepeatable else { throw .unavailable(detail: "the service does not support conditions") }
                return try put(part, as: name)
            }
            // An object has the name. If it has the same content, from an attempt whose reply was lost or from an
            // earlier upload, the content counts as stored, provided that it matches its announced checksum.
            try part.arrive()
            guard let object = try existing(name), isOurs(object) else { return nil }
            return object
        }
        guard let tag = reply.head.headers[.eTag].map(S3ETag.init) else {
            throw .unavailable(detail: "unreadable reply from the provider")
        }
        // Where the tag is a different hash, `Content-MD5` has made the service compare the bytes.
        guard S3ETag.md5(of: reply.head) ?? content.providerHash == content.providerHash else { throw .contentMismatch }
        let object = stored(name, tag)
        guard object.isPlausible else { throw .unavailable(detail: "unreadable reply from the provider") }
        return object
    }

    // MARK: In parts

    private func sendInParts(_ first: UploadPart) throws(CloudStorageError) -> StoredObject {
        // Otherwise, an object with that name would be noticed only at the end, when the bytes are gone.
        let name: String
        switch try place() {
        case .free(let free): name = free
        case .stored(let object):
            try content.verifyRest(from: first, granularity: granularity)
            return object
        }
        var upload = try S3MultipartUpload(
            of: name, headers: objectHeaders, in: bucket, accepting: Self.taken, by: .after(patience))
        do throws(CloudStorageError) {
            var part = first
            try upload.add(part, within: patience)
            while !part.isLast {
                part = try nextPart()
                try upload.add(part, within: patience)
            }
            let ending = try upload.complete(by: .after(patience))
            // The existing object decides: an attempt whose reply was lost may have completed the upload, another
            // upload may have intervened, and some services later report a different tag than in the reply to the
            // completion.
            guard var object = try existing(name), object.sizeBytes == content.lengthBytes else {
                throw ending == .lost ? .unavailable(detail: "the service lost the upload") : .contentMismatch
            }
            if ending != .taken { object.providerHash = object.providerHash ?? content.providerHash }
            guard isOurs(object) else { throw .contentMismatch }
            return object
        } catch {
            upload.abort(by: .after(patience))
            if case .notFound = error { throw .unavailable(detail: "the service lost the upload") }
            throw error
        }
    }

    enum Place {
        case free(String)
        /// An object with the announced hash already exists.
        case stored(StoredObject)
    }

    /// The reservation's name, or its spare name if an object already has the first one.
    func place() throws(CloudStorageError) -> Place {
        for name in names {
            guard let object = try existing(name) else { return .free(name) }
            if isOurs(object) { return .stored(object) }
        }
        throw .contentMismatch
    }

    // MARK: Both methods

    /// Error codes of services where an object with that name exists ("Conditional writes").
    static let taken: Set = ["PreconditionFailed"]

    private var names: [String] { [reservation.name, reservation.spareName].compactMap(\.self) }

    var objectHeaders: HTTPFields {
        var headers: HTTPFields = [.contentType: mimeType]
        headers[.amzMetaMD5] = content.providerHash
        return headers
    }

    private func stored(_ name: String, _ tag: S3ETag) -> StoredObject {
        StoredObject(
            objectID: S3.objectID(name), name: name, sizeBytes: content.lengthBytes,
            providerHash: content.providerHash, revision: tag.text)
    }

    func existing(_ name: String) throws(CloudStorageError) -> StoredObject? {
        do {
            return try S3.describe(S3.objectID(name), in: bucket, by: .after(patience))
        } catch .notFound {
            return nil
        }
    }

    func isOurs(_ object: StoredObject) -> Bool {
        object.providerHash == content.providerHash && object.sizeBytes == content.lengthBytes
    }
}

/// A multipart upload whose bytes come in pieces of any size, and may be interrupted anywhere.
///
/// A part has at least 5 MiB ("Amazon S3 multipart upload limits"); the tail is stored next to the objects.
struct S3PieceUpload: PartAssembly {
    private static let tailSuffix = ".part"
    private static let cleaningTime: Duration = .seconds(5)

    let partBytes: Int
    private let upload: S3Upload
    private let name: String
    private let patience: Duration
    private var multipart: S3MultipartUpload

    /// Sends the whole content of an upload, or continues it.
    static func run(
        _ upload: S3Upload, _ resumption: any UploadResumption, partBytes: Int, patience: Duration
    ) throws(CloudStorageError) -> StoredObject {
        let (content, bucket) = (upload.content, upload.bucket)
        _ = content.reserveMemory(partBytes: partBytes)
        if let text = resumption.session {
            let saved = try ProviderJSON.decode(S3MultipartUpload.Saved.self, Array(text.utf8))
            var pieces = S3PieceUpload(
                partBytes: partBytes, upload: upload, name: saved.name, patience: patience,
                multipart: S3MultipartUpload(saved, in: bucket, accepting: S3Upload.taken))
            let last = try pieces.send(content, resumption, tailBytes: saved.tailBytes)
            return try pieces.assemble(last, resumption)
        }
        let first = try content.part(granularity: 1, atMost: partBytes)
        switch try upload.place() {
        case .stored(let object):
            try content.verifyRest(from: first, granularity: 1)
            return object
        case .free(let name):
            var pieces = S3PieceUpload(
                partBytes: partBytes, upload: upload, name: name, patience: patience,
                multipart: try S3MultipartUpload(
                    of: name, headers: upload.objectHeaders, in: bucket, accepting: S3Upload.taken,
                    by: .after(patience)))
            do throws(CloudStorageError) {
                let last = try pieces.send(content, resumption, tailBytes: 0, first)
                return try pieces.assemble(last, resumption)
            } catch {
                // Otherwise nobody would know its identifier.
                if resumption.session == nil { pieces.multipart.abort(by: .after(Self.cleaningTime)) }
                throw error
            }
        }
    }

    private mutating func assemble(
        _ last: [UInt8], _ resumption: any UploadResumption
    ) throws(CloudStorageError) -> StoredObject {
        let content = upload.content
        do throws(CloudStorageError) {
            try add(last)
        } catch .notFound {
            // The previous request may have completed it.
            guard let object = try upload.existing(name), upload.isOurs(object) else { throw Self.lost(resumption) }
            try? Self.removeTail(of: name, in: upload.bucket, by: .after(Self.cleaningTime))
            return object
        }
        let ending = try multipart.complete(by: .after(patience))
        guard var object = try upload.existing(name), object.sizeBytes == content.lengthBytes else {
            guard ending == .lost else { throw .contentMismatch }
            multipart.abort(by: .after(Self.cleaningTime))
            throw Self.lost(resumption)
        }
        if ending != .taken { object.providerHash = object.providerHash ?? content.providerHash }
        guard upload.isOurs(object) else { throw .contentMismatch }
        try? Self.removeTail(of: name, in: upload.bucket, by: .after(Self.cleaningTime))
        return object
    }

    mutating func add(_ bytes: [UInt8]) throws(CloudStorageError) {
        try multipart.add(UploadPart(bytes: bytes[...], offset: 0, isLast: false), within: patience)
    }

    func saved(tailBytes: Int) throws(CloudStorageError) -> String {
        String(
            decoding: try ProviderJSON.encode(multipart.saved(name: name, tailBytes: tailBytes)), as: UTF8.self)
    }

    /// Ends an abandoned upload by its recorded state: not every service lists its uploads, and not every key may list
    /// them.
    static func end(_ session: String, in bucket: S3Bucket) throws(CloudStorageError) {
        let saved = try ProviderJSON.decode(S3MultipartUpload.Saved.self, Array(session.utf8))
        try S3MultipartUpload.abort(saved.id, of: S3.objectID(saved.name), in: bucket, by: nil)
        try removeTail(of: saved.name, in: bucket)
    }

    // MARK: Tail

    private static func tail(of name: String) -> String { S3.objectID(name + tailSuffix) }

    func storeTail(_ bytes: [UInt8]) throws(CloudStorageError) {
        var request = upload.bucket.request(.upload, .put, object: Self.tail(of: name))
        upload.bucket.attach(checked: bytes[...], to: &request)
        var client = upload.bucket.client()
        _ = try client.send(request, by: .after(patience))
    }

    func tail(bytes count: Int) throws(CloudStorageError) -> [UInt8]? {
        let request = upload.bucket.request(.download, .get, object: Self.tail(of: name))
        var download = ResumableDownload(request, through: upload.bucket.client())
        // A request that did not end properly may have stored more than it could record.
        return try download.prefix(count, of: request.url)
    }

    /// Deletes the remains of an interrupted upload of that name.
    static func removeTail(
        of name: String, in bucket: S3Bucket, by deadline: Deadline? = nil
    ) throws(CloudStorageError) {
        var client = bucket.client(accepting: ["NoSuchKey"])
        try client.send(bucket.request(.delete, .delete, object: tail(of: name)), by: deadline).confirmDeletion()
    }
}
