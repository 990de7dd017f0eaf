import HTTPTransport
import HTTPTypes
import Providers
import SyncProtocol
import TestSupport
import Testing

@Suite("Dropbox: interpretation of replies")
struct DropboxReplyTests {
    static let file = Reply(
        200, #"{".tag": "file", "id": "id:A", "name": "f", "size": 1, "rev": "1", "content_hash": "00"}"#)

    private func describe(_ storage: ScriptedStorage) throws -> StoredObject {
        try Dropbox().describe(objectID: "id:A", in: storage.access())
    }

    @Test(
        "A deletion whose reply does not describe the deleted object counts as failed", arguments: ["<html>", "", "{}"])
    func deletionWithoutMetadata(body: String) throws {
        #expect(throws: CloudStorageError.unavailable(detail: "")) {
            try Dropbox().delete(objectID: "id:A", in: ScriptedStorage(Reply(200, body)).access())
        }
        let done = Reply(200, #"{"metadata": {".tag": "file", "name": "f", "id": "id:A"}}"#)
        try Dropbox().delete(objectID: "id:A", in: ScriptedStorage(done).access())
    }

    @Test(
        "Errors are interpreted by their tags, regardless of the summary",
        arguments: [
            (409, #"{"error": {".tag": "path", "path": {".tag": "not_found"}}}"#, CloudStorageError.notFound),
            (409, #"{"error": {".tag": "path_lookup", "path_lookup": {".tag": "not_found"}}}"#, .notFound),
            (
                409,
                #"{"error": {".tag": "path", "reason": {".tag": "insufficient_space"}, "upload_session_id": "x"}}"#,
                .quotaExceeded
            ),
            (409, #"{"error": {".tag": "path", "path": {".tag": "restricted_content"}}}"#, .rejected(code: "")),
            (409, #"{"error": {".tag": "path", "path": {".tag": "malformed_path"}}}"#, .rejected(code: "")),
            (409, #"{"error": {".tag": "a_tag_of_the_future"}}"#, .rejected(code: "")),
            (409, #"{"error": {".tag": "content_hash_mismatch"}}"#, .contentMismatch),
            (409, "<html>", .unavailable(detail: "")), (400, "Error in call", .rejected(code: "")),
            (401, #"{"error": {".tag": "user_suspended"}}"#, .rejected(code: "")),
            (401, #"{"error": {".tag": "missing_scope", "required_scope": "x"}}"#, .rejected(code: "")),
            (403, #"{"error": {".tag": "other"}}"#, .rejected(code: "")),
            (404, "Not Found", .unavailable(detail: "")),
            (422, #"{"error": {".tag": "no_permission"}}"#, .rejected(code: "")),
        ])
    func meanings(status: Int, body: String, meaning: CloudStorageError) {
        let storage = ScriptedStorage(Reply(status, body))

        #expect(throws: meaning) { try describe(storage) }
        #expect(storage.steps.count == 1)
    }

    @Test(
        "Rate limits, locks and temporary errors are retried after the time that Dropbox gives",
        arguments: [
            (429, #"{"error": {"reason": {".tag": "too_many_requests"}, "retry_after": 3}}"#, 3),
            (429, #"{"error": {"reason": {".tag": "too_many_write_operations"}, "retry_after": 3.0}}"#, 3),
            (429, "Too many requests", nil), (409, #"{"error": {".tag": "too_many_write_operations"}}"#, nil),
            (409, #"{"error": {".tag": "path", "path": {".tag": "too_many_write_operations"}}}"#, nil),
            (500, "", nil), (503, "", nil), (408, "", nil),
        ] as [(Int, String, Int?)])
    func passing(status: Int, body: String, seconds: Int?) throws {
        let storage = ScriptedStorage(Reply(status, body), Self.file)

        #expect(try describe(storage).objectID == "id:A")
        #expect(storage.pauses.pauses.count == 1)
        if let seconds { #expect(storage.pauses.pauses[0] >= .seconds(seconds)) }
    }

    @Test(
        "An expired or unknown token is refreshed, even if the reply does not come from Dropbox",
        arguments: [
            #"{"error": {".tag": "expired_access_token"}}"#, #"{"error": {".tag": "invalid_access_token"}}"#, "<html>",
        ])
    func deadToken(body: String) throws {
        let storage = ScriptedStorage(Reply(401, body), Self.file)

        _ = try describe(storage)

        #expect(storage.bearers == ["Bearer T0", "Bearer T1"])
    }

    @Test("Names with any characters are sent in an ASCII header")
    func headerSafe() throws {
        let storage = ScriptedStorage(Self.file, Self.file)
        let content = BytesContent([1], for: .dropbox)
        let reservation = ObjectReservation(name: "ü\"\\😀\u{7F}\n.txt", objectID: nil)

        _ = try? Dropbox().upload(content, as: reservation, mimeType: "text/plain", to: storage.access())

        let argument = try #require(storage.transport.requests[0].headers[HTTPField.Name("Dropbox-API-Arg")!])
        #expect(argument.utf8.allSatisfy { (0x20..<0x7F).contains($0) })
        #expect(argument.contains(#""path":"/\u00fc\"\\\ud83d\ude00\u007f\n.txt""#))
        #expect(argument.contains(#""mode":"add""#) && argument.contains(#""autorename":false"#))
    }

    @Test("A folder with a file's id is not a file")
    func folder() {
        let storage = ScriptedStorage(Reply(200, #"{".tag": "folder", "id": "id:A", "name": "f"}"#))

        #expect(throws: CloudStorageError.notFound) { try describe(storage) }
    }

    @Test("A download is a POST without a body and without a content type")
    func download() throws {
        let storage = ScriptedStorage(Reply(200, "x"))

        try Dropbox().download(objectID: "id:A", from: storage.access()) { _ in true }

        let request = storage.transport.requests[0]
        #expect(request.method == .post && request.body == nil && request.headers[.contentType] == nil)
        #expect(request.url == "https://content.dropboxapi.com/2/files/download")
    }
}
