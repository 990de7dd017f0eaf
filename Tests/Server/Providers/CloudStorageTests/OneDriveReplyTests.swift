import HTTPTransport
import HTTPTypes
import Providers
import TestSupport
import Testing

@Suite("OneDrive: interpretation of replies")
struct OneDriveReplyTests {
    static func error(_ status: Int, _ code: String, inner: String? = nil) -> Reply {
        let innerError = inner.map { ", \"innererror\": {\"code\": \"\($0)\"}" } ?? ""
        return Reply(status, "{\"error\": {\"code\": \"\(code)\", \"message\": \"No\"\(innerError)}}")
    }

    private func describe(_ storage: ScriptedStorage) throws -> StoredObject {
        try OneDrive().describe(objectID: "D!1", in: storage.access())
    }

    @Test(
        "Each code has its meaning",
        arguments: [
            (400, "invalidRequest", nil, CloudStorageError.rejected(code: "")),
            (403, "accessDenied", nil, .rejected(code: "")), (403, "malwareDetected", nil, .rejected(code: "")),
            (403, "quotaLimitReached", nil, .quotaExceeded), (403, "forbidden", "quotaLimitReached", .quotaExceeded),
            (507, "insufficientStorage", nil, .quotaExceeded), (404, "itemNotFound", nil, .notFound),
            (412, "resourceModified", nil, .rejected(code: "")),
        ] as [(Int, String, String?, CloudStorageError)])
    func meanings(status: Int, code: String, inner: String?, meaning: CloudStorageError) {
        let storage = ScriptedStorage(Self.error(status, code, inner: inner))

        #expect(throws: meaning) { try describe(storage) }
        #expect(storage.steps.count == 1)
    }

    @Test(
        "Throttling and temporary errors are retried",
        arguments: [
            (429, "activityLimitReached"), (403, "throttledRequest"), (423, "resourceLocked"), (408, "timeout"),
            (500, "generalException"), (503, "serviceNotAvailable"), (504, "timeout"), (509, "bandwidth"),
        ])
    func passing(status: Int, code: String) throws {
        let storage = ScriptedStorage(Self.error(status, code), Reply(200, #"{"id": "D!1"}"#))

        #expect(try describe(storage).objectID == "D!1")
        #expect(storage.pauses.pauses.count == 1)
    }

    @Test("A deletion answered with anything but 204 has not happened")
    func deletionWithBody() throws {
        let page = ScriptedStorage(Reply(200, "<html>Sign in to this network</html>"))
        #expect(throws: CloudStorageError.unavailable(detail: "")) {
            try OneDrive().delete(objectID: "D!1", in: page.access())
        }
        try OneDrive().delete(objectID: "D!1", in: ScriptedStorage(Reply(204)).access())
    }

    @Test("An item in the bin is not found")
    func deleted() {
        #expect(throws: CloudStorageError.notFound) {
            try describe(ScriptedStorage(Reply(200, #"{"id": "D!1", "deleted": {"state": "deleted"}}"#)))
        }
    }

    @Test("A download URL is requested, opened without our token, and requested again when expired")
    func download() throws {
        let found = { (key: String) in
            Reply(302, headers: [.location: "https://my.microsoftpersonalcontent.com/get?key=\(key)"])
        }
        let storage = ScriptedStorage(found("1"), Reply(401), found("2"), Reply(200, "contents"))
        var received: [UInt8] = []

        try OneDrive().download(objectID: "D!1", from: storage.access()) { part in
            for index in part.indices { received.append(part[index]) }
            return true
        }

        #expect(received == Array("contents".utf8))
        #expect(storage.bearers == ["Bearer T0", "", "Bearer T0", ""])
        #expect(storage.transport.requests[3].url.hasSuffix("key=2"))
    }

    @Test("Deletion uses the item's id, never a path below the app's folder [358]")
    func deletion() throws {
        let storage = ScriptedStorage(Reply(204), Self.error(404, "itemNotFound"))
        for _ in 0..<2 { try OneDrive().delete(objectID: "D!1", in: storage.access()) }
        for request in storage.transport.requests {
            #expect(request.url == "https://graph.microsoft.com/v1.0/me/drive/items/D%211")
        }
    }
}
