import Foundation
import TestSupport
import Testing

extension PrivateStackTests {
    @Suite("Invented tokens")
    struct InventedTokenTests {
        let server: TestServer

        init() throws { server = try TestServer.ofStrangers() }

        private func index(_ token: String) throws -> HTTPReply {
            try server.call(
                "GET", "Index",
                headers: [
                    ("X-token-type", "GoogleToken"), ("access_token", token),
                    ("SyncServer-Device-UUID", UUID().uuidString),
                ])
        }

        @Test("The server calls Google for a few of them, then for none; known users are not affected")
        func bounded() async throws {
            let alice = try server.signUpOwningUser()
            #expect(try alice.index().masterVersion == 0)
            let number = try server.sandbox.lastRequest()

            let replies = try await Threads.run(8) { thread in
                try (0..<10).map { try index("invented \(thread) \($0)") }
            }.flatMap { $0 }

            let refused = replies.filter { $0.status == 429 }
            #expect(replies.allSatisfy { [401, 429].contains($0.status) })
            #expect(refused.count >= 60)
            #expect(refused.allSatisfy { $0.json?.code?.text == "too_many_failed_sign_ins" })
            #expect(refused.allSatisfy { $0.values(of: "retry-after").first.flatMap(Int.init) ?? 0 >= 1 })
            let asked = try server.sandbox.requests(since: number).filter { $0.host?.text == "oauth2.googleapis.com" }
            #expect(asked.count <= 12, "\(asked.count)")
            #expect(try alice.index().masterVersion == 0)
        }
    }
}
