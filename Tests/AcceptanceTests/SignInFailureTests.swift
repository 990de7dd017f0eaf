import Foundation
import TestSupport
import Testing

extension PrivateStackTests {
    @Suite("Failures of sign-in services, and the number of calls")
    final class SignInFailureTests: Sendable {
        let server: TestServer

        init() throws {
            server = try TestServer.withFaults()
            try server.sandbox.clearFaults()
        }

        deinit { try? server.sandbox.clearFaults() }

        /// The number of provider calls to exactly this path since request `number`.
        func calls(to path: String, since number: Int64) throws -> Int {
            try server.sandbox.requests(since: number).filter { $0.path?.text == path }.count
        }

        @Test(
            "A failing provider is a 429 with Retry-After, never a 401",
            arguments: [SandboxProvider.google, .facebook])
        func providerDown(provider: SandboxProvider) async throws {
            let person = try server.newcomer(provider)
            for host in [
                "www.googleapis.com", "oauth2.googleapis.com", "openidconnect.googleapis.com", "graph.facebook.com",
            ] {
                try server.sandbox.inject(SandboxFault(host: host, status: 503))
            }

            let reply = try await Threads.run { try person.checkCredentials() }

            expectError(reply, 429)
            #expect(reply.json?.code?.text == "provider_paused" && !reply.values(of: "retry-after").isEmpty)
            #expect(reply.json?.retryable == .bool(true))
            try server.sandbox.clearFaults()
            expectError(try person.checkCredentials(), 401)
        }

        @Test("The server sends both calls about a Google token at once, without waiting for the first reply")
        func bothQuestions() async throws {
            let person = try server.newcomer(.google)
            var fault = SandboxFault(host: "oauth2.googleapis.com", pathPrefix: "/tokeninfo")
            fault.latencyMilliseconds = 39_000
            try server.sandbox.inject(fault)
            let number = try server.sandbox.lastRequest()

            async let reply = Threads.run { try person.checkCredentials() }
            try await eventually("the server has requested the user info") {
                try calls(to: "/oauth2/v3/userinfo", since: number) == 1
            }

            expectError(try await reply, 504)
        }

        @Test("AddUser with a failing code exchange leaves nothing behind, and works when repeated [66]")
        func exchangeFails() async throws {
            let alice = try server.newcomer()
            let parameters: [String: String?] = ["sharingGroupUUID": alice.group, "cloudFolderName": alice.folder]
            try server.sandbox.inject(
                SandboxFault(host: "oauth2.googleapis.com", pathPrefix: "/token", method: "POST", status: 503))

            let reply = try await Threads.run { try alice.call("POST", "AddUser", parameters) }

            expectError(reply, 429)
            expectError(try alice.checkCredentials(), 401)
            try server.sandbox.clearFaults()
            expectJSON(try alice.call("POST", "AddUser", parameters))
            #expect(try alice.index().masterVersion == 0)
        }

        @Test("After a lost reply of the code exchange, the user can sign up with a new code")
        func exchangeReplyLost() async throws {
            let alice = try server.newcomer()
            var fault = SandboxFault(host: "oauth2.googleapis.com", pathPrefix: "/token", method: "POST", times: 1)
            fault.afterEffect = true
            try server.sandbox.inject(fault)
            let parameters: [String: String?] = ["sharingGroupUUID": alice.group, "cloudFolderName": alice.folder]

            // The code is used up without a result, so the reply must ask for a new one.
            let reply = try await Threads.run { try alice.call("POST", "AddUser", parameters) }
            let idle = try server.sandbox.faultsThatNeverStruck()
            #expect(idle == 0)
            if reply.status != 200 {
                expectError(reply, 409, 502)
                let again = alice.with(account: try server.sandbox.newAuthorizationCode(of: alice.account))
                expectJSON(try again.call("POST", "AddUser", parameters))
            }

            try alice.publish(TestFile(), masterVersion: 0)
        }

