import Foundation
import TestSupport
import Testing

extension PrivateStackTests {
    @Suite("Eight processes with one thread each, without bare Dropbox tokens")
    struct NarrowProcessTests {
        let server: TestServer

        init() throws { server = try TestServer.ofNarrowProcesses() }

        @Test(
            "If eight processes find the access token expired, one renews it, and all continue", arguments: 1...3)
        func oneRenewal(round: Int) async throws {
            let alice = try await server.signUpSettledUser()
            let file = TestFile("after an hour")
            try alice.publish(file, masterVersion: 0)
            try server.sandbox.expireAccessTokens(of: alice.account, .server)
            // The provider is slow, so that the others arrive during the renewal.
            var slow = SandboxFault(host: "oauth2.googleapis.com", pathPrefix: "/token")
            slow.latencyMilliseconds = 500
            try server.sandbox.inject(slow)
            defer { try? server.sandbox.clearFaults() }
            let number = try server.sandbox.lastRequest()

            let replies = try await Threads.run(8) { _ in
                try alice.onAnotherDevice().download(file, masterVersion: 1)
            }

            for reply in replies { expectDownload(reply, of: file) }
            let asked = try server.sandbox.requests(since: number).compactMap { $0.path?.text }
            #expect(asked.filter { $0 == "/token" }.count == 1, "\(asked)")
            // Each process was rejected once, and then received metadata and contents.
            #expect(asked.filter { $0.hasPrefix("/drive/v3/files/") }.count >= 16)
        }

        @Test("The complete life cycle of a file violates no rule of the providers")
        func noViolations() throws {
            let alice = try server.signUpOwningUser()
            let bob = try alice.newMember(.write)
            var file = TestFile(randomBytes: 900_000)
            file.mimeType = "text/plain"
            try alice.publish(file, masterVersion: 1)
            file = file.next("next")
            try bob.publish(file, masterVersion: 2)
            try server.sandbox.expireAccessTokens(of: alice.account, .server)
            expectDownload(try bob.download(file, masterVersion: 3), of: file)
            expectError(try bob.upload(TestFile(), masterVersion: 3, overriding: ["checkSum": file.checkSum]), 422)

            let violations = try server.sandbox.violations()
            #expect(violations.isEmpty, "\(violations)")
        }

        // MARK: allowDropboxBareTokens is false

        private func withCode(_ user: TestUser, _ code: String?) -> TestUser {
            user.with(account: user.account.replacing(header: "SyncServer-authorization-code", with: code))
        }

        @Test("A token without a code, or with an invalid or another person's code, is rejected")
        func bareToken() throws {
            let dora = try server.newcomer(.dropbox)
            let eve = try server.newcomer(.dropbox, name: "Eve")
            let evesCode = eve.account.header("SyncServer-authorization-code")

            for code in [nil, "", "made up", evesCode] {
                let reply = try withCode(dora, code).signUp()
                expectError(reply, 401)
                #expect(reply.json?.code?.text == "credentials_rejected", "\(code ?? "no code")")
            }
            #expect(try dora.signUp().status == 200)
            expectError(try withCode(dora, nil).checkCredentials(), 401)
        }

        @Test("With the exchanged code, a phone can sign in repeatedly, and the storage works")
        func exchangedCode() throws {
            let dora = try server.signUpOwningUser(.dropbox)
            let friend = try dora.newMember(.write, provider: .google, name: "Friend")
            let file = TestFile("in Dropbox").stored(at: .dropbox)

            for _ in 0..<3 { expectJSON(try dora.checkCredentials()) }
            try dora.publish(file, masterVersion: 1)
            try server.sandbox.expireAccessTokens(of: dora.account, .server)
            expectDownload(try friend.download(file, masterVersion: 2), of: file)

            #expect(try server.sandbox.violations().isEmpty)
        }

        @Test("A second phone can sign in with its own code")
        func secondPhone() throws {
            let dora = try server.signUpOwningUser(.dropbox)
            let second = dora.onAnotherDevice().with(
                account: try server.sandbox.newAuthorizationCode(of: dora.account))
            #expect(second.account.header("SyncServer-authorization-code") != nil)

            #expect(try second.checkCredentials().json?.userId?.integer == dora.userID)

            expectJSON(try dora.checkCredentials())
        }
    }
}
