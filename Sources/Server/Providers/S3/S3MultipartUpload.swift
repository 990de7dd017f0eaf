import Expat
import FoundationEssentials
import HTTPTransport
import HTTPTypes
import OpenSSLCrypto

/// A multipart upload. Its parts become an object only when they are assembled; they are billed until then, or until
/// the upload is aborted ("Uploading and copying objects using multipart upload").
struct S3MultipartUpload {
    /// The outcome of a completion.
    enum Ending {
        case assembled
        /// An object with that name has been created meanwhile.
        case taken
        /// The service no longer knows the upload, perhaps because an earlier attempt has completed it, or it has lost
        /// a part.
        case lost
    }

    /// Error codes of services that no longer have the upload or its parts ("CompleteMultipartUpload").
    private static let losses: Set = ["NoSuchUpload", "InvalidPart", "InvalidPartOrder"]
    /// Limit for the identifier in `InitiateMultipartUploadResult`.
    private static let longestIdentifier = 1024

    private let bucket: S3Bucket
    private let objectID: String
    private let id: String
    private let answers: Set<String>
    private var parts: [Part] = []

    /// A part that the service has.
    struct Part: Codable {
        var tag: String
        /// `nil` if the service accepts none.
        var checksum: String?
        var bytes: Int64
    }

    /// The state that another request needs to continue.
    struct Saved: Codable {
        var id: String
        var name: String
        var parts: [Part]
        /// The size of the tail (``PartAssembly``).
        var tailBytes: Int
    }

    func saved(name: String, tailBytes: Int) -> Saved {
        Saved(id: id, name: name, parts: parts, tailBytes: tailBytes)
    }

    /// Continues an upload that another request began.
    init(_ saved: Saved, in bucket: S3Bucket, accepting answers: Set<String>) {
        self.bucket = bucket
        self.answers = answers
        objectID = S3.objectID(saved.name)
        id = saved.id
        parts = saved.parts
    }

    /// Begins an upload. If the reply is lost, its upload is aborted; if that fails too, it remains, without parts,
    /// until ``abortAll(of:in:except:)`` finds it.
    init(
        of name: String, headers: HTTPFields, in bucket: S3Bucket, accepting answers: Set<String>,
        by deadline: Deadline
    ) throws(CloudStorageError) {
        self.bucket = bucket
        self.answers = answers
        objectID = S3.objectID(name)
        var request = bucket.request(
            .upload, .post, object: objectID, query: [(name: "uploads", value: "")], headers: headers)
        let hasChecksums = bucket.has(.checksums)
        if hasChecksums { request.headers[.amzChecksumAlgorithm] = "SHA256" }
        var client = bucket.client(accepting: hasChecksums ? S3Abilities.refusals : [])
        var reply = try client.send(request, by: deadline)
        if reply.status >= 300 {
            bucket.rememberLack(of: .checksums)
            request.headers[.amzChecksumAlgorithm] = nil
            client = bucket.client()
            reply = try client.send(request, by: deadline)
        }
        let root = try S3XML.root(of: reply, named: "InitiateMultipartUploadResult")
        guard let id = root.child("UploadId", in: root.namespace)?.text,
            (1...Self.longestIdentifier).contains(id.utf8.count)
        else { throw .unavailable(detail: "the service started no upload") }
        self.id = id
        if client.hasRepeated { try? Self.abortAll(of: name, in: bucket, except: id) }
    }

    /// Sends the next part; a repetition has the same effect.
    ///
    /// Collects the part first, since its checksum precedes it.
    /// - Throws: ``CloudStorageError/notFound`` even if the service no longer knows the upload.
    mutating func add(_ part: UploadPart, within patience: Duration) throws(CloudStorageError) {
        let bytes = try part.whole()
        var digest = IncrementalDigest(.sha256)
        digest.update(bytes)
        let hash = digest.finish()
        var md5 = IncrementalDigest(.md5)
        md5.update(bytes)
        let md5Bytes = md5.finish()
        let expected = md5Bytes.hexLowercase
        var request = bucket.request(
            .upload, .put, object: objectID,
            query: [(name: "partNumber", value: "\(parts.count + 1)"), (name: "uploadId", value: id)])
        bucket.attach(bytes, hash: hash.hexLowercase, to: &request)
        var checksum: String?
        if bucket.has(.checksums) {
            checksum = Data(hash).base64EncodedString()
            request.headers[.amzChecksumSHA256] = checksum
        } else {
            request.headers[.contentMD5] = Data(md5Bytes).base64EncodedString()
        }
        let refusals = checksum == nil ? [] : S3Abilities.refusals
        var client = bucket.client(accepting: refusals.union(["NoSuchUpload"]))
        let reply = try client.send(request, with: part, within: patience)
        guard reply.status < 300 else {
            guard let code = S3ErrorBody(reply.body)?.code, refusals.contains(code) else { throw .notFound }
            bucket.rememberLack(of: .checksums)
            return try add(part, within: patience)
        }
        guard let tag = reply.head.headers[.eTag] else {
            throw .unavailable(detail: "unreadable reply from the provider")
        }
        // If the service ignores the checksum, its tag is compared.
        guard S3ETag.md5(of: reply.head) ?? expected == expected else { throw .contentMismatch }
        parts.append(Part(tag: tag, checksum: checksum, bytes: Int64(bytes.count)))
    }

