import Expat
public import FoundationEssentials
import HTTPTransport
import HTTPTypes
import OpenSSLCrypto
public import SyncProtocol
import Synchronization

/// A bucket, or the part of it below a prefix, in a service with the interface of Amazon S3.
///
/// An object's key is its only identifier: renaming it creates a different object. Names are unique, and an existing
/// object is not overwritten (`If-None-Match: *`). Services that ignore this condition, or reject it and are checked
/// beforehand instead, may overwrite an object of the same name, which only a repeated upload has. A successful
/// deletion does not prove that the object existed. https://docs.aws.amazon.com/AmazonS3/latest/API/
public struct S3: CloudProvider {
    /// The minimum size of every part except the last ("Amazon S3 multipart upload limits").
    public static let smallestPartBytes = 5 << 20

    let servers: NamedServers
    private let abilities = S3Abilities()
    /// The parts of an upload are multiples of this size.
    let granularity: Int
    /// Seconds since 1970.
    let now: @Sendable () -> Int64

    /// - Parameters:
    ///   - granularity: tests choose a smaller one where their server accepts it.
    ///   - now: the clock, for tests to control.
    public init(
        servers: NamedServers, granularity: Int = S3.smallestPartBytes,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.servers = servers
        self.granularity = granularity
        self.now = { Int64(now().timeIntervalSince1970) }
    }

    public var storageType: CloudStorageType { .s3 }

    /// Makes no request: a name conflict appears only when the name is used.
    public func reserve(name: String, in access: StorageAccess) throws(CloudStorageError) -> ObjectReservation {
        ObjectReservation(name: name, objectID: nil, spareName: try ObjectReservation.spareName(for: name))
    }

    public func upload(
        _ content: any UploadContent, as reservation: ObjectReservation, mimeType: String, to access: StorageAccess
    ) throws(CloudStorageError) -> StoredObject {
        try S3Session(
            content, as: reservation, mimeType: mimeType, to: try bucket(access), granularity: granularity
        ).run()
    }

    public func describe(objectID: String, in access: StorageAccess) throws(CloudStorageError) -> StoredObject {
        try Self.describe(objectID, in: try bucket(access))
    }

    public func download(
        objectID: String, range: ClosedRange<Int64>?, from access: StorageAccess, begin: (Int64?) -> Void,
        receive: (Span<UInt8>) -> Bool
    ) throws(CloudStorageError) {
        let bucket = try bucket(access)
        let request = bucket.request(.download, .get, object: objectID)
        var download = ResumableDownload(request, through: bucket.client())
        download.range = range
        try download.run(request.url, begin: begin, receive: receive)
    }

    public func delete(objectID: String, in access: StorageAccess) throws(CloudStorageError) {
        let bucket = try bucket(access)
        var client = bucket.client(accepting: ["NoSuchKey"])
        try client.send(bucket.request(.delete, .delete, object: objectID)).confirmDeletion()
    }

    /// Also ends an interrupted upload of that name, which is not an object but is billed.
    public func find(name: String, in access: StorageAccess) throws(CloudStorageError) -> StoredObject? {
        let bucket = try bucket(access)
        let objectID = Self.objectID(name)
        do {
            return try Self.describe(objectID, in: bucket)
        } catch .notFound {
            try S3MultipartUpload.abortAll(of: name, in: bucket)
            try S3Session.removeTail(of: name, in: bucket)
            return nil
        }
    }

    public func endUpload(_ session: String, in access: StorageAccess) throws(CloudStorageError) {
        try S3Session.end(session, in: try bucket(access))
    }

    /// Keys with another slash after the prefix are not ours.
    public func list(in access: StorageAccess, page: ([StoredObject]) -> Void) throws(CloudStorageError) {
        let bucket = try bucket(access)
        var client = bucket.client()
        var continuation: String?
        while true {
            var query = [("list-type", "2"), ("prefix", bucket.location.prefix), ("delimiter", "/")]
            if let continuation { query.append(("continuation-token", continuation)) }
            let reply = try client.send(bucket.request(.metadata, .get, query: query.map { (name: $0, value: $1) }))
            let listed = try S3Listing(reply, prefix: bucket.location.prefix)
            page(listed.objects)
            guard let next = listed.continuation else { return }
            continuation = next
        }
    }

    // MARK: Helpers

    func bucket(_ access: StorageAccess) throws(CloudStorageError) -> S3Bucket {
        try S3Bucket(in: access, servers: servers, abilities: abilities, now: now)
    }

