import HTTPTransport
import HTTPTypes
import Providers
import TestSupport
import Testing

@Suite("Drive: interpretation of replies")
struct DriveReplyTests {
    static func error(_ status: Int, _ reason: String) -> Reply {
        Reply(
            status,
            #"{"error": {"code": \#(status), "message": "No", "errors": [{"domain": "x", "reason": "\#(reason)"}]}}"#)
    }

    private func describe(_ storage: ScriptedStorage) throws -> StoredObject {
        try GoogleDrive().describe(objectID: "ID", in: storage.access())
    }

    @Test(
        "Each reason has its meaning",
        arguments: [
            (400, "badRequest", CloudStorageError.rejected(code: "")), (403, "storageQuotaExceeded", .quotaExceeded),
            (403, "quotaExceeded", .quotaExceeded), (403, "dailyLimitExceeded", .rateLimited(retryAfter: nil)),
            (403, "downloadQuotaExceeded", .rateLimited(retryAfter: nil)),
            (403, "insufficientPermissions", .rejected(code: "")), (403, "insufficientScopes", .rejected(code: "")),
            (403, "appNotAuthorizedToFile", .notFound), (403, "insufficientFilePermissions", .rejected(code: "")),
            (403, "cannotDownloadAbusiveFile", .rejected(code: "")), (404, "notFound", .notFound),
            (412, "conditionNotMet", .rejected(code: "")),
            (403, "accessNotConfigured", .misconfigured(detail: "")),
            (403, "SERVICE_DISABLED", .misconfigured(detail: "")),
        ])
    func meanings(status: Int, reason: String, meaning: CloudStorageError) {
        let storage = ScriptedStorage(Self.error(status, reason))

        #expect(throws: meaning) { try describe(storage) }
        #expect(storage.steps.count == 1)
    }

    @Test(
        "Rate limits and temporary errors are retried",
        arguments: [
            (403, "rateLimitExceeded"), (403, "userRateLimitExceeded"), (429, "rateLimitExceeded"),
            (408, "requestTimeout"), (500, "backendError"), (503, "backendError"),
        ])
    func passing(status: Int, reason: String) throws {
        let storage = ScriptedStorage(Self.error(status, reason), Reply(200, #"{"id": "ID"}"#))

        #expect(try describe(storage).objectID == "ID")
        #expect(storage.pauses.pauses.count == 1)
    }

    @Test("Errors in the newer form, without a list of reasons, are understood")
    func newerForm() throws {
        let scope =
            #"{"error": {"code": 403, "status": "PERMISSION_DENIED", "details": [{"@type": "x"}, {"reason": "ACCESS_TOKEN_SCOPE_INSUFFICIENT"}]}}"#
        #expect(throws: CloudStorageError.rejected(code: "")) { try describe(ScriptedStorage(Reply(403, scope))) }
        #expect(throws: CloudStorageError.notFound) {
            try describe(ScriptedStorage(Reply(404, #"{"error": {"code": 404, "status": "NOT_FOUND"}}"#)))
        }
        let rate =
            #"{"error": {"code": 403, "status": "PERMISSION_DENIED", "details": [{"reason": "RATE_LIMIT_EXCEEDED"}]}}"#
        #expect(try describe(ScriptedStorage(Reply(403, rate), Reply(200, #"{"id": "ID"}"#))).objectID == "ID")
    }

    @Test("Expired tokens that Drive reports as missing are refreshed")
    func deadToken() throws {
        let storage = ScriptedStorage(Self.error(403, "dailyLimitExceededUnreg"), Reply(200, #"{"id": "ID"}"#))

        _ = try describe(storage)

        #expect(storage.bearers == ["Bearer T0", "Bearer T1"])
    }

    @Test("A deletion answered with a page has not happened")
    func deletionWithBody() throws {
        let page = ScriptedStorage(Reply(200, "<html>Sign in to this network</html>"))
        #expect(throws: CloudStorageError.unavailable(detail: "")) {
            try GoogleDrive().delete(objectID: "ID", in: page.access())
        }
        try GoogleDrive().delete(objectID: "ID", in: ScriptedStorage(Reply(204)).access())
    }

    @Test("An object that the app may no longer access counts as deleted")
    func foreignObject() throws {
        try GoogleDrive().delete(
            objectID: "ID", in: ScriptedStorage(Self.error(403, "appNotAuthorizedToFile")).access())
    }

    @Test(
        "A resumed download must continue at the right byte",
        arguments: ["bytes 4-9/10", "bytes 6-9/10", "", "bytes */10"])
    func wrongRange(range: String) {
        let storage = ScriptedStorage(
            Reply(200, "12345", headers: [.contentLength: "10"]), Reply(206, "67890", headers: [.contentRange: range]))

        var received: [UInt8] = []
        #expect(throws: CloudStorageError.unavailable(detail: "")) { try download(storage, &received) }
        #expect(received == Array("12345".utf8))
    }

    @Test("A resumed download delivers each byte once; from a full reply to a range only the rest is used")
    func resumed() throws {
        let cut = Reply(200, "12345", headers: [.contentLength: "10"])
        let storage = ScriptedStorage(
            cut, Reply(206, "67", headers: [.contentRange: "bytes 5-9/10", .contentLength: "5"]), Reply(401),
            Self.error(503, "backendError"), Reply(206, "890", headers: [.contentRange: "bytes 7-9/10"]))
        var received: [UInt8] = []
        try download(storage, &received)
        #expect(received == Array("1234567890".utf8))
        #expect(storage.steps == ["GET 0", "GET bytes=5- 0", "GET bytes=7- 0", "GET bytes=7- 0", "GET bytes=7- 0"])

        // A server may ignore the range; only 206 gives a meaning to Content-Range (RFC 9110, section 14.4).
        for headers: HTTPFields in [[:], [.contentRange: "bytes 5-9/10"]] {
            var again: [UInt8] = []
            try download(ScriptedStorage(cut, Reply(200, "1234567890", headers: headers)), &again)
            #expect(again == Array("1234567890".utf8))
        }
        // However, some servers answer a range with 200; then the length is that of the range.
        var rest: [UInt8] = []
        let odd = Reply(200, "67890", headers: [.contentRange: "bytes 5-9/10", .contentLength: "5"])
        try download(ScriptedStorage(cut, odd), &rest)
        #expect(rest == Array("1234567890".utf8))
    }

    @Test("A download that makes progress may be interrupted any number of times")
    func slowProgress() throws {
        let storage = ScriptedStorage { request throws(TransportError) in
            let start = request.headers[.range].flatMap { Int($0.dropFirst("bytes=".count).dropLast()) } ?? 0
            let headers: HTTPFields = [.contentRange: "bytes \(start)-9/10", .contentLength: "\(10 - start)"]
            return Reply(start == 0 ? 200 : 206, "\(start)", headers: headers)
        }
        var received: [UInt8] = []

        try download(storage, &received)

        #expect(received == Array("0123456789".utf8))
    }

    @Test("If only the end of the transfer is lost, the download is complete")
    func lostEnd() throws {
        let storage = ScriptedStorage(
            Reply(200, "12345", headers: [.contentLength: "6"]), Reply(416, headers: [.contentRange: "bytes */5"]))
        var received: [UInt8] = []

        try download(storage, &received)

        #expect(received == Array("12345".utf8))
    }

    @Test("A rejection is classified by its status even if its body is endless")
    func endlessPage() {
        var received: [UInt8] = []
        let page = String(repeating: "x", count: 100_000)

        #expect(throws: CloudStorageError.rejected(code: "")) {
            try download(ScriptedStorage(Reply(403, page)), &received)
        }
        #expect(received.isEmpty)
    }

    private func download(_ storage: ScriptedStorage, _ received: inout [UInt8]) throws {
        var bytes: [UInt8] = []
        defer { received = bytes }
        try GoogleDrive().download(objectID: "ID", from: storage.access()) { part in
            for index in part.indices { bytes.append(part[index]) }
            return true
        }
    }

    @Test("Searches follow all pages and select the oldest object, or the smallest id if several are equally old")
    func pages() throws {
        func file(_ id: String, _ time: String, name: String = "a.txt") -> String {
            #"{"id": "\#(id)", "name": "\#(name)", "createdTime": "\#(time)"}"#
        }
        let storage = ScriptedStorage(
            Reply(200, #"{"nextPageToken": "p&2", "files": [\#(file("D", "2026-01-02T00:00:00.000Z"))]}"#),
            Reply(
                200,
                #"{"files": [\#(file("C", "2026-01-01T00:00:00.000Z")), \#(file("B", "2026-01-01T00:00:00.000Z")), \#(file("A", "2025-01-01T00:00:00.000Z", name: "A.TXT"))]}"#
            ))
        _ = storage.folder.replace(nil, by: "FOLDER")

        #expect(try GoogleDrive().find(name: "a.txt", in: storage.access())?.objectID == "B")
        #expect(storage.transport.requests[1].url.contains("pageToken=p%262"))
    }
}
