import HTTPTransport
import HTTPTypes
import Providers
import TestSupport
import Testing

@Suite("Drive: resumable uploads")
struct DriveUploadSessionTests {
    static let quarter = 262_144
    static let session = "https://www.googleapis.com/upload/drive/v3/files?uploadType=resumable&upload_id=A"
    static let started = Reply(200, headers: [.location: session])
    static let reservation = ObjectReservation(name: "file.bin", objectID: "ID", folderID: "FOLDER")
    let bytes = RandomData.bytes(3 * quarter)

    /// The session has stored `stored` bytes.
    static func goOn(_ stored: Int) -> Reply {
        stored == 0 ? Reply(308) : Reply(308, headers: [.range: "bytes=0-\(stored - 1)"])
    }

    /// Drive has the complete file.
    private var done: Reply {
        let size = bytes.count
        return Reply(
            200,
            #"{"id": "ID", "name": "file.bin", "size": "\#(size)", "md5Checksum": "\#(Checksum.md5(bytes))", "headRevisionId": "R"}"#
        )
    }

    @discardableResult
    private func upload(_ storage: ScriptedStorage, partBytes: Int = quarter) throws -> StoredObject {
        try GoogleDrive().upload(
            PartedContent(bytes, for: .googleDrive, partBytes: partBytes), as: Self.reservation, mimeType: "image/jpeg",
            to: storage.access())
    }