    /// Assembles the parts into the object.
    ///
    /// The service may begin a reply with 200 and end it with an error ("CompleteMultipartUpload").
    mutating func complete(by deadline: Deadline) throws(CloudStorageError) -> Ending {
        var body = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
        for (index, part) in parts.enumerated() {
            body += "<Part><PartNumber>\(index + 1)</PartNumber><ETag>\(part.tag.asXML)</ETag>"
            if let checksum = part.checksum { body += "<ChecksumSHA256>\(checksum)</ChecksumSHA256>" }
            body += "</Part>"
        }
        let bytes = Array((body + "</CompleteMultipartUpload>").utf8)
        var request = bucket.request(
            .upload, .post, object: objectID, query: [(name: "uploadId", value: id)],
            headers: [.contentType: "application/xml"])
        if bucket.has(.conditions) { request.headers[.ifNoneMatch] = "*" }
        bucket.attach(bytes[...], hash: SignatureV4.payloadHash(of: bytes), to: &request)
        var client = bucket.client(accepting: answers.union(S3Abilities.refusals).union(Self.losses))
        var attempt = 0
        while true {
            let reply = try client.send(request, by: deadline)
            if let error = S3ErrorBody(reply.body) {
                if Self.losses.contains(error.code) { return .lost }
                if answers.contains(error.code) { return .taken }
                if S3Abilities.refusals.contains(error.code) {
                    guard request.headers[.ifNoneMatch] != nil else {
                        throw .rejected(code: "\(reply.status) \(error.code)")
                    }
                    // The name was free when the upload began.
                    bucket.rememberLack(of: .conditions)
                    request.headers[.ifNoneMatch] = nil
                    continue
                }
                // An error within a reply of status 200, handled like status 500.
                attempt += 1
                try client.wait(
                    before: attempt, retryAfter: nil, by: deadline,
                    orThrow: .unavailable(detail: "completion: \(error.code)"))
                continue
            }
            let root = try S3XML.root(of: reply, named: "CompleteMultipartUploadResult")
            guard root.child("ETag", in: root.namespace) != nil else {
                throw .unavailable(detail: "unreadable reply from the provider")
            }
            return .assembled
        }
    }

    /// Aborts the upload; if that fails too, ``abortAll(of:in:except:)`` finds it later.
    func abort(by deadline: Deadline) {
        try? Self.abort(id, of: objectID, in: bucket, by: deadline)
    }

    /// Ends an upload that was begun to test a key, and leaves nothing behind. If the key may not abort uploads, the
    /// upload becomes an object, which is then deleted.
    /// - Returns: whether it could be aborted.
    mutating func endTrial(by deadline: Deadline) throws(CloudStorageError) -> Bool {
        do {
            try Self.abort(id, of: objectID, in: bucket, by: deadline)
            return true
        } catch .rejected {}
        try? finishTrial(by: deadline)
        return false
    }

    private mutating func finishTrial(by deadline: Deadline) throws(CloudStorageError) {
        try add(UploadPart(bytes: Array("SyncServer".utf8)[...], offset: 0, isLast: true), within: deadline.remaining)
        try deleteObject(by: deadline)
        _ = try complete(by: deadline)
        try deleteObject(by: deadline)
    }

    private func deleteObject(by deadline: Deadline) throws(CloudStorageError) {
        var client = bucket.client(accepting: ["NoSuchKey"])
        try client.send(bucket.request(.delete, .delete, object: objectID), by: deadline).confirmDeletion()
    }

    /// Aborts all unfinished uploads of one object that nobody will complete.
    ///
    /// Where uploads cannot be listed, those with recorded identifiers are ended individually
    /// (``S3Session/end(_:in:)``), and a request that contains a whole upload aborts it itself.
    /// - Parameter kept: the upload to keep.
    static func abortAll(
        of name: String, in bucket: S3Bucket, except kept: String? = nil
    ) throws(CloudStorageError) {
        let listed: Reply
        do { listed = try list(of: name, in: bucket) } catch .rejected { return }
        let key = bucket.location.prefix + name
        let root = try S3XML.root(of: listed, named: "ListMultipartUploadsResult")
        for upload in root.children("Upload", in: root.namespace) {
            guard upload.child("Key", in: root.namespace)?.text == key,
                let id = upload.child("UploadId", in: root.namespace)?.text, id != kept
            else { continue }
            try abort(id, of: S3.objectID(name), in: bucket, by: nil)
        }
    }

    /// The service's list of unfinished uploads whose names begin with `name`.
    /// - Throws: ``CloudStorageError/rejected(code:)`` if the service has no such list, or the key may not see it.
    static func list(of name: String, in bucket: S3Bucket) throws(CloudStorageError) -> Reply {
        var client = bucket.client()
        return try client.send(
            bucket.request(
                .metadata, .get,
                query: [(name: "uploads", value: ""), (name: "prefix", value: bucket.location.prefix + name)]))
    }

    static func abort(
        _ id: String, of objectID: String, in bucket: S3Bucket, by deadline: Deadline?
    ) throws(CloudStorageError) {
        var client = bucket.client(accepting: ["NoSuchUpload"])
        try client.send(
            bucket.request(.delete, .delete, object: objectID, query: [(name: "uploadId", value: id)]), by: deadline
        ).confirmDeletion()
    }
}
