import Foundation
import TestSupport
import Testing

@Suite("Long uploads")
struct UploadLeaseTests {
    @Test("While a slow phone sends, the server renews the lease of the cleanup work")
    func renewed() async throws {
        let server = try TestServer.shared()
        let alice = try server.signUpOwningUser()
        let file = TestFile(randomBytes: 40_000_000)
        var sent = 100_000
        let upload = try alice.beginUpload(file, sending: sent)
        func leaseEnd() throws -> String {
            try server.askDatabase(
                """
                SELECT available_at FROM outbox
                 WHERE user_id = \(alice.userID) AND kind = 'deleteObject' AND lease_owner IS NOT NULL
                """)
        }
        try await eventually("the cleanup work exists") { try !leaseEnd().isEmpty }
        let first = try leaseEnd()

        var polls = 0
        try await eventually("the lease is renewed", within: .seconds(120)) {
            try upload.send(file.contents[sent..<sent + 16_384])
            sent += 16_384
            polls += 1
            return try polls % 10 == 0 && leaseEnd() > first
        }
        upload.hangUp()
    }
}
