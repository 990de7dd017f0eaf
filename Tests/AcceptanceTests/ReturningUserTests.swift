import Foundation
import TestSupport
import Testing

@Suite("Removed users who return")
struct ReturningUserTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test(
        "The server revokes a removed user's grant, and a returning user's storage works for longer than an hour",
        arguments: [SandboxProvider.google, .dropbox])
    func comesBack(provider: SandboxProvider) async throws {
        let alice = try server.signUpOwningUser(provider)
        let old = TestFile("before").stored(at: provider)
        try alice.publish(old, masterVersion: 0)

        var again = try await alice.removedAndSignedInAgain()
        again.group = UUID().uuidString
        let reply = try again.signUp()

        #expect(reply.status == 200, "\(reply)")
        let file = TestFile("after").stored(at: provider)
        try again.publish(file, masterVersion: 0)
        try server.sandbox.expireAccessTokens(of: again.account, .server)
        let later = TestFile("an hour later").stored(at: provider)
        try again.publish(later, masterVersion: 1)
        expectDownload(try again.download(file, masterVersion: 2), of: file)
        #expect(try again.stored(old).count == 1)
    }

    @Test("A user who returns immediately keeps the grant")
    func comesBackAtOnce() throws {
        var alice = try server.signUpOwningUser()
        #expect(try alice.removeAccount().status == 200)
        alice.group = UUID().uuidString

        let reply = try alice.signUp()

        try #require(reply.status == 200, "\(reply)")
        try alice.publish(TestFile(), masterVersion: 0)
        try server.sandbox.expireAccessTokens(of: alice.account, .server)
        try alice.publish(TestFile(), masterVersion: 1)
    }

    @Test("At Dropbox the server's grant is revoked, and the phone's sign-in stays valid")
    func phoneAtDropbox() async throws {
        let dora = try server.signUpOwningUser(.dropbox)

        var again = try await dora.removedAndSignedInAgain()

        #expect(again.account.accessToken == dora.account.accessToken)
        again.group = UUID().uuidString
        // Like deployed apps, with only that token.
        again = again.with(account: again.account.replacing(header: "SyncServer-authorization-code", with: nil))
        try #require(try again.signUp().status == 200)
        try again.publish(TestFile("after").stored(at: .dropbox), masterVersion: 0)
    }

    @Test("The grant at Apple is revoked when a user removes the account")
    func apple() async throws {
        let alice = try server.signUpOwningUser()
        let anna = try alice.newMember(.write, provider: .apple, name: "Anna")
        #expect(try server.sandbox.account(anna.account.id).refreshToken != nil)

        let again = try await anna.removedAndSignedInAgain()

        #expect(try again.redeem(alice.invite(.read)).status == 200)
        #expect(try server.sandbox.account(anna.account.id).refreshToken != nil)
    }

    @Test(
        "Of simultaneous identical requests, one exchanges the code, and all return the same reply",
        arguments: [SandboxProvider.google, .dropbox])
    func equalRequests(provider: SandboxProvider) async throws {
        for _ in 0..<4 {
            let alice = try server.newcomer(provider)

            let replies = try await Threads.run(4) { _ in
                // Only a few requests may wait for another one's result; the server asks the others to retry.
                let deadline = ContinuousClock.now + .seconds(60)
                while true {
                    let reply = try alice.signUp()
                    guard reply.json?.code?.text == "provider_busy", ContinuousClock.now < deadline else {
                        return reply
                    }
                    #expect(reply.values(of: "retry-after") == ["1"], "\(reply)")
                }
            }

            #expect(replies.map(\.status) == [200, 200, 200, 200], "\(replies)")
            #expect(Set(replies.compactMap { $0.json?.userId?.integer }).count == 1)
        }
        #expect(try server.sandbox.violations().filter { $0.rule?.text == "code-reused" }.isEmpty)
    }
}
