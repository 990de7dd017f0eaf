import Foundation
import TestSupport
import Testing

@Suite("Nextcloud users who sign in with OAuth 2.0")
struct NextcloudBearerTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    private func signUp() throws -> TestUser {
        let newcomer = try server.newcomer(.webdav)
        var user = newcomer.with(account: try server.sandbox.bearerAccount(of: newcomer.account))
        let reply = try addUser(user)
        user.userID = try #require(reply.json?.userId?.integer, "\(reply)")
        #expect(reply.values(of: "syncserver-offline-access").isEmpty)
        return user
    }

    private func addUser(_ user: TestUser) throws -> HTTPReply {
        try user.call(
            "POST", "AddUser", ["sharingGroupUUID": user.group, "cloudFolderName": user.folder])
    }

    @Test("While the owner is away, the server renews its own single-use tokens, and friends can use the storage")
    func away() throws {
        let nora = try signUp()
        let friend = try nora.newMember(.write)
        let file = TestFile("Hello").stored(at: .webdav)
        try friend.publish(file, masterVersion: 1)

        for _ in 1...3 {
            try server.sandbox.expireAccessTokens(of: nora.account, .all)
            expectDownload(try friend.download(file, masterVersion: 2), of: file)
        }
        // The owner's phone returns later with a different bearer token and no code.
        let again = nora.with(account: try server.sandbox.bearerAccount(of: nora.account).withoutCode)
        let reply = try again.checkCredentials()
        #expect(reply.status == 200 && reply.values(of: "syncserver-offline-access").isEmpty, "\(reply)")
        try server.sandbox.expireAccessTokens(of: nora.account, .all)
        expectDownload(try friend.download(file, masterVersion: 2), of: file)
    }

    @Test("Simultaneous requests with an expired token do not use up each other's refresh token")
    func together() async throws {
        let nora = try signUp()
        let friend = try nora.newMember(.write)
        let file = TestFile("Hello").stored(at: .webdav)
        try friend.publish(file, masterVersion: 1)
        try await eventually("the initial file exists") {
            try server.askDatabase("SELECT COUNT(*) FROM outbox WHERE user_id = \(nora.userID)") == "0"
        }
        try server.sandbox.expireAccessTokens(of: nora.account, .all)

        try await withThrowingTaskGroup(of: HTTPReply.self) { group in
            for _ in 1...8 { group.addTask { try friend.download(file, masterVersion: 2) } }
            for try await reply in group { expectDownload(reply, of: file) }
        }

        try server.sandbox.expireAccessTokens(of: nora.account, .all)
        expectDownload(try friend.download(file, masterVersion: 2), of: file)
    }

    @Test("Without a code, the storage works until the token expires, as the reply states; a password is permanent")
    func withoutCode() throws {
        let newcomer = try server.newcomer(.webdav)
        let bearer = newcomer.with(account: try server.sandbox.bearerAccount(of: newcomer.account).withoutCode)
        let reply = try addUser(bearer)
        #expect(reply.status == 200 && reply.values(of: "syncserver-offline-access") == ["none"], "\(reply)")

        // An app password gives the server offline access, which a later bearer token does not remove.
        for account in [newcomer.account, bearer.account] {
            let reply = try newcomer.with(account: account).checkCredentials()
            #expect(reply.status == 200 && reply.values(of: "syncserver-offline-access").isEmpty, "\(reply)")
        }
        try server.sandbox.expireAccessTokens(of: newcomer.account, .program)
        try newcomer.publish(TestFile("Hello").stored(at: .webdav), masterVersion: 0)
    }

    @Test("Another user's code, and one with a wrong verifier, are rejected; a repeated one is accepted")
    func codes() throws {
        let nora = try signUp()
        let other = try server.sandbox.bearerAccount(of: try server.newcomer(.webdav).account)
        func refused(_ account: SandboxAccount) throws {
            let newcomer = try server.newcomer(.webdav)
            let own = try server.sandbox.bearerAccount(of: newcomer.account)
            var mixed = own
            for name in ["SyncServer-authorization-code", "SyncServer-redirect-uri", "SyncServer-code-verifier"] {
                mixed = mixed.replacing(header: name, with: account.header(name))
            }
            let reply = try addUser(newcomer.with(account: mixed))
            #expect(reply.status == 409 && reply.json?.code?.text == "authorization_code_rejected", "\(reply)")
        }
        try refused(other)
        let wrong = try server.newcomer(.webdav).account
        try refused(try server.sandbox.bearerAccount(of: wrong, verifier: String(repeating: "b", count: 43)))

        #expect(try nora.checkCredentials().status == 200)
        #expect(try nora.checkCredentials().status == 200)
    }

    @Test("Withdrawn credentials are rarely tried again; a new code restores access")
    func withdrawn() throws {
        let nora = try signUp()
        let friend = try nora.newMember(.write)
        let file = TestFile("Hello").stored(at: .webdav)
        try friend.publish(file, masterVersion: 1)
        try server.sandbox.revoke(nora.account)
        let before = try server.sandbox.lastRequest()

        for _ in 0..<5 { expectError(try friend.download(file, masterVersion: 2), 502) }

        #expect(
            try server.sandbox.requests(since: before).count { $0.path?.text?.contains(nora.account.id) == true } <= 3)
        let again = try nora.signedInBearer()
        #expect(try again.checkCredentials().status == 200)
        expectDownload(try friend.download(file, masterVersion: 2), of: file)
    }
}

extension TestUser {
    /// The same user with a new bearer token and a new code.
    fileprivate func signedInBearer() throws -> TestUser {
        with(account: try server.sandbox.bearerAccount(of: account))
    }
}
