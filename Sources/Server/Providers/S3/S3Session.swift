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
/// right. The tail of an upload in pieces is stored next to the objects.
struct S3Session: PartAssembly {
    /// "Amazon S3 multipart upload limits".
    private static let maximumParts = 10_000
    /// The largest object that a single request can create ("Amazon S3 multipart upload limits": 5 GiB).
    private static let largestSingleBytes: Int64 = 5 << 30
    private static let tailSuffix = ".part"
    private static let cleaningTime: Duration = .seconds(5)

    let content: any UploadContent
    let partBytes: Int
    /// Whether the content is large, and its bytes may be interrupted anywhere.
    let isInPieces: Bool
    private let reservation: ObjectReservation
    private let mimeType: String
    private let bucket: S3Bucket
    /// The time limit of each step, measured from the arrival of its bytes: phones may be slower than any deadline.
    private let patience: Duration
    var collected = CollectedPart()
    /// The object's name, once the upload has begun.
    private var name = ""
    private var multipart: S3MultipartUpload?
    /// Whether this request began the upload.
    private var isNew = false

    init(
        _ content: any UploadContent, as reservation: ObjectReservation, mimeType: String, to bucket: S3Bucket,
        granularity: Int
    ) {
        self.content = content
        self.reservation = reservation
        self.mimeType = mimeType
        self.bucket = bucket
        patience = bucket.access.deadline.remaining
        isInPieces = content.resumption.map { content.lengthBytes > type(of: $0).smallBytes } ?? false
        // The largest allowed number of parts, each a whole number of the smallest parts.
        let least = Int((content.lengthBytes + Int64(Self.maximumParts) - 1) / Int64(Self.maximumParts))
        partBytes = max(1, (least + granularity - 1) / granularity) * granularity
    }

    func run() throws(CloudStorageError) -> StoredObject {
        if isInPieces {
            _ = content.reserveMemory(partBytes: partBytes)
        } else {
            let hasMemory = content.reserveMemory(partBytes: Int(min(content.lengthBytes, Int64(partBytes))))
            if !hasMemory, !bucket.signsPayloads, content.lengthBytes <= Self.largestSingleBytes {
                return try sendOnce()
            }
        }
        return try SessionUpload(self).run()
    }

    /// Only the last part may differ in size, and it must not be larger, as Cloudflare R2 requires ("Multipart
    /// upload").
    var rules: PartRules {
        PartRules(
            granularity: isInPieces ? 1 : partBytes, longest: partBytes - collected.bytes.count, whole: .max,
            restarts: false, collects: isInPieces)
    }

    // MARK: In one request

    func sendWhole(_ part: UploadPart) throws(CloudStorageError) -> StoredObject {
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

    /// Finds a free name; otherwise, an object with that name would be noticed only at the end, when the bytes are gone.
    mutating func begin() throws(CloudStorageError) -> (() throws(CloudStorageError) -> StoredObject)? {
        switch try place() {
        case .stored(let object): return { object }
        case .free(let free): name = free
        }
        multipart = try S3MultipartUpload(
            of: name, headers: objectHeaders, in: bucket, accepting: Self.taken, by: .after(patience))
        isNew = true
        return nil
    }

    var hasBegun: Bool { multipart != nil }

    var record: String {
        get throws(CloudStorageError) {
            let saved = multipart?.saved(name: name, tailBytes: collected.bytes.count)
            return String(decoding: try ProviderJSON.encode(saved), as: UTF8.self)
        }
    }

    mutating func open(_ record: String) throws(CloudStorageError) -> Bool {
        guard isInPieces else { return false }
        let saved = try ProviderJSON.decode(S3MultipartUpload.Saved.self, Array(record.utf8))
        name = saved.name
        multipart = S3MultipartUpload(saved, in: bucket, accepting: Self.taken)
        try takeTail(saved.tailBytes)
        return true
    }

    mutating func add(_ part: UploadPart) throws(CloudStorageError) {
        let patience = patience
        try multipart?.add(part, within: patience)
    }

    /// The existing object decides: an attempt whose reply was lost may have completed the upload, another upload may
    /// have intervened, and some services later report a different tag than in the reply to the completion.
    mutating func finish(_ last: UploadPart) throws(CloudStorageError) -> StoredObject {
        do throws(CloudStorageError) {
            try add(last)
        } catch {
            guard isInPieces, case .notFound = error else { throw error }
            // The previous request may have completed it.
            guard let object = try existing(name), isOurs(object) else { throw lost() }
            try? Self.removeTail(of: name, in: bucket, by: .after(Self.cleaningTime))
            return object
        }
        let deadline = Deadline.after(patience)
        let ending = try multipart?.complete(by: deadline)
        guard var object = try existing(name), object.sizeBytes == content.lengthBytes else {
            guard ending == .lost else { throw .contentMismatch }
            guard isInPieces else { throw Self.uploadLost }
            multipart?.abort(by: .after(Self.cleaningTime))
            throw lost()
        }
        if ending != .taken { object.providerHash = object.providerHash ?? content.providerHash }
        guard isOurs(object) else { throw .contentMismatch }
        if isInPieces { try? Self.removeTail(of: name, in: bucket, by: .after(Self.cleaningTime)) }
        return object
    }

    private static let uploadLost = CloudStorageError.unavailable(detail: "the service lost the upload")

    func failed(_ error: CloudStorageError) -> CloudStorageError {
        guard let multipart else { return error }
        if isInPieces {
            // Without a record, nobody would know its identifier.
            if isNew, content.resumption?.session == nil { multipart.abort(by: .after(Self.cleaningTime)) }
            return error
        }
        multipart.abort(by: .after(patience))
        if case .notFound = error { return Self.uploadLost }
        return error
    }

    private enum Place {
        case free(String)
        /// An object with the announced hash already exists.
        case stored(StoredObject)
    }

    /// The reservation's name, or its spare name if an object already has the first one.
    private func place() throws(CloudStorageError) -> Place {
        for name in names {
            guard let object = try existing(name) else { return .free(name) }
            if isOurs(object) { return .stored(object) }
        }
        throw .contentMismatch
    }

    // MARK: Both methods

    /// Error codes of services where an object with that name exists ("Conditional writes").
    private static let taken: Set = ["PreconditionFailed"]

    private var names: [String] { [reservation.name, reservation.spareName].compactMap(\.self) }

    private var objectHeaders: HTTPFields {
        var headers: HTTPFields = [.contentType: mimeType]
        headers[.amzMetaMD5] = content.providerHash
        return headers
    }

    private func stored(_ name: String, _ tag: S3ETag) -> StoredObject {
        StoredObject(
            objectID: S3.objectID(name), name: name, sizeBytes: content.lengthBytes,
            providerHash: content.providerHash, revision: tag.text)
    }

    private func existing(_ name: String) throws(CloudStorageError) -> StoredObject? {
        do {
            return try S3.describe(S3.objectID(name), in: bucket, by: .after(patience))
        } catch .notFound {
            return nil
        }
    }

    private func isOurs(_ object: StoredObject) -> Bool {
        object.providerHash == content.providerHash && object.sizeBytes == content.lengthBytes
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
        var request = bucket.request(.upload, .put, object: Self.tail(of: name))
        bucket.attach(checked: bytes[...], to: &request)
        var client = bucket.client()
        _ = try client.send(request, by: .after(patience))
    }

    func tail(bytes count: Int) throws(CloudStorageError) -> [UInt8]? {
        let request = bucket.request(.download, .get, object: Self.tail(of: name))
        var download = ResumableDownload(request, through: bucket.client())
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
