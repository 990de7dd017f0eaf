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
