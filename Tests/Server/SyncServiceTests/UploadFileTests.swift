import Foundation
import Providers
import SyncProtocol
import TestSupport
import Testing

@testable import SyncService

@Suite("UploadFile, from the phone to the cloud")
struct UploadFileTests {
    private let server: TestServer
    private let alice: Phone
    private let bytes = someBytes(300_000)

    init() throws {
        server = try TestServer()
        alice = try server.signUp()
    }

    private var outboxRows: Int {
        get throws { try server.count("SELECT COUNT(*) FROM outbox WHERE kind = 'deleteObject'") }
    }
    private var stagedRows: Int { get throws { try server.count("SELECT COUNT(*) FROM staged_changes") } }
    /// Rows whose objects are now due for deletion.
    private var dueDeletions: Int {
        get throws {
            try server.count("SELECT COUNT(*) FROM outbox WHERE kind = 'deleteObject' AND lease_owner IS NULL")
        }
    }

    @Test("An upload is stored under its protocol name, staged, and its intent is removed")
    func upload() throws {
        let file = someFile()

        let reply = server.upload(bytes, of: file, by: alice)

        #expect(reply.status == 200)
        #expect(reply.messageParams["creationDate"] as? String == noon.description)
        #expect(reply.messageParams["updateDate"] as? String == noon.description)
        #expect(Array(server.cloud.objects.values) == [bytes])
        #expect(try stagedRows == 1)
        #expect(try outboxRows == 0)
    }

    @Test("A repeated upload reads the body, uploads nothing, and gets the same dates")
    func repeated() throws {
        let file = someFile()
        let first = server.upload(bytes, of: file, by: alice)
        let second = server.upload(bytes, of: file, by: alice)

        #expect(second.status == 200)
        #expect(second.readBytes == 300_000)
        #expect(first.header("syncserver-message-params") == second.header("syncserver-message-params"))
        #expect(server.cloud.objects.count == 1)
        #expect(try outboxRows == 0)
    }

    @Test("Of two identical concurrent uploads the second discards its own object, and both get the same dates")
    func twins() throws {
        let (server, alice, bytes, file) = (server, alice, bytes, someFile())
        var behaviour = FakeCloud.Behaviour()
        behaviour.afterUpload = { #expect(server.upload(bytes, of: file, by: alice).status == 200) }
        server.cloud.behaviour = behaviour

        let reply = server.upload(bytes, of: file, by: alice)

        #expect(reply.status == 200)
        #expect(server.cloud.objects.count == 2)
        #expect(try dueDeletions == 1)
        #expect(
            try server.count(
                "SELECT COUNT(*) FROM outbox o JOIN staged_changes s ON s.object_id = o.object_id") == 0)
        #expect(try stagedRows == 1)
    }

