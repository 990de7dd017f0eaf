import HTTPTransport
import HTTPTypes

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
