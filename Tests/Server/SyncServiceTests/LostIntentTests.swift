import Testing

@testable import SyncService

/// An upload must not stage an object that another process is about to delete.
@Suite("Uploads whose intent was lost")
struct LostIntentTests {
    private let server: TestServer
    private let alice: Phone
    private let bytes = someBytes(300_000)

    init() throws {
        server = try TestServer()
        alice = try server.signUp()
    }

    private var stagedRows: Int { get throws { try server.count("SELECT COUNT(*) FROM staged_changes") } }

    /// An upload during which the database is changed, after its bytes have reached the cloud.
    private func upload(identified: Bool, _ change: @escaping @Sendable (TestServer) throws -> Void) -> FakeConnection {
        let server = server
        var behaviour = FakeCloud.Behaviour()
        behaviour.choosesIdentifiers = !identified
        behaviour.afterUpload = {
            do { try change(server) } catch { Issue.record(error) }
        }
        server.cloud.behaviour = behaviour
        return server.upload(bytes, of: someFile(), by: alice)
    }

    @Test("If the jobs role has taken over or processed its intent, the upload ends, and nothing is staged")
    func lost() throws {
        for change in ["UPDATE outbox SET lease_owner = 'jobs'", "DELETE FROM outbox"] {
            let reply = upload(identified: true) { try $0.execute(change) }

            #expect(reply.status == 409 && reply.code == "upload_conflict", "\(change)")
            #expect(reply.json["retryable"] as? Bool == true)
            #expect(try stagedRows == 0)
        }
        #expect(upload(identified: true) { _ in }.status == 200)
        #expect(try stagedRows == 1)
    }

    @Test("An object due for deletion that turns out to be the uploaded one is not staged")
    func doomed() throws {
        let reply = upload(identified: false) { server in
            let object = server.cloud.objects.keys.first ?? ""
            try server.execute(
                """
                INSERT INTO outbox (kind, user_id, storage_type, object_id, available_at, created_at)
                SELECT 'deleteObject', user_id, 'Google', '\(object)', '2020-01-01', '2020-01-01' FROM users
                """)
        }

        #expect(reply.status == 409 && reply.code == "upload_conflict")
        #expect(try stagedRows == 0)
        #expect(upload(identified: false) { _ in }.status == 200)
        #expect(try stagedRows == 1)
    }
}