    @Test("Many identical concurrent uploads leave one staged object, and all others are deleted")
    func manyTwins() throws {
        let (server, alice, bytes, file) = (server, alice, bytes, someFile())

        let outcomes = concurrently(6) { _ in server.upload(bytes, of: file, by: alice).status ?? 0 }

        #expect(outcomes.successes() == Array(repeating: 200, count: 6))
        #expect(try stagedRows == 1)
        #expect(try dueDeletions == server.cloud.objects.count - 1)
        #expect(
            try server.count(
                "SELECT COUNT(*) FROM outbox o JOIN staged_changes s ON s.object_id = o.object_id") == 0)
    }

    @Test("Another version of the same upload replaces the row, and the first object is deleted")
    func replaced() throws {
        let file = someFile()
        #expect(server.upload(bytes, of: file, by: alice).status == 200)

        #expect(server.upload(someBytes(7), of: file, by: alice).status == 200)

        #expect(try stagedRows == 1)
        #expect(try dueDeletions == 1)
        #expect(server.commit(from: 0, by: alice).json["numberUploadsTransferred"] as? Int == 1)
    }

    @Test("A commit in between makes the upload stale, and its object is deleted")
    func commitInBetween() throws {
        let (server, alice) = (server, alice)
        var behaviour = FakeCloud.Behaviour()
        behaviour.afterUpload = { #expect(server.commit(from: 0, by: alice).status == 200) }
        server.cloud.behaviour = behaviour

        let reply = server.upload(bytes, of: someFile(), by: alice)

        #expect(reply.status == 200)
        #expect(reply.messageParams["masterVersionUpdate"] as? Int == 1)
        #expect(reply.messageParams["creationDate"] == nil)
        #expect(try stagedRows == 0)
        #expect(try dueDeletions == 1)
    }

    @Test("A stale upload is rejected before bytes are sent to the cloud, but after its body has been read")
    func stale() throws {
        let reply = server.upload(bytes, of: someFile(), master: 7, by: alice)

        #expect(reply.messageParams["masterVersionUpdate"] as? Int == 0)
        #expect(reply.readBytes == 300_000)
        #expect(server.cloud.objects.isEmpty)
        #expect(try outboxRows == 0)
    }

    @Test("Bytes with another checksum never become an object, and nothing is staged")
    func wrongBytes() throws {
        let cases: [(code: String, announced: Int64, sent: [UInt8])] = [
            ("checksum_mismatch", 300_000, someBytes(299_999) + [0]),
            ("body_length_mismatch", 300_000, someBytes(299_999)),
            ("body_length_mismatch", 300_000, someBytes(300_001)),
        ]
        for (code, announced, sent) in cases {
            let request = UploadFileRequest.of(someFile(), bytes, version: 0, master: 0, in: alice.group)
            let reply = server.send(request, as: alice, announcing: announced, on: FakeConnection(body: sent))
            #expect(reply.code == code)
            #expect(reply.json["retryable"] as? Bool == true)
        }
        #expect(server.cloud.objects.isEmpty)
        #expect(try stagedRows == 0)
        // The effect of the parts at the cloud is unknown, so the intents are processed.
        #expect(try dueDeletions == 3)
    }

    @Test("A phone that disconnects leaves only an intent")
    func hangsUp() throws {
        let connection = FakeConnection(body: bytes)
        connection.hangsUpAfterBytes = 280_000
        let request = UploadFileRequest.of(someFile(), bytes, version: 0, master: 0, in: alice.group)

        server.send(request, as: alice, announcing: 300_000, on: connection)

        #expect(connection.end == .abandoned && connection.starts == 0)
        #expect(server.cloud.objects.isEmpty)
        #expect(try stagedRows == 0)
        #expect(try dueDeletions == 1)
        #expect(server.log.request?["status"] == "499")
    }

    @Test("An upload without a length, with a length that is too large, or with an unknown type is rejected")
    func refused() throws {
        let small = try TestServer(maximumUploadBytes: 1000)
        let bob = try small.signUp("bob")
        let request = UploadFileRequest.of(someFile(), bytes, version: 0, master: 0, in: bob.group)

        #expect(small.send(request, as: bob).code == "length_required")
        #expect(
            small.send(request, as: bob, announcing: 1001, on: FakeConnection(zeros: 1001)).code == "body_too_large")
        #expect(small.upload(someBytes(1000), of: someFile(), by: bob).status == 200)
        let query = request.encodedQuery.replacingOccurrences(of: "text%2Fplain", with: "unknown")
            .replacingOccurrences(of: "text/plain", with: "unknown")
        let reply = small.send(
            "POST", "/UploadFile/", query: query, headers: bob.headers, announcing: 5, on: FakeConnection(zeros: 5))
        #expect(reply.code == "unknown_mime_type")
    }

    @Test("Rejections by the cloud have their own codes, and the intent is processed")
    func cloudFailures() throws {
        let cases: [(CloudStorageError, Int, String)] = [
            (.authorizationRevoked, 410, "cloud_authorization_revoked"), (.quotaExceeded, 507, "cloud_quota_exceeded"),
            (.unavailable(detail: "x"), 502, "cloud_unavailable"), (.timedOut, 504, "cloud_timeout"),
            (.rateLimited(retryAfter: .seconds(99)), 502, "cloud_rate_limited"),
        ]
        for (index, (failure, status, code)) in cases.enumerated() {
            var behaviour = FakeCloud.Behaviour()
            behaviour.uploadFailure = failure
            server.cloud.behaviour = behaviour

            let reply = server.upload(bytes, of: someFile(), by: alice)

            #expect(reply.status == status)
            #expect(reply.code == code)
            #expect(reply.readBytes == 300_000, "the body is read before the reply")
            #expect(try dueDeletions == index + 1)
        }
        #expect(try stagedRows == 0)
    }
}