        @Test("A failure to write the warning file has no effect, and it is written later [51] [66]")
        func initialFileFails() async throws {
            let configuration = try InitialFile(of: server)
            try server.sandbox.inject(SandboxFault(pathPrefix: "/upload/drive/v3/files", status: 503))
            let alice = try server.signUpOwningUser()
            let number = try server.sandbox.lastRequest()
            try await eventually("the server has tried to write it") {
                try calls(to: "/upload/drive/v3/files", since: number) > 0
            }
            #expect(try server.sandbox.contents(of: configuration.name, in: alice.account) == nil)

            try server.sandbox.clearFaults()

            try await eventually("the warning file exists", within: .seconds(90)) {
                try server.sandbox.contents(of: configuration.name, in: alice.account) != nil
            }
        }

        @Test("For a repeated token, each process calls the provider once [46]")
        func tokenCache() throws {
            let alice = try server.signUpOwningUser()
            let phone = alice.onAnotherDevice()
            let processes = try server.processes("syncd_api").count
            let number = try server.sandbox.lastRequest()

            for _ in 0..<10 { expectJSON(try phone.call("GET", "Index")) }

            #expect(try calls(to: "/oauth2/v3/userinfo", since: number) < processes)
        }

        @Test("Transfers pass two roles, and only the first calls the provider")
        func transfersAskOnce() throws {
            let alice = try server.signUpOwningUser()
            let file = TestFile("asked once")
            let processes = try server.processes("syncd_api").count
            let number = try server.sandbox.lastRequest()

            try alice.publish(file, masterVersion: 0)
            for _ in 0..<10 { expectDownload(try alice.download(file, masterVersion: 1), of: file) }

            #expect(try calls(to: "/oauth2/v3/userinfo", since: number) < processes)
        }

        @Test("A used code is not exchanged again [71]")
        func usedCode() throws {
            let alice = try server.signUpOwningUser()
            let number = try server.sandbox.lastRequest()

            for _ in 0..<3 { expectJSON(try alice.checkCredentials()) }

            #expect(try calls(to: "/token", since: number) == 0)
        }

        @Test("Repeated CheckCreds requests cause no calls to Apple, with or without an exchanged code [40]")
        func nothingToAskApple() throws {
            let alice = try server.signUpOwningUser()
            let ann = try alice.newMember(.read, provider: .apple)
            let number = try server.sandbox.lastRequest()

            for _ in 0..<3 { expectJSON(try ann.checkCredentials()) }
            let withoutCode = ann.with(
                account: ann.account.replacing(header: "SyncServer-authorization-code", with: nil))
            for _ in 0..<3 { expectJSON(try withoutCode.checkCredentials()) }

            #expect(try calls(to: "/auth/token", since: number) == 0)
        }

        @Test("A new code is exchanged once, even if its request arrives twice [71]")
        func newCode() async throws {
            var alice = try server.signUpOwningUser()
            alice.account = try server.sandbox.newAuthorizationCode(of: alice.account)
            let number = try server.sandbox.lastRequest()

            let user = alice
            let replies = try await Threads.run(2) { _ in try user.checkCredentials() }

            for reply in replies { expectJSON(reply) }
            expectJSON(try alice.checkCredentials())
            let exchanges = try calls(to: "/token", since: number)
            #expect((1...2).contains(exchanges))
            try alice.publish(TestFile(), masterVersion: 0)
        }

        @Test("A failing Facebook exchange does not make CheckCreds fail [70] [F54]")
        func longLivedTokenFails() async throws {
            let alice = try server.signUpOwningUser()
            let bob = try alice.newMember(.read)
            var fault = SandboxFault(host: "graph.facebook.com", status: 503)
            fault.queryContains = "fb_exchange_token"
            try server.sandbox.inject(fault)

            let reply = try await Threads.run { try bob.checkCredentials() }

            expectJSON(reply)
            #expect(reply.values(of: "syncserver-access-token").isEmpty)
        }
    }
}
