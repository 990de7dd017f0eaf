import Foundation
import HTTPTransport
import HTTPTypes
import Providers
import SyncProtocol
import TestSupport
import Testing

@Suite("S3: interpretation of replies")
struct S3ReplyTests {
    private static let first = Reply(
        206, "h", [.contentRange: "bytes 0-0/5", .eTag: #""5d41402abc4b2a76b9719d911017c592""#])
    /// The time in the examples of Amazon's own documentation.
    private static let now = Date(timeIntervalSince1970: 1_440_938_160)

    private static func error(_ code: String, _ status: Int, _ headers: HTTPFields = [:]) -> Reply {
        Reply(status, #"<?xml version="1.0"?><Error><Code>\#(code)</Code><Message>m</Message></Error>"#, headers)
    }

    private static func storage(_ replies: Reply..., address: String = "https://s3.example.com/") -> ScriptedStorage {
        let storage = ScriptedStorage(replies)
        storage.location = location(key: "AK", address: address)
        return storage
    }

    private static func location(key: String, address: String = "https://s3.example.com/") -> String {
        """
        {"address": "\(address)", "region": "eu-central-1", "bucket": "photos", "accessKeyID": "\(key)", "prefix": "a/"}
        """
    }

    private static let s3 = S3(servers: NamedServers(listed: [], admitsAnyPublic: true), now: { now })

    private func describe(_ storage: ScriptedStorage) throws -> StoredObject {
        try Self.s3.describe(objectID: "x.jpg", in: storage.access())
    }

    @Test(
        "Each error has the meaning of its code, regardless of the status",
        arguments: [
            ("NoSuchKey", 404, CloudStorageError.notFound), ("NoSuchBucket", 404, .rejected(code: "")),
            ("AccessDenied", 403, .rejected(code: "")), ("QuotaExceeded", 403, .quotaExceeded),
            ("XMinioStorageFull", 507, .quotaExceeded), ("XMinioAdminBucketQuotaExceeded", 400, .quotaExceeded),
            ("BadDigest", 400, .contentMismatch),
            ("XAmzContentSHA256Mismatch", 400, .contentMismatch), ("NotImplemented", 501, .rejected(code: "")),
            ("MethodNotAllowed", 405, .rejected(code: "")), ("PermanentRedirect", 301, .rejected(code: "")),
            ("ACodeOfTheFuture", 404, .rejected(code: "")),
        ])
    func meanings(code: String, status: Int, meaning: CloudStorageError) {
        let storage = Self.storage(Self.error(code, status))

        #expect(throws: meaning) { try describe(storage) }
        #expect(storage.steps.count == 1)
    }

    @Test("A full bucket of Garage is a refusal recognised by its message")
    func quotaInTheMessage() {
        let full = Reply(
            403,
            "<Error><Code>AccessDenied</Code><Message>Forbidden: Bucket size quota is reached, maximum total size of objects for"
                + " this bucket: 1. The bucket is already 1</Message></Error>")

        #expect(throws: CloudStorageError.quotaExceeded) { try describe(Self.storage(full)) }
    }

    @Test("An object's age is read from its description")
    func age() throws {
        var reply = Self.first
        reply.head.headers[.lastModified] = "Sun, 30 Aug 2015 12:36:00 GMT"

        #expect(try describe(Self.storage(reply)).createdAt == WireDate(secondsSince1970: 1_440_938_160))
    }

    @Test("A deletion answered with a page has not happened")
    func deletionWithBody() throws {
        #expect(throws: CloudStorageError.unavailable(detail: "")) {
            try Self.s3.delete(objectID: "x.jpg", in: Self.storage(Reply(200, "<html>")).access())
        }
        for reply in [Reply(204), Reply(200), Self.error("NoSuchKey", 404)] {
            try Self.s3.delete(objectID: "x.jpg", in: Self.storage(reply).access())
        }
    }

    @Test("A status without an S3 code proves nothing", arguments: [401, 404])
    func foreign(status: Int) {
        for body in ["", "<html>Not Found</html>", "<Error><Message>m</Message></Error>", "<!DOCTYPE html><p>"] {
            let storage = Self.storage(Reply(status, body))

            #expect(throws: CloudStorageError.unavailable(detail: "")) { try describe(storage) }
        }
    }

    @Test(
        "Temporary errors are retried",
        arguments: [
            ("SlowDown", 503), ("InternalError", 500), ("RequestTimeout", 400), ("OperationAborted", 409),
            ("ConditionalRequestConflict", 409), ("", 429), ("", 502),
        ])
    func passing(code: String, status: Int) throws {
        let storage = Self.storage(code.isEmpty ? Reply(status, "") : Self.error(code, status), Self.first)

        #expect(try describe(storage).sizeBytes == 5)
        #expect(storage.pauses.pauses.count == 1)
    }

    @Test(
        "A rejected key is requested once more, because another process may have a new one",
        arguments: [
            ("InvalidAccessKeyId", 403), ("SignatureDoesNotMatch", 403), ("ExpiredToken", 403), ("Unauthorized", 401),
        ])
    func refusedKey(code: String, status: Int) throws {
        let storage = Self.storage(Self.error(code, status), Self.first)

        #expect(try describe(storage).providerHash == "5d41402abc4b2a76b9719d911017c592")
        #expect(storage.bearers.count == 2 && storage.bearers[0] != storage.bearers[1])
    }

    @Test("A key is never combined with another key's secret, even if only one of several requests finds a new key")
    func pairs() throws {
        let answers = [
            Self.error("NoSuchKey", 404), Reply(200, "<ListMultipartUploadsResult></ListMultipartUploadsResult>"),
            Reply(204),
        ]
        let disturbed = ScriptedStorage(
            answers.flatMap { [Self.error("InvalidAccessKeyId", 403), $0] }, location: Self.location(key: "AK"))
        disturbed.renewedLocation = Self.location(key: "NEW")
        let alone = ScriptedStorage(answers, location: Self.location(key: "AK"))

        #expect(try Self.s3.find(name: "x.jpg", in: alone.access()) == nil)
        #expect(try Self.s3.find(name: "x.jpg", in: disturbed.access()) == nil)

        let isNew = disturbed.bearers.map { $0.contains("Credential=NEW/") }
        #expect(isNew == [false, true, false, true, false, true])
        // The same time, so the same signatures.
        #expect([0, 2, 4].map { disturbed.bearers[$0] } == alone.bearers)
    }

    @Test(
        "A clock difference is corrected once from the service's clock, without a pause",
        arguments: ["RequestTimeTooSkewed", "SignatureDoesNotMatch"])
    func clock(code: String) throws {
        let ahead: HTTPFields = [.date: "Sun, 30 Aug 2015 13:36:00 GMT"]
        let storage = Self.storage(Self.error(code, 403, ahead), Self.first)

        _ = try describe(storage)

        let times = storage.transport.requests.compactMap { $0.headers[HTTPField.Name("x-amz-date")!] }
        #expect(times == ["20150830T123600Z", "20150830T133600Z"])
        #expect(storage.pauses.pauses.isEmpty)

        let stubborn = Self.storage(
            Self.error("RequestTimeTooSkewed", 403, ahead), Self.error("RequestTimeTooSkewed", 403, ahead), Self.first)
        _ = try describe(stubborn)
        #expect(stubborn.pauses.pauses.count == 1)
    }

    @Test("A region named by the service is adopted once", arguments: [301, 400])
    func region(status: Int) throws {
        let refusal = Self.error(
            status == 301 ? "PermanentRedirect" : "AuthorizationHeaderMalformed", status,
            [HTTPField.Name("x-amz-bucket-region")!: "us-west-2"])
        let storage = Self.storage(refusal, Self.first)

        _ = try describe(storage)

        #expect(storage.bearers[0].contains("/eu-central-1/s3/"))
        #expect(storage.bearers[1].contains("/us-west-2/s3/"))
        // The same server, because a redirect is not followed.
        #expect(Set(storage.transport.requests.map(\.url)).count == 1)

        let stubborn = Self.storage(refusal, refusal, Self.first)
        #expect(throws: CloudStorageError.rejected(code: "")) { try describe(stubborn) }
        #expect(stubborn.steps.count == 2)
    }

    @Test("The bucket is in the host's name at Amazon, and in the path elsewhere")
    func addressing() throws {
        for (address, url) in [
            ("https://s3.example.com/", "https://s3.example.com/photos/a/x.jpg"),
            ("https://s3.eu-central-1.amazonaws.com/", "https://photos.s3.eu-central-1.amazonaws.com/a/x.jpg"),
        ] {
            let storage = Self.storage(Self.first, address: address)
            _ = try describe(storage)
            #expect(storage.transport.requests.map(\.url) == [url])
            #expect(storage.transport.requests.allSatisfy { $0.destination == .named })
        }
    }

    @Test(
        "A server that the operator no longer allows is not asked",
        arguments: [
            "http://s3.example.com/", "https://s3.example.com:8443/", "https://10.0.0.1/",
        ])
    func noLongerAdmitted(address: String) {
        let storage = Self.storage(Self.first, address: address)

        #expect(throws: CloudStorageError.serverNotAllowed) { try describe(storage) }
        #expect(storage.steps.isEmpty)
    }

    private static let bytes = Array("hello".utf8)
    private static let hash = "5d41402abc4b2a76b9719d911017c592"

    private func upload(_ s3: S3 = s3, to storage: ScriptedStorage) throws -> StoredObject {
        try s3.upload(
            GivenParts(Self.bytes, hash: Self.hash), as: ObjectReservation(name: "x.jpg", objectID: nil),
            mimeType: "image/jpeg", to: storage.access())
    }

    @Test(
        "The tag of an object encrypted with a key that is not S3's own is not an MD5",
        arguments: [
            ["x-amz-server-side-encryption": "aws:kms"], ["x-amz-server-side-encryption": "aws:kms:dsse"],
            ["x-amz-server-side-encryption-customer-algorithm": "AES256"],
        ])
    func encrypted(names: [String: String]) throws {
        var headers: HTTPFields = [.eTag: #""0cc175b9c0f1b6a831c399e269772661""#, .contentRange: "bytes 0-0/5"]
        for (name, value) in names { headers[try #require(HTTPField.Name(name))] = value }

        #expect(try upload(to: Self.storage(Reply(200, "", headers))).providerHash == Self.hash)
        #expect(try describe(Self.storage(Reply(206, "h", headers))).providerHash == nil)
        headers[HTTPField.Name("x-amz-meta-md5")!] = Self.hash
        #expect(try describe(Self.storage(Reply(206, "h", headers))).providerHash == Self.hash)

        let plain: HTTPFields = [.eTag: #""0cc175b9c0f1b6a831c399e269772661""#]
        #expect(throws: CloudStorageError.contentMismatch) { try upload(to: Self.storage(Reply(200, "", plain))) }
    }

    @Test("If a service rejects conditions, each upload first checks for an existing object")
    func withoutConditions() throws {
        let s3 = S3(servers: NamedServers(listed: [], admitsAnyPublic: true), now: { Self.now })
        let done = Reply(200, "", [.eTag: #""\#(Self.hash)""#])
        let storage = Self.storage(
            Self.error("NotImplemented", 501), Self.error("NoSuchKey", 404), done, Self.error("NoSuchKey", 404), done)

        for _ in 0..<2 { #expect(try upload(s3, to: storage).providerHash == Self.hash) }

        let sent = storage.transport.requests
        #expect(sent.map(\.method.rawValue) == ["PUT", "GET", "PUT", "GET", "PUT"])
        #expect(sent.map { $0.headers[.ifNoneMatch] } == ["*", nil, nil, nil, nil])

        let occupied = Self.storage(Reply(206, "x", [.contentRange: "bytes 0-0/7", .eTag: #""x-1""#]))
        #expect(throws: CloudStorageError.contentMismatch) { try upload(s3, to: occupied) }
        #expect(occupied.transport.requests.map(\.method.rawValue) == ["GET"])
    }

    @Test(
        "A service that rejects part checksums gets the parts' MD5", arguments: ["InvalidArgument", "NotImplemented"])
    func withoutChecksums(code: String) throws {
        let begun = Reply(200, "<InitiateMultipartUploadResult><UploadId>U</UploadId></InitiateMultipartUploadResult>")
        let part = Reply(200, "", [.eTag: #""x""#])
        let done = Reply(200, #"<CompleteMultipartUploadResult><ETag>"x-2"</ETag></CompleteMultipartUploadResult>"#)
        let present = Reply(206, "h", [.contentRange: "bytes 0-0/6", .eTag: #""x-2""#])
        let refusal = Self.error(code, code == "NotImplemented" ? 501 : 400)
        for replies in [
            [refusal, begun, part, part, done, present], [begun, refusal, part, part, done, present],
        ] {
            let s3 = S3(servers: NamedServers(listed: [], admitsAnyPublic: true), now: { Self.now })
            let storage = ScriptedStorage(
                [Self.error("NoSuchKey", 404)] + replies, location: Self.location(key: "AK"))
            let content = GivenParts(Self.bytes, Array("a".utf8), hash: "0123456789abcdef0123456789abcdef")

            let stored = try s3.upload(
                content, as: ObjectReservation(name: "x.jpg", objectID: nil), mimeType: "image/jpeg",
                to: storage.access())

            #expect(stored.sizeBytes == 6)
            let sent = storage.transport.requests
            #expect(sent.count(where: { $0.headers[HTTPField.Name("x-amz-checksum-sha256")!] != nil }) <= 1)
            let parts = sent.filter { $0.method == .put }.suffix(2)
            #expect(
                parts.map { $0.headers[HTTPField.Name("Content-MD5")!] }
                    == ["XUFAKrxLKna5cZ2REBfFkg==", "DMF1ucDxtqgxw5niaXcmYQ=="])
            #expect(sent.allSatisfy { !$0.bodyText.contains("ChecksumSHA256") })
        }
    }

    /// Cloudflare R2 rejects other part sizes, but only at the assembly.
    @Test("All parts but the last have the same size, and the last is not larger")
    func equalParts() throws {
        let content = PartedContent(RandomData.bytes((12 << 20) + 1), for: .s3Moto, partBytes: 8 << 20)
        let storage = Self.storage(
            Self.error("NoSuchKey", 404), Self.begun, Self.part, Self.part, Self.part, Self.done,
            Self.assembled(bytes: content.bytes.count, hash: content.providerHash))

        _ = try Self.s3.upload(
            content, as: ObjectReservation(name: "x.jpg", objectID: nil), mimeType: "image/jpeg", to: storage.access())

        #expect(Self.sentParts(storage) == [5 << 20, 5 << 20, (2 << 20) + 1])
    }

    @Test("The parts of an interrupted upload also have the same size", arguments: [false, true])
    func equalPartsAfterInterruption(tailIsNearlyAPart: Bool) throws {
        let bytes = RandomData.bytes((12 << 20) + 1)
        let reservation = ObjectReservation(name: "x.jpg", objectID: nil)
        let tail = tailIsNearlyAPart ? (5 << 20) - 10 : 1_300_000
        let cut = PieceContent(bytes, for: .s3Moto, from: PieceContent.Record(), cut: (5 << 20) + tail)
        let before = Self.storage(Self.error("NoSuchKey", 404), Self.begun, Self.part, Reply(200))
        #expect(throws: CloudStorageError.contentFailed(PieceContent.Broken())) {
            try Self.s3.upload(cut, as: reservation, mimeType: "image/jpeg", to: before.access())
        }
        #expect(Self.sentParts(before) == [5 << 20, tail])

        let rest = PieceContent(bytes, for: .s3Moto, from: cut.record, cut: nil)
        let kept = Reply(head: ReplyHead(status: 200, headers: [:]), body: Array(bytes[(5 << 20)..<((5 << 20) + tail)]))
        let after = Self.storage(
            kept, Self.part, Self.part, Self.done, Self.assembled(bytes: bytes.count, hash: rest.providerHash),
            Reply(204))
        let stored = try Self.s3.upload(rest, as: reservation, mimeType: "image/jpeg", to: after.access())

        #expect(stored.sizeBytes == Int64(bytes.count))
        #expect(Self.sentParts(after) == [5 << 20, (2 << 20) + 1])
    }

    private static let begun = Reply(
        200, "<InitiateMultipartUploadResult><UploadId>U</UploadId></InitiateMultipartUploadResult>")
    private static let part = Reply(200, "", [.eTag: #""x""#])
    private static let done = Reply(
        200, #"<CompleteMultipartUploadResult><ETag>"x-3"</ETag></CompleteMultipartUploadResult>"#)

    private static func assembled(bytes: Int, hash: String) -> Reply {
        Reply(
            206, "h",
            [
                .contentRange: "bytes 0-0/\(bytes)", .eTag: #""x-3""#,
                HTTPField.Name("x-amz-meta-md5")!: hash,
            ])
    }

    /// The sizes of the bodies sent with PUT.
    private static func sentParts(_ storage: ScriptedStorage) -> [Int] {
        storage.transport.requests.filter { $0.method == .put }.map { $0.body?.count ?? 0 }
    }

    @Test("An upload that an earlier request has completed is found, and its tail is deleted")
    func completedBefore() throws {
        var record = PieceContent.Record()
        record.session = #"{"id":"U","name":"x.jpg","parts":[],"tailBytes":0}"#
        let content = PieceContent([UInt8](repeating: 7, count: 1 << 20), for: .s3Moto, from: record, cut: nil)
        let tag = "\"\(content.providerHash)\""
        let present = Reply(206, "h", [.contentRange: "bytes 0-0/1048576", .eTag: tag])
        let storage = Self.storage(Self.error("NoSuchUpload", 404), present, Reply(204))

        let stored = try Self.s3.upload(
            content, as: ObjectReservation(name: "x.jpg", objectID: nil), mimeType: "image/jpeg", to: storage.access())

        #expect(stored.sizeBytes == 1 << 20 && stored.providerHash == content.providerHash)
        #expect(storage.transport.requests.map(\.method.rawValue) == ["PUT", "GET", "DELETE"])
        #expect(storage.transport.requests.last?.url == "https://s3.example.com/photos/a/x.jpg.part")
        #expect(!content.hasStartedOver)
    }

    @Test("An upload in pieces starts over if the service has lost a part, and leaves nothing behind")
    func lostPart() throws {
        let bytes = RandomData.bytes(1 << 20)
        let content = PieceContent(bytes, for: .s3Moto, from: PieceContent.Record(), cut: nil)
        let storage = Self.storage(
            Self.error("NoSuchKey", 404), Self.begun, Self.part, Self.error("InvalidPart", 400),
            Self.error("NoSuchKey", 404), Reply(204))

        #expect(throws: CloudStorageError.unavailable(detail: "")) {
            try Self.s3.upload(
                content, as: ObjectReservation(name: "x.jpg", objectID: nil), mimeType: "image/jpeg",
                to: storage.access())
        }
        #expect(content.hasStartedOver)
        #expect(storage.transport.requests.last?.method == .delete)
        #expect(storage.transport.requests.last?.url == "https://s3.example.com/photos/a/x.jpg?uploadId=U")
    }

    @Test("A completion that begins with 200 and ends with an error is repeated, and its result counts")
    func lateError() throws {
        let storage = Self.storage(
            Self.error("NoSuchKey", 404),
            Reply(200, "<InitiateMultipartUploadResult><UploadId>U</UploadId></InitiateMultipartUploadResult>"),
            Reply(200, "", [.eTag: #""5d41402abc4b2a76b9719d911017c592""#]),
            Reply(200, "", [.eTag: #""0cc175b9c0f1b6a831c399e269772661""#]), Self.error("InternalError", 200),
            Self.error("NoSuchUpload", 404),
            Reply(
                206, "h",
                [
                    .contentRange: "bytes 0-0/6", .eTag: #""x-2""#,
                    HTTPField.Name("x-amz-meta-md5")!: "0123456789abcdef0123456789abcdef",
                ]))
        let content = GivenParts(Array("hello".utf8), Array("a".utf8), hash: "0123456789abcdef0123456789abcdef")

        let stored = try Self.s3.upload(
            content, as: ObjectReservation(name: "x.jpg", objectID: nil), mimeType: "image/jpeg", to: storage.access())

        #expect(stored.sizeBytes == 6 && stored.revision == "x-2" && stored.providerHash == content.providerHash)
        #expect(storage.steps.map { $0.prefix { $0 != " " } } == ["GET", "POST", "PUT", "PUT", "POST", "POST", "GET"])
        #expect(storage.transport.requests[4].bodyText.contains("<PartNumber>2</PartNumber>"))
    }
}

/// Content in given parts.
private final class GivenParts: UploadContent {
    private let parts: [[UInt8]]
    let providerHash: String
    private var next = 0

    init(_ parts: [UInt8]..., hash: String) {
        self.parts = parts
        providerHash = hash
    }

    var lengthBytes: Int64 { Int64(parts.joined().count) }

    func reserveMemory(partBytes: Int) -> Bool { true }

    func nextPart(granularity: Int, atMost limit: Int) -> UploadPart {
        defer { next += 1 }
        return UploadPart(
            bytes: parts[next][...], offset: Int64(parts[..<next].joined().count), isLast: next == parts.count - 1)
    }

    func rest() -> UploadPart { nextPart(granularity: 1, atMost: .max) }
}

extension Reply {
    fileprivate init(_ status: Int, _ body: String, _ headers: HTTPFields) {
        self.init(head: ReplyHead(status: status, headers: headers), body: Array(body.utf8))
    }
}
