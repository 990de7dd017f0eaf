import Foundation
import TestSupport
import Testing

@Suite("Signing in")
struct CredentialTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test(
        "An invalid token gets 401 at every level that needs one [17] [27] [58] [F32]",
        arguments: ["Google", "Facebook"])
    func junkToken(type: String) throws {
        let headers = [
            ("X-token-type", "\(type)Token"), ("access_token", "junk-\(UUID().uuidString)"),
            ("SyncServer-Device-UUID", UUID().uuidString),
        ].map { (name: $0.0, value: $0.1) }

        expectError(try server.call("GET", "CheckCreds", headers: headers), 401)
        expectError(try server.call("GET", "Index", headers: headers), 401)
        expectError(
            try server.call(
                "POST", "AddUser", ["sharingGroupUUID": UUID().uuidString, "cloudFolderName": "F"], headers: headers),
            401)
    }

    @Test("A valid token suffices at level primary; level secondary also requires a user [18] [28] [57]")
    func goodTokens() throws {
        let googleUser = try server.newcomer(.google)
        let facebookUser = try server.newcomer(.facebook)
        let unknown = UUID().uuidString

        expectError(try googleUser.checkCredentials(), 401)
        expectError(try facebookUser.checkCredentials(), 401)
        expectError(try googleUser.redeem(unknown), 404)
        expectError(try facebookUser.redeem(unknown), 404)
    }

    @Test("Many simultaneous requests with a new token cause few calls to its provider, and all get replies")
    func burst() async throws {
        // A request waits only briefly for another one's result, so a busy machine may need a second attempt.
        try await eventually("a burst causes few calls") {
            let bob = try server.newcomer(.google)
            let token = try #require(bob.headers.first { $0.name == "access_token" }?.value)
            var fault = SandboxFault(host: "oauth2.googleapis.com")
            fault.queryContains = token
            fault.latencyMilliseconds = 200
            try server.sandbox.inject(fault)
            let number = try server.sandbox.lastRequest()

            let replies = try concurrently(40) { _ in try bob.checkCredentials() }.map { try $0.get() }

            let asked = try server.sandbox.requests(since: number).filter { $0.query?.text?.contains(token) == true }
            return replies.allSatisfy { $0.json?.code?.text == "user_unknown" } && asked.count <= 4
        }
    }

    @Test("CheckCreds returns the user's id, including for a Facebook user with read permission [31] [56]")
    func checkCredentials() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.read)

        for user in [alice, bob] {
            let reply = try user.checkCredentials()
            expectJSON(reply)
            #expect(reply.json?.userId == .integer(user.userID))
        }
        #expect(alice.userID != bob.userID)
    }

    @Test("Facebook's CheckCreds has a long-lived token in its header, Google's has none [70]")
    func longLivedToken() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.read)

        let reply = try bob.checkCredentials()

        let tokens = reply.headers.filter { $0.name == "syncserver-access-token" }
        #expect(tokens.count == 1 && tokens.first?.value.isEmpty == false)
        #expect(try alice.checkCredentials().values(of: "syncserver-access-token").isEmpty)
    }

    @Test("Unknown paths and wrong methods get 404 and 405 even with valid credentials [19] [20] [29] [30]")
    func wrongPaths() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.read)

        for user in [alice, bob] {
            expectError(try user.call("GET", "NoSuchEndpoint"), 404)
            expectError(try user.call("POST", "CheckCreds"), 405)
        }
    }

    @Test("An unknown or disabled token type gets 401 [43]", arguments: ["MadeUpToken", "google", ""])
    func tokenType(type: String) throws {
        let alice = try server.signUpOwningUser()
        let other = alice.with(account: alice.account.replacing(header: "X-token-type", with: type))

        expectError(try other.checkCredentials(), 401)
    }

    @Test("A missing token or token type gets 401 [44] [259]", arguments: ["access_token", "X-token-type"])
    func missingHeader(name: String) throws {
        let alice = try server.signUpOwningUser()
        let incomplete = alice.with(account: alice.account.replacing(header: name, with: nil))

        expectError(try incomplete.checkCredentials(), 401)
        expectError(try incomplete.createInvitation(), 401)
    }

    @Test("A token with the wrong token type gets 401")
    func swappedType() throws {
        let alice = try server.signUpOwningUser()
        let swapped = alice.with(account: alice.account.replacing(header: "X-token-type", with: "FacebookToken"))

        expectError(try swapped.checkCredentials(), 401)
    }

    @Test("Header names may have any letter case")
    func headerCase() throws {
        let alice = try server.signUpOwningUser()
        let headers = alice.headers.map { (name: $0.name.uppercased(), value: $0.value) }

        expectJSON(try server.call("GET", "CheckCreds", headers: headers))
    }

    @Test("Levels primary and secondary require a valid device UUID [15] [F21]")
    func device() throws {
        let alice = try server.signUpOwningUser()
        let newcomer = try server.newcomer()
        let addUser: [String: String?] = ["sharingGroupUUID": UUID().uuidString, "cloudFolderName": "F"]

        for device in [nil, "", "not-a-uuid", "' OR 1=1 --"] as [String?] {
            let extra = device.map { [(name: "SyncServer-Device-UUID", value: $0)] } ?? []
            let secondary = try server.call("GET", "CheckCreds", headers: alice.account.headers + extra)
            let primary = try server.call("POST", "AddUser", addUser, headers: newcomer.account.headers + extra)
            expectError(secondary, 400)
            expectError(primary, 400)
        }
    }

    @Test("An invalid token takes precedence over other errors of a request")
    func orderOfChecks() throws {
        let alice = try server.signUpOwningUser()
        let junk = alice.with(account: alice.account.replacing(header: "access_token", with: "junk"))

        expectError(try junk.commit(masterVersion: 0, overriding: ["masterVersion": "many"]), 401)
        expectError(
            try alice.commit(masterVersion: 0, group: UUID().uuidString, overriding: ["masterVersion": "x"]), 400)
    }

    @Test("The server transparently refreshes its expired access token [21] [346]")
    func refresh() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile("after an hour")
        try server.sandbox.expireAccessTokens(of: alice.account, .server)

        try alice.publish(file, masterVersion: 0)
        try server.sandbox.expireAccessTokens(of: alice.account, .server)

        expectDownload(try alice.download(file, masterVersion: 1), of: file)
    }

    @Test("Users who sign in at the same time are never confused [48] [F18]")
    func identitiesAreNotMixed() async throws {
        let alice = try server.signUpOwningUser()
        let users =
            [alice] + [try alice.newMember(.read), try alice.newMember(.write, provider: .google)]
            + [try server.signUpOwningUser(name: "Carol"), try server.signUpOwningUser(name: "Dave")]

        let isRight = try await Threads.run(users.count) { number in
            for _ in 0..<10 {
                let user = users[number].onAnotherDevice()
                guard try user.checkCredentials().json?.userId?.integer == user.userID else { return false }
            }
            return true
        }

        #expect(isRight == Array(repeating: true, count: users.count))
    }
}