    @Test("Parts are sent in order, each with its range")
    func plain() throws {
        let storage = ScriptedStorage(Self.started, Self.goOn(262_144), Self.goOn(524_288), done)

        let stored = try upload(storage)

        #expect(stored.objectID == "ID" && stored.sizeBytes == bytes.count && stored.revision == "R")
        #expect(
            storage.steps.dropFirst() == [
                "PUT bytes 0-262143/786432 262144", "PUT bytes 262144-524287/786432 262144",
                "PUT bytes 524288-786431/786432 262144",
            ])
        #expect(storage.transport.requests[0].headers[.init("X-Upload-Content-Length")!] == "786432")
        #expect(storage.pauses.pauses.isEmpty)
    }

    @Test("If Drive stores less than was sent, or nothing, the rest is sent from there")
    func partialPersistence() throws {
        let storage = ScriptedStorage(
            Self.started, Self.goOn(262_144), Self.goOn(262_144), Self.goOn(524_288), Self.goOn(524_288), done)

        try upload(storage, partBytes: 2 * Self.quarter)

        #expect(
            storage.steps.dropFirst() == [
                "PUT bytes 0-524287/786432 524288", "PUT bytes 262144-524287/786432 262144",
                "PUT bytes 262144-524287/786432 262144", "PUT bytes 524288-786431/786432 262144",
                "PUT bytes 524288-786431/786432 262144",
            ])
        // Only where the offset did not advance.
        #expect(storage.pauses.pauses.count == 2)
    }

    @Test("308 without Range means that nothing is stored")
    func nothingStored() throws {
        let storage = ScriptedStorage(Self.started, Self.goOn(0), Self.goOn(262_144), Self.goOn(524_288), done)

        try upload(storage)

        #expect(storage.steps[1] == storage.steps[2])
    }

    @Test(
        "After an error on a chunk, Drive is asked for its offset before any byte is sent again",
        arguments: [500, 502, 503, 504, 429, 408])
    func errorOnChunk(status: Int) throws {
        let storage = ScriptedStorage(
            Self.started, Self.goOn(262_144), Reply(status, headers: [.retryAfter: "2"]), Self.goOn(262_144),
            Self.goOn(524_288), Reply(status), done)

        try upload(storage)

        #expect(
            storage.steps.dropFirst(2) == [
                "PUT bytes 262144-524287/786432 262144", "PUT bytes */786432 0",
                "PUT bytes 262144-524287/786432 262144",
                "PUT bytes 524288-786431/786432 262144", "PUT bytes */786432 0",
            ])
        #expect(storage.pauses.pauses.count == 2)
        #expect((.seconds(2)...Duration.milliseconds(2_201)).contains(storage.pauses.pauses[0]))
    }

    @Test("Permanent errors end after five attempts for the chunk")
    func lastingErrors() {
        let storage = ScriptedStorage { request throws(TransportError) in
            if request.method == .post { return Self.started }
            return (request.body?.count ?? 0) > 0 ? Reply(503) : Self.goOn(0)
        }

        #expect(throws: CloudStorageError.unavailable(detail: "")) { try upload(storage) }
        #expect(storage.steps.filter { $0.hasSuffix("262144") }.count == 5)
    }

    @Test("If Drive loses acknowledged bytes, the upload fails instead of looping")
    func forgetfulDrive() {
        let storage = ScriptedStorage(Self.started, Self.goOn(262_144), Self.goOn(0))

        #expect(throws: CloudStorageError.unavailable(detail: "")) { try upload(storage) }
    }

    @Test("A session lost at its first part is restarted, once", arguments: [400, 403, 404, 410, 412])
    func lostAtOnce(status: Int) throws {
        let lost = DriveReplyTests.error(status, "invalid")
        let storage = ScriptedStorage(
            Self.started, lost, Self.started, Self.goOn(262_144), Self.goOn(524_288), done)
        try upload(storage)
        #expect(storage.steps.filter { $0.hasPrefix("POST") }.count == 2)

        let hopeless = ScriptedStorage(Self.started, lost, Self.started, lost)
        #expect(throws: CloudStorageError.unavailable(detail: "")) { try upload(hopeless) }
        #expect(hopeless.steps.filter { $0.hasPrefix("POST") }.count == 2)
    }

    @Test("A session lost later fails, because the earlier bytes are gone", arguments: [400, 403, 404, 410, 412])
    func lostLater(status: Int) {
        let storage = ScriptedStorage(Self.started, Self.goOn(262_144), DriveReplyTests.error(status, "invalid"))

        #expect(throws: CloudStorageError.unavailable(detail: "")) { try upload(storage) }
        #expect(storage.steps.count == 3)
    }

    @Test("If a session is gone after the last part, its object is looked up")
    func lostAfterTheEnd() throws {
        let storage = ScriptedStorage(
            Self.started, Self.goOn(262_144), Self.goOn(524_288), Reply(503), Reply(404), done)

        #expect(try upload(storage).objectID == "ID")
        #expect(storage.steps.last == "GET 0")
    }

    @Test("An existing object is read to the end, compared, and adopted")
    func conflict() throws {
        for replies in [
            [Reply(409, #"{"error": {"code": 409, "errors": [{"reason": "fileIdInUse"}]}}"#), done],
            [Self.started, Self.goOn(262_144), Reply(409), done],
        ] {
            let storage = ScriptedStorage(replies)
            #expect(try upload(storage).objectID == "ID")
        }
    }

    @Test("Tokens may expire at any part, and more than once")
    func expiredTokens() throws {
        let storage = ScriptedStorage(
            Self.started, Reply(401), Self.goOn(262_144), Reply(401), Self.goOn(524_288), done)

        try upload(storage)

        #expect(
            storage.bearers == ["Bearer T0", "Bearer T0", "Bearer T1", "Bearer T1", "Bearer T2", "Bearer T2"])
        let refused = ScriptedStorage(Self.started, Reply(401), Reply(503), Reply(401))
        #expect(throws: CloudStorageError.unavailable(detail: "")) { try upload(refused) }
    }

    @Test("A session may be redirected, and the token is sent only to Google's hosts")
    func movedSession() throws {
        let moved = Reply(
            308, headers: [.range: "bytes=0-262143", .location: "https://storage.googleapis.com/upload?upload_id=B"])
        let storage = ScriptedStorage(Self.started, moved, Self.goOn(524_288), done)
        try upload(storage)
        #expect(storage.transport.requests[2].url == "https://storage.googleapis.com/upload?upload_id=B")

        for url in [
            "https://evil.example/upload", "http://www.googleapis.com/upload",
            "https://www.googleapis.com@evil.example/",
            "https://evil.example?.googleapis.com", "https://evil.example#.googleapis.com",
            "https://evilgoogleapis.com/",
            "https://evil.example\\.googleapis.com/", "/upload?upload_id=B", "",
        ] {
            let storage = ScriptedStorage(Reply(200, headers: [.location: url]), done)
            #expect(throws: CloudStorageError.rejected(code: "")) { try upload(storage) }
            #expect(storage.steps.count == 1)
        }
    }

    @Test("The object in Drive must match the sent bytes, in length and hash")
    func mismatch() {
        let other = Reply(200, #"{"id": "ID", "size": "786432", "md5Checksum": "00000000000000000000000000000000"}"#)
        let shorter = Reply(
            200, #"{"id": "ID", "size": "786431", "md5Checksum": "\#(Checksum.md5(bytes))"}"#)
        for end in [other, shorter, Reply(200, #"{"id": "ID"}"#)] {
            let storage = ScriptedStorage(Self.started, Self.goOn(262_144), Self.goOn(524_288), end)
            #expect(throws: CloudStorageError.contentMismatch) { try upload(storage) }
        }
    }
}
