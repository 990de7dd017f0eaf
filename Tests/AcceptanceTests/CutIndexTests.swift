import TestSupport
import Testing

extension PrivateStackTests {
    @Suite("Unfinished replies")
    struct CutIndexTests {
        @Test(
            "If a long Index fails after its beginning, the reply is aborted and does not look complete",
            arguments: [false, true])
        func cutIndex(isCompressed: Bool) throws {
            let server = try TestServer.withFaults()
            let alice = try server.signUpOwningUser()
            // Larger than the web server's socket and buffers, so that the beginning is sent before the reply ends.
            let count = isCompressed ? 25_000 : 10_000
            _ = try server.askDatabase(
                """
                INSERT INTO files
                       (sharing_group_id, file_uuid, file_group_uuid, owning_user_id, storage_type, device_uuid, created_at, updated_at,
                        mime_type, file_version, check_sum, changed_at_master_version)
                SELECT g.sharing_group_id, CONCAT('00000000-0000-0000-0000-', LPAD(seq, 12, '0')), MD5(RAND()),
                       \(alice.userID), 'Google', '00000000-0000-0000-0000-000000000001', '2026-01-01', '2026-01-01', 'text/plain', 0,
                       'ab', 0
                  FROM seq_1_to_\(count), sharing_groups g
                 WHERE g.sharing_group_uuid = '\(alice.group)'
                """)
            func index() throws -> HTTPReply {
                try server.call(
                    "GET", "Index", ["sharingGroupUUID": alice.group],
                    headers: alice.headers + (isCompressed ? [("Accept-Encoding", "gzip")] : []))
            }
            let whole = try index()
            #expect(whole.status == 200 && whole.isComplete)
            #expect(try whole.decoded().json?.fileIndex?.array?.count == count)
            // An impossible version in the last row.
            _ = try server.askDatabase("ALTER TABLE files MODIFY file_version BIGINT NOT NULL")
            defer {
                _ = try? server.askDatabase("UPDATE files SET file_version = 0 WHERE file_version > 2147483647")
                _ = try? server.askDatabase("ALTER TABLE files MODIFY file_version INT NOT NULL")
            }
            _ = try server.askDatabase(
                """
                UPDATE files SET file_version = 99999999999
                 WHERE owning_user_id = \(alice.userID) AND file_uuid LIKE '%\(count)'
                """)

            var reply: HTTPReply?
            for _ in 0..<20 where reply == nil {
                do {
                    reply = try index()
                } catch HTTPConversationError.closedWithoutReply {
                    // If nginx was paused until the failure, it receives the beginning and the abort together.
                }
            }
            let cut = try #require(reply)

            #expect(cut.status == 200)
            #expect(!cut.isComplete && cut.json == nil)
            #expect(cut.values(of: "content-encoding") == (isCompressed ? ["gzip"] : []))
            if isCompressed { #expect(throws: HTTPReply.CutShort.self) { try cut.decoded() } }
            #expect(cut.body.count > 100_000)
        }
    }
}