    /// The key after the prefix, as encoded in URLs, so that the identifier of any name can be stored.
    static func objectID(_ name: String) -> String { PercentEncoding.encode(name) }

    /// Requests the first byte, since an error reply to HEAD has no body and hence does not name the cause.
    static func describe(
        _ objectID: String, in bucket: S3Bucket, by deadline: Deadline? = nil
    ) throws(CloudStorageError) -> StoredObject {
        var client = bucket.client(accepting: ["InvalidRange"])
        let first = try client.send(
            bucket.request(.metadata, .get, object: objectID, headers: [.range: "bytes=0-0"]), by: deadline)
        // `rclone serve s3` answers a range request with 200.
        if first.status < 300, let range = first.head.headers[.contentRange] {
            return try stored(objectID, sizeBytes: range.split(separator: "/").last.flatMap { Int64($0) }, first.head)
        }
        // An empty object has no first byte (RFC 9110, section 15.5.17); some services reply with an empty body and a
        // success status.
        if first.status == 200, first.body.isEmpty { return try stored(objectID, sizeBytes: 0, first.head) }
        guard first.status == 416 else { throw .unavailable(detail: "unexpected status \(first.status)") }
        let head = try client.send(bucket.request(.metadata, .head, object: objectID), by: deadline)
        return try stored(objectID, sizeBytes: 0, head.head)
    }

    private static func stored(
        _ objectID: String, sizeBytes: Int64?, _ head: ReplyHead
    ) throws(CloudStorageError) -> StoredObject {
        guard let sizeBytes, let name = PercentEncoding.decode(objectID), let tag = head.headers[.eTag] else {
            throw .unavailable(detail: "unreadable reply from the provider")
        }
        let object = StoredObject(
            objectID: objectID, name: name, sizeBytes: sizeBytes,
            providerHash: S3ETag.md5(of: head) ?? head.headers[.amzMetaMD5].flatMap(S3ETag.md5(in:)),
            revision: S3ETag(tag).text,
            createdAt: head.headers[.lastModified].flatMap(HTTPDate.init).map {
                WireDate(secondsSince1970: $0.secondsSince1970)
            })
        guard object.isPlausible else { throw .unavailable(detail: "unreadable reply from the provider") }
        return object
    }
}

/// An entity tag. For most objects, it is the MD5 of their bytes; not for objects uploaded in parts or encrypted with
/// their own key ("Object", ETag).
struct S3ETag: Equatable {
    /// Without quotes.
    let text: String

    init(_ field: String) {
        text = field.filter { $0 != "\"" }
    }

    /// In lower case; `nil` if the tag has a different form.
    var md5: String? { Self.md5(in: text) }

    /// The MD5 of the bytes that a reply concerns, if its tag is one. Not for objects encrypted with a key of AWS KMS
    /// or of the client, whose tags only look like an MD5 ("Object", ETag).
    static func md5(of head: ReplyHead) -> String? {
        guard head.headers[.amzEncryption]?.hasPrefix("aws:kms") != true, head.headers[.amzCustomerAlgorithm] == nil
        else { return nil }
        return head.headers[.eTag].flatMap { S3ETag($0).md5 }
    }

    /// 32 hexadecimal digits in lower case; `nil` if `text` has a different form.
    static func md5(in text: String) -> String? {
        text.utf8.count == 32 && [UInt8](hexadecimal: text) != nil ? text.lowercased() : nil
    }
}

/// Features that services were found not to support; known to this process only, until it ends.
///
/// Such services reject a request with the feature instead of ignoring it; the request is then repeated without it.
final class S3Abilities: Sendable {
    enum Ability: Hashable {
        /// `If-None-Match` in requests that create an object: not supported by Backblaze B2.
        case conditions
        /// `x-amz-checksum-…` for the parts of a multipart upload: not supported by Backblaze B2, nor, with SHA-256, by
        /// Cloudflare R2.
        case checksums
    }

    /// The error codes of these rejections.
    static let refusals: Set = ["NotImplemented", "InvalidArgument"]
    private static let maximumAccounts = 1_000

    private let missing = Mutex<[Int64: Set<Ability>]>([:])

    func has(_ ability: Ability, _ account: Int64) -> Bool {
        missing.withLock { $0[account]?.contains(ability) != true }
    }

    func rememberLack(of ability: Ability, _ account: Int64) {
        missing.withLock { accounts in
            if accounts[account] == nil, accounts.count >= Self.maximumAccounts { accounts.removeAll() }
            accounts[account, default: []].insert(ability)
        }
    }
}
