import Foundation
import TestSupport
import Testing

@Suite("Sign in with Apple")
struct AppleTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    private func notify(_ payload: String) throws -> HTTPReply {
        let body = Array(try JSONSerialization.data(withJSONObject: ["payload": payload]))
        return try server.call(
            "POST", "AppleNotifications", headers: [(name: "Content-Type", value: "application/json")], body: body)
    }

    @Test("A new user can join by invitation, is listed by name, can use files, and passes CheckCreds [41] [F44]")
    func joins() throws {
        let alice = try server.signUpOwningUser()
        let ann = try alice.newMember(.write, provider: .apple)
        let file = TestFile("from Ann")

        let reply = try ann.checkCredentials()
        expectJSON(reply)
        #expect(reply.json?.userId == .integer(ann.userID))
        try ann.publish(file, masterVersion: 1)

        #expect(try alice.index().file(file) != nil)
        #expect(try ann.index().file(file)?.owningUserId == .integer(alice.userID))
        #expect(try ann.groups().group(alice.group)?.cloudStorageType?.text == "Google")
        let members = try alice.groups().group(alice.group)?.sharingGroupUsers?.array ?? []
        #expect(members.contains { $0.userId == .integer(ann.userID) && $0.name?.text == ann.account.name })
        // The code was exchanged once, and the result is valid for a day.
        #expect(
            try server.sandbox.account(ann.account.id).headers.contains { $0.name == "SyncServer-authorization-code" })
    }

    @Test("The same person on Android, where the app has a different identifier, is the same user")
    func otherPlatform() throws {
        let alice = try server.signUpOwningUser()
        let ann = try alice.newMember(.write, provider: .apple)
        let token = try server.sandbox.identityToken(of: ann.account, ["audience": "com.example.sandbox.web"])

        let reply = try ann.with(account: ann.account.replacing(header: "access_token", with: token)).checkCredentials()

        expectJSON(reply)
        #expect(reply.json?.userId == .integer(ann.userID))
    }

    @Test("An Apple account has no storage: AddUser is rejected")
    func noStorage() throws {
        let ann = try server.newcomer(.apple)
        expectError(try ann.call("POST", "AddUser", ["sharingGroupUUID": ann.group]), 409)
    }

    @Test("An expired identity token stays valid only for the user who presented it before")
    func expiredToken() async throws {
        let alice = try server.signUpOwningUser()
        // Five seconds of the leeway of one minute are left.
        let nearlyOver = try server.newcomer(.apple)
        let token = try server.sandbox.identityToken(
            of: nearlyOver.account, ["secondsOld": 655, "lifeSeconds": 600])
        var ann = nearlyOver.with(account: nearlyOver.account.replacing(header: "access_token", with: token))
        let reply = try ann.redeem(alice.invite(.read))
        try #require(reply.status == 200, "\(reply)")
        ann.group = alice.group

        let end = Date(timeIntervalSinceNow: 7)
        try await eventually("the token has expired", within: .seconds(20)) { Date() > end }

        expectJSON(try ann.checkCredentials())
        expectJSON(try ann.call("GET", "Index", ["sharingGroupUUID": alice.group]))
        let unseen = try server.sandbox.identityToken(of: nearlyOver.account, ["secondsOld": 700])
        let other = ann.with(account: ann.account.replacing(header: "access_token", with: unseen))
        expectError(try other.checkCredentials(), 401)
        let stranger = try server.newcomer(.apple)
        let strangers = try server.sandbox.identityToken(of: stranger.account, ["secondsOld": 700])
        expectError(
            try stranger.with(account: stranger.account.replacing(header: "access_token", with: strangers))
                .redeem(alice.invite(.read)), 401)
    }

    @Test(
        "Identity tokens of other issuers, for other apps, from the future or signed with other keys get 401",
        arguments: [
            ["audience": "com.example.other"], ["issuer": "https://accounts.google.com"], ["key": "unknown"],
            ["secondsOld": "-300"], ["audience": ""],
        ])
    func refused(oddity: [String: String]) throws {
        let alice = try server.signUpOwningUser()
        let ann = try alice.newMember(.read, provider: .apple)
        let numbers = oddity.mapValues { Int($0).map { $0 as Any } ?? $0 }

        let token = try server.sandbox.identityToken(of: ann.account, numbers)
        let odd = ann.with(account: ann.account.replacing(header: "access_token", with: token))

        expectError(try odd.checkCredentials(), 401)
        expectError(try odd.call("GET", "Index"), 401)
    }

    @Test("Modified and unsigned identity tokens get 401")
    func tampered() throws {
        let alice = try server.signUpOwningUser()
        let ann = try alice.newMember(.read, provider: .apple)
        let parts = ann.account.accessToken.split(separator: ".").map(String.init)
        let none = Data(#"{"alg":"none"}"#.utf8).base64EncodedString().replacing("=", with: "")
        let tokens = [
            "\(parts[0]).\(parts[1]).", "\(none).\(parts[1]).", "\(parts[0]).\(parts[1])", "junk",
            "\(parts[0]).\(parts[1].dropLast(1))A.\(parts[2])",
        ]
        for token in tokens {
            let odd = ann.with(account: ann.account.replacing(header: "access_token", with: token))
            expectError(try odd.checkCredentials(), 401)
        }
    }

    @Test("Tokens signed with the previous and the next key are accepted like those of the current one")
    func keys() throws {
        let alice = try server.signUpOwningUser()
        let ann = try alice.newMember(.read, provider: .apple)
        for key in ["previous", "current", "next"] {
            let token = try server.sandbox.identityToken(of: ann.account, ["key": key])
            expectJSON(
                try ann.with(account: ann.account.replacing(header: "access_token", with: token)).checkCredentials())
        }
    }

    @Test("Another person's code is rejected, and no acceptance is used up")
    func foreignCode() throws {
        let alice = try server.signUpOwningUser()
        let invitation = try alice.invite(.read)
        let ann = try server.newcomer(.apple)
        let eve = try server.newcomer(.apple)
        let stolen = eve.with(
            account: eve.account.replacing(
                header: "SyncServer-authorization-code", with: ann.account.header("SyncServer-authorization-code")))

        expectError(try stolen.redeem(invitation), 409)
        expectError(try eve.checkCredentials(), 401)
        expectJSON(try eve.redeem(invitation))
    }

    @Test("Withdrawing consent at Apple removes the user once, with the event as a string or an object")
    func notices() throws {
        let alice = try server.signUpOwningUser()
        for form in ["text", "object"] {
            let ann = try alice.newMember(.write, provider: .apple)
            let version = try #require(try alice.index().masterVersion)
            let notice = try server.sandbox.notice(
                about: ann.account, ["type": "consent-revoked", "eventsAs": form])

            expectJSON(try notify(notice))

            expectError(try ann.checkCredentials(), 401)
            #expect(try alice.index().masterVersion == version + 1)
            expectJSON(try ann.redeem(alice.invite(.write)))
            expectJSON(try notify(notice))
            expectJSON(try ann.checkCredentials())
        }
    }

    @Test("Forged notifications, and those for other apps, get 401; irrelevant ones get 200")
    func otherNotices() throws {
        let alice = try server.signUpOwningUser()
        let ann = try alice.newMember(.write, provider: .apple)
        func notice(_ changes: [String: Any], _ type: String = "consent-revoked") throws -> HTTPReply {
            try notify(server.sandbox.notice(about: ann.account, changes.merging(["type": type]) { $1 }))
        }

        expectError(try notice(["key": "unknown"]), 401)
        expectError(try notice(["audience": "com.example.other"]), 401)
        expectError(try notify(ann.account.accessToken), 401)
        expectError(try notify("junk"), 401)
        expectError(
            try server.call("POST", "AppleNotifications", body: Array("no JSON".utf8)), 400)
        expectJSON(try notice([:], "email-disabled"))
        expectJSON(
            try notify(server.sandbox.notice(about: server.newcomer(.apple).account, ["type": "account-delete"])))

        expectJSON(try ann.checkCredentials())
    }
}
