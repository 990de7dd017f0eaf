import HTTPTransport
import HTTPTypes
import Providers
import SyncProtocol
import TestSupport
import Testing

@Suite("Dropbox: upload sessions")
struct DropboxUploadSessionTests {
    private static let bytes = RandomData.bytes(700_000)
    private static let session = Reply(200, #"{"session_id": "S"}"#)

    private static var file: Reply {
        var hasher = ContentHasher(for: .dropbox)
        hasher.update(bytes)
        let hash = hasher.finish().checkSum.rawValue
        return Reply(
            200, #"{"id": "id:A", "name": "f", "size": 700000, "rev": "1", "content_hash": "\#(hash)"}"#)
    }

    private static func wrongOffset(_ correct: Int, inFinish: Bool = false) -> Reply {
        let error = #"{".tag": "incorrect_offset", "correct_offset": \#(correct)}"#
        return Reply(
            409,
            inFinish ? #"{"error": {".tag": "lookup_failed", "lookup_failed": \#(error)}}"# : #"{"error": \#(error)}"#)
    }

    @discardableResult
    private func upload(_ storage: ScriptedStorage, spareName: String? = "spare") throws -> StoredObject {
        try Dropbox().upload(
            PartedContent(Self.bytes, for: .dropbox),
            as: ObjectReservation(name: "f", objectID: nil, spareName: spareName), mimeType: "text/plain",
            to: storage.access())
    }

    /// Route, offset and number of bytes of each request.
    private func steps(_ storage: ScriptedStorage) -> [String] {
        storage.transport.requests.map { request in
            let argument = JSONValue(Array((request.headers[HTTPField.Name("Dropbox-API-Arg")!] ?? "").utf8))
            let offset = argument?.cursor?.offset?.integer.map { " at \($0)" } ?? ""
            return "\(request.url.split(separator: "/").last ?? "")\(offset) \(request.body?.count ?? 0)"
        }
    }

    @Test("The first bytes start a session, more are appended, the last ones finish it")
    func plain() throws {
        let storage = ScriptedStorage(Self.session, Reply(200, "null"), Self.file)

        #expect(try upload(storage).objectID == "id:A")

        #expect(
            steps(storage) == ["start 262144", "append_v2 at 262144 262144", "finish at 524288 175712"])
    }

    @Test("A part whose reply was lost is sent again, and Dropbox's offset is used")
    func lostReply() throws {
        let storage = ScriptedStorage(
            Self.session, Reply(503), Self.wrongOffset(524_288), Self.file)

        #expect(try upload(storage).objectID == "id:A")

        #expect(
            steps(storage) == [
                "start 262144", "append_v2 at 262144 262144", "append_v2 at 262144 262144",
                "finish at 524288 175712",
            ])
    }

    @Test("If Dropbox has stored a piece of a part, the rest is sent")
    func partialPart() throws {
        let storage = ScriptedStorage(
            Self.session, Self.wrongOffset(300_000), Reply(200, "null"), Self.wrongOffset(600_000, inFinish: true),
            Self.file)

        #expect(try upload(storage).objectID == "id:A")

        #expect(
            steps(storage) == [
                "start 262144", "append_v2 at 262144 262144", "append_v2 at 300000 224288",
                "finish at 524288 175712", "finish at 600000 100000",
            ])
    }

    @Test("If Dropbox loses acknowledged bytes, the upload fails")
    func forgottenBytes() {
        let storage = ScriptedStorage(Self.session, Self.wrongOffset(100))

        #expect(throws: CloudStorageError.unavailable(detail: "")) { try upload(storage) }
    }

    @Test("An offset that never advances fails the upload")
    func stall() {
        let storage = ScriptedStorage([Self.session] + Array(repeating: Self.wrongOffset(262_144), count: 9))

        #expect(throws: CloudStorageError.unavailable(detail: "")) { try upload(storage) }
        #expect(storage.steps.count == 4)
    }

    @Test("A finish whose reply was lost is recognised by the resulting file")
    func lostFinish() throws {
        let gone = Reply(409, #"{"error": {".tag": "lookup_failed", "lookup_failed": {".tag": "not_found"}}}"#)
        let storage = ScriptedStorage(Self.session, Reply(200, "null"), Reply(500), gone, Self.file)

        #expect(try upload(storage).objectID == "id:A")

        #expect(steps(storage).last?.hasPrefix("get_metadata") == true)
    }

    @Test("A missing session without a file is a temporary error")
    func lostSession() {
        let absent = Reply(409, #"{"error": {".tag": "path", "path": {".tag": "not_found"}}}"#)
        let gone = Reply(409, #"{"error": {".tag": "lookup_failed", "lookup_failed": {".tag": "not_found"}}}"#)

        #expect(throws: CloudStorageError.unavailable(detail: "")) {
            try upload(ScriptedStorage(Self.session, Reply(200, "null"), gone, absent))
        }
        #expect(throws: CloudStorageError.unavailable(detail: "")) {
            try upload(ScriptedStorage(Self.session, Reply(409, #"{"error": {".tag": "not_found"}}"#)))
        }
    }

    @Test("A name conflict causes a second finish without bytes, under the spare name")
    func taken() throws {
        let conflict = Reply(
            409, #"{"error": {".tag": "path", "path": {".tag": "conflict", "conflict": {".tag": "file"}}}}"#)
        let storage = ScriptedStorage(
            Self.session, Reply(200, "null"), conflict, Self.wrongOffset(700_000, inFinish: true), Self.file)

        #expect(try upload(storage).objectID == "id:A")

        #expect(steps(storage).last == "finish at 700000 0")
        let argument = storage.transport.requests.last?.headers[HTTPField.Name("Dropbox-API-Arg")!]
        #expect(argument?.contains(#""path":"/spare""#) == true)
    }
}
