import HTTPTransport
import HTTPTypes
import Providers
import TestSupport
import Testing

@Suite("OneDrive: upload sessions")
struct OneDriveUploadSessionTests {
    static let unit = 327_680
    static let address = "https://my.microsoftpersonalcontent.com/up?guid=A"
    static let started = Reply(200, "{\"uploadUrl\": \"\(address)\", \"nextExpectedRanges\": [\"0-\"]}")
    static let reservation = ObjectReservation(
        name: "file.bin", objectID: nil, folderID: "F", spareName: "file~1.bin")
    static let taken = Reply(409, #"{"error": {"code": "nameAlreadyExists"}}"#)
    let bytes = RandomData.bytes(3 * unit)

    /// OneDrive expects byte `next`; `end` closes the range.
    static func goOn(_ next: Int, end: Int? = nil) -> Reply {
        Reply(202, "{\"nextExpectedRanges\": [\"\(next)-\(end.map(String.init) ?? "")\"]}")
    }

    private func item(id: String = "D!1", size: Int? = nil, hash: String? = nil) -> Reply {
        let hash = hash ?? PartedContent(bytes, for: .oneDrive).providerHash
        return Reply(
            201,
            #"{"id": "\#(id)", "name": "file.bin", "size": \#(size ?? bytes.count), "cTag": "C", "eTag": "E", "file": {"hashes": {"quickXorHash": "\#(hash)"}}}"#
        )
    }

    @discardableResult
    private func upload(_ storage: ScriptedStorage, partBytes: Int = unit) throws -> StoredObject {
        try OneDrive().upload(
            PartedContent(bytes, for: .oneDrive, partBytes: partBytes), as: Self.reservation, mimeType: "image/jpeg",
            to: storage.access())
    }

    @Test("Blocks are sent in order with their ranges, without the token [362]")
    func plain() throws {
        let storage = ScriptedStorage(Self.started, Self.goOn(327_680), Self.goOn(655_360, end: 983_039), item())

        let stored = try upload(storage)

        #expect(stored.objectID == "D!1" && stored.sizeBytes == bytes.count && stored.revision == "C")
        #expect(
            storage.steps.dropFirst() == [
                "PUT bytes 0-327679/983040 327680", "PUT bytes 327680-655359/983040 327680",
                "PUT bytes 655360-983039/983040 327680",
            ])
        #expect(storage.bearers == ["Bearer T0", "", "", ""])
        #expect(
            storage.transport.requests[0].url
                == "https://graph.microsoft.com/v1.0/me/drive/special/approot:/file.bin:/createUploadSession")
        #expect(storage.transport.requests[1].url == Self.address)
        #expect(storage.transport.requests[0].bodyText.contains("\"fileSize\":983040"))
        #expect(storage.transport.requests[0].bodyText.contains("fail"))
    }

    @Test("A partly stored block is continued exactly there, at any offset")
    func oddOffset() throws {
        let storage = ScriptedStorage(
            Self.started, Self.goOn(100_001), Self.goOn(327_680), Self.goOn(655_360), item())

        try upload(storage)

        #expect(
            storage.steps.dropFirst().prefix(2) == [
                "PUT bytes 0-327679/983040 327680", "PUT bytes 100001-327679/983040 227679",
            ])
    }

    private static let absent = Reply(404, #"{"error": {"code": "itemNotFound"}}"#)

    @Test("A name reserved by a session whose reply was lost is not free, but becomes free again")
    func nameOfLostSession() throws {
        let busy = ScriptedStorage(Self.taken, Self.absent, Self.taken, Self.absent)
        #expect(throws: CloudStorageError.unavailable(detail: "")) { try upload(busy) }

        let other = ScriptedStorage(
            Self.taken, Self.absent, Self.started, Self.goOn(327_680), Self.goOn(655_360), item())
        #expect(try upload(other).objectID == "D!1")
        #expect(other.transport.requests[2].url.contains("file~1.bin"))
    }

    @Test("An item with a small file's name and size, but no hash yet, may be the file, so nothing else is stored")
    func notHashedYet() throws {
        let small = Array(bytes.prefix(100))
        let item = Reply(200, #"{"id": "D!1", "name": "file.bin", "size": 100, "cTag": "C", "eTag": "E", "file": {}}"#)
        let storage = ScriptedStorage(Self.taken, item)

        #expect(throws: CloudStorageError.unavailable(detail: "")) {
            _ = try OneDrive().upload(
                PartedContent(small, for: .oneDrive, partBytes: Self.unit), as: Self.reservation,
                mimeType: "image/jpeg", to: storage.access())
        }
        #expect(storage.steps.count == 2)
    }

    @Test("A session still busy with a broken request is retried if no item has the name")
    func busySession() throws {
        let storage = ScriptedStorage(
            Self.started, Self.goOn(327_680), Reply(409, #"{"error": {"code": "conflict"}}"#),
            Reply(404, #"{"error": {"code": "itemNotFound"}}"#), Self.goOn(655_360), item())

        try upload(storage)

        let second = "PUT bytes 327680-655359/983040 327680"
        #expect(storage.steps.dropFirst(2).prefix(3) == [second, "GET 0", second])
        #expect(storage.pauses.pauses.count == 1)
    }

    @Test("Bytes that arrived before the phone broke off are sent, even if the session is still busy with that request")
    func busyAfterBreak() throws {
        let whole = RandomData.bytes(4 * Self.unit)
        let content = PieceContent(whole, for: .oneDrive, from: PieceContent.Record(), cut: 500_000)
        let storage = ScriptedStorage(
            Self.started, Self.goOn(0), Reply(409, #"{"error": {"code": "conflict"}}"#),
            Reply(404, #"{"error": {"code": "itemNotFound"}}"#), Self.goOn(0), Self.goOn(Self.unit))

        #expect(throws: CloudStorageError.contentFailed(PieceContent.Broken())) {
            try OneDrive().upload(content, as: Self.reservation, mimeType: "image/jpeg", to: storage.access())
        }

        #expect(content.record.position == Int64(Self.unit), "\(storage.steps)")
        #expect(storage.pauses.pauses.count == 1)
    }

    @Test(
        "After an error, OneDrive is asked for its offset before any byte is sent again",
        arguments: [408, 429, 500, 503, 509])
    func errorOnBlock(status: Int) throws {
        let storage = ScriptedStorage(
            Self.started, Self.goOn(327_680), Reply(status, headers: [.retryAfter: "2"]), Self.goOn(327_680),
            Self.goOn(655_360), item())

        try upload(storage)

        #expect(
            storage.steps.dropFirst(2) == [
                "PUT bytes 327680-655359/983040 327680", "GET 0", "PUT bytes 327680-655359/983040 327680",
                "PUT bytes 655360-983039/983040 327680",
            ])
        #expect(storage.pauses.pauses.count == 1)
    }

    @Test("A block that OneDrive already has is skipped after 416")
    func overlap() throws {
        let storage = ScriptedStorage(
            Self.started,
            Reply(416, #"{"error": {"code": "invalidRange", "innererror": {"code": "fragmentOverlap"}}}"#),
            Self.goOn(327_680), Self.goOn(655_360), item())

        try upload(storage)

        #expect(storage.steps[2] == "GET 0" && storage.steps[3] == "PUT bytes 327680-655359/983040 327680")
    }

    @Test("A new session that is not found yet is retried after five seconds, once")
    func replicationLag() throws {
        let lag = Reply(404, #"{"error": {"code": "itemNotFound"}}"#)
        let storage = ScriptedStorage(Self.started, lag, Self.goOn(327_680), Self.goOn(655_360), item())
        try upload(storage)
        #expect(storage.pauses.pauses == [.seconds(5)])

        let renewed = ScriptedStorage(
            Self.started, lag, lag, Self.started, Self.goOn(327_680), Self.goOn(655_360), item())
        try upload(renewed)
        #expect(renewed.steps.filter { $0.hasPrefix("POST") }.count == 2)
    }

    @Test(
        "A lost session is restarted if all bytes are available; otherwise the client may retry",
        arguments: [
            (401, "unauthenticated", ""), (400, "invalidRequest", "Upload session not found"),
            (400, "uploadSessionFailed", ""), (412, "preconditionFailed", ""),
        ])
    func lostAtOnce(status: Int, code: String, message: String) throws {
        let refused = Reply(status, #"{"error": {"code": "\#(code)", "message": "\#(message)"}}"#)
        let renewed = ScriptedStorage(
            Self.started, refused, Self.started, Self.goOn(327_680), Self.goOn(655_360), item())
        try upload(renewed)
        #expect(renewed.steps.filter { $0.hasPrefix("POST") }.count == 2)

        let later = ScriptedStorage(Self.started, Self.goOn(327_680), refused)
        #expect(throws: CloudStorageError.unavailable(detail: "")) { try upload(later) }
    }

    @Test("If a drive rejects the announced size, the session is created without it")
    func withoutSize() throws {
        let refused = Reply(400, #"{"error": {"code": "invalidRequest", "message": "No fileSize"}}"#)
        let storage = ScriptedStorage(
            refused, Self.started, Self.goOn(327_680), Self.goOn(655_360), item())

        try upload(storage)

        let bodies = storage.transport.requests.prefix(2).map(\.bodyText)
        #expect(bodies[0].contains("fileSize") && !bodies[1].contains("fileSize") && bodies[1].contains("fail"))
    }

    @Test("A session lost later fails and is cancelled, because the earlier bytes are gone")
    func lostLater() {
        let storage = ScriptedStorage(Self.started, Self.goOn(327_680), Reply(404), Reply(404))

        #expect(throws: CloudStorageError.unavailable(detail: "")) { try upload(storage) }
        #expect(storage.steps.last == "DELETE 0")
        #expect(storage.bearers.last == "")
    }

    @Test("A full drive is reported at the beginning or the end, and the session is cancelled")
    func full() {
        let full = Reply(507, #"{"error": {"code": "insufficientStorage"}}"#)
        #expect(throws: CloudStorageError.quotaExceeded) { try upload(ScriptedStorage(full)) }
        let storage = ScriptedStorage(Self.started, Self.goOn(327_680), Self.goOn(655_360), full, Reply(204))
        #expect(throws: CloudStorageError.quotaExceeded) { try upload(storage) }
        #expect(storage.steps.last == "DELETE 0")
    }

    @Test("If the name is taken by the same contents at the last block, the upload succeeds")
    func takenAtTheEnd() throws {
        let storage = ScriptedStorage(
            Self.started, Self.goOn(327_680), Self.goOn(655_360), Self.taken, item(id: "D!7"), Reply(204))

        #expect(try upload(storage).objectID == "D!7")
        #expect(storage.steps.last == "DELETE 0")
    }

    @Test("The object in OneDrive must match the sent bytes; otherwise it is deleted by its id")
    func mismatch() {
        for end in [item(size: 983_039), item(hash: "AAAAAAAAAAAAAAAAAAAAAAAAAAA=")] {
            let storage = ScriptedStorage(Self.started, Self.goOn(327_680), Self.goOn(655_360), end, Reply(204))
            #expect(throws: CloudStorageError.contentMismatch) { try upload(storage) }
            #expect(
                storage.transport.requests.last?.url == "https://graph.microsoft.com/v1.0/me/drive/items/D%211")
        }
    }

    @Test("An item without a hash is accepted: the hash may be delayed")
    func lateHash() throws {
        let end = Reply(201, #"{"id": "D!1", "name": "file.bin", "size": 983040, "cTag": "C", "file": {}}"#)
        let storage = ScriptedStorage(Self.started, Self.goOn(327_680), Self.goOn(655_360), end)

        #expect(try upload(storage).providerHash == nil)
    }

    @Test("If the app's folder does not exist yet, it is requested, and the upload continues [363]")
    func missingFolder() throws {
        let denied = Reply(403, #"{"error": {"code": "accessDenied"}}"#)
        let storage = ScriptedStorage(
            denied, Reply(200, #"{"id": "F"}"#), Self.started, Self.goOn(327_680), Self.goOn(655_360), item())
        try upload(storage)
        #expect(storage.transport.requests[1].url.contains("/special/approot?"))

        let hopeless = ScriptedStorage(denied, Reply(200, #"{"id": "F"}"#), denied)
        #expect(throws: CloudStorageError.rejected(code: "")) { try upload(hopeless) }
    }

    @Test("Invalid session URLs are not opened")
    func foreignAddresses() {
        for url in ["http://my.microsoftpersonalcontent.com/up", "/up", "", "https://a@evil.example/", "https:///up"] {
            let storage = ScriptedStorage(Reply(200, "{\"uploadUrl\": \"\(url)\"}"), item())
            #expect(throws: CloudStorageError.rejected(code: "")) { try upload(storage) }
            #expect(storage.steps.count == 1)
        }
    }
}
