import Foundation
import TestSupport
import Testing

@Suite("Push notifications")
struct PushTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    /// A unique APNs token.
    private static func token() -> String {
        (UUID().uuidString + UUID().uuidString).filter { $0 != "-" }.lowercased()
    }

    private func register(
        _ user: TestUser, _ token: String, _ more: [String: String?] = [:]
    ) throws -> HTTPReply {
        try user.call(
            "POST", "RegisterPushNotificationToken", ["pushNotificationToken": token].merging(more) { $1 })
    }

    /// Registers a new token, which must succeed, and returns it.
    private func registered(_ user: TestUser, _ more: [String: String?] = [:]) throws -> String {
        let token = Self.token()
        expectJSON(try register(user, token, more))
        return token
    }

    private func notify(_ user: TestUser, _ message: String, masterVersion: Int64, group: String? = nil) throws {
        var parameters: [String: String?] = ["pushNotificationMessage": message]
        if let group { parameters["sharingGroupUUID"] = group }
        expectJSON(try user.commit(masterVersion: masterVersion, overriding: parameters))
    }

    private func texts(_ token: String) throws -> [String] { try server.sandbox.pushes(to: token).map(\.text) }

    @Test("A message reaches every device of the other members, and none of the sender's [210]")
    func reachesOthers() async throws {
        let alice = try server.signUpOwningUser(name: "Alice Example", groupName: "Tom & Jerry")
        let bob = try alice.newMember(.read)
        let carol = try alice.newMember(.write, name: "Carol")
        let stranger = try server.signUpOwningUser(name: "Stranger")
        let tokens = try [bob, bob.onAnotherDevice(), carol].map { try registered($0) }
        let android = "fcm-" + Self.token()
        expectJSON(try register(carol.onAnotherDevice(), android, ["pushNotificationKind": "fcm"]))
        let silent = try [alice, alice.onAnotherDevice(), stranger].map { try registered($0) }

        try notify(alice, "100% “done” + \n🎉", masterVersion: 2)

        let text = "Alice Example, Tom & Jerry: 100% “done” + \n🎉"
        for token in tokens + [android] {
            try await eventually("\(token) is notified") { try !texts(token).isEmpty }
            #expect(try texts(token) == [text])
        }
        for token in silent { #expect(try texts(token) == []) }
        let push = try #require(try server.sandbox.pushes(to: tokens[0]).first)
        #expect(push.service == "apns")
        #expect(push.environment == "production")
    }

    @Test("In a group without a name, the text has only the sender; a new name is used immediately [210]")
    func groupName() async throws {
        let alice = try server.signUpOwningUser(name: "Alice Example")
        let token = try registered(try alice.newMember(.read))

        try notify(alice, "one", masterVersion: 1)
        try await eventually("the first message arrives") { try texts(token) == ["Alice Example: one"] }
        expectJSON(
            try alice.commit(
                masterVersion: 2, overriding: ["pushNotificationMessage": "two", "sharingGroupName": "New"]))
        try await eventually("the second message arrives") {
            try texts(token) == ["Alice Example: one", "Alice Example, New: two"]
        }
    }

    @Test("Stale and repeated commits, and those without a message, send no notification [205] [211]")
    func notifiesNobody() async throws {
        let alice = try server.signUpOwningUser(name: "Alice Example")
        let token = try registered(try alice.newMember(.read))

        expectStale(try alice.commit(masterVersion: 0, overriding: ["pushNotificationMessage": "stale"]), 1)
        try notify(alice, "", masterVersion: 1)
        try notify(alice, "once", masterVersion: 2)
        try notify(alice, "once", masterVersion: 2)
        try notify(alice, "last", masterVersion: 3)

        // The jobs role's threads guarantee no order, so all of the group's work must be done.
        try await eventually("no push is pending") {
            try server.askDatabase(
                """
                SELECT COUNT(*) FROM outbox JOIN sharing_groups USING (sharing_group_id)
                 WHERE kind = 'sendPush' AND sharing_group_uuid = '\(alice.group)'
                """) == "0"
        }
        #expect(try texts(token).sorted() == ["Alice Example: last", "Alice Example: once"])
    }

    @Test("Registering again changes nothing; the next token of the device replaces the first")
    func repeated() async throws {
        let alice = try server.signUpOwningUser(name: "Alice Example")
        let bob = try alice.newMember(.read)
        let old = try registered(bob)
        let new = try registered(bob)
        expectJSON(try register(bob, new))
        // The letter case is ignored.
        expectJSON(try register(bob, new.uppercased()))

        try notify(alice, "hello", masterVersion: 1)

        try await eventually("the new token is notified") { try texts(new).count == 1 }
        #expect(try texts(old) == [])
    }

    @Test("A device on which another user signs in no longer gets its previous user's notifications")
    func moved() async throws {
        let alice = try server.signUpOwningUser(name: "Alice Example")
        let bob = try alice.newMember(.read)
        let witness = try registered(bob.onAnotherDevice())
        let token = try registered(bob)
        var carol = try server.signUpOwningUser(name: "Carol")
        carol.device = bob.device
        expectJSON(try register(carol, token))

        try notify(alice, "for Bob", masterVersion: 1)

        try await eventually("Bob's other device is notified") { try texts(witness).count == 1 }
        #expect(try texts(token) == [])
    }

    @Test("Former members and removed users are not notified")
    func left() async throws {
        let alice = try server.signUpOwningUser(name: "Alice Example")
        let (bob, carol, dave) = (try alice.newMember(.read), try alice.newMember(.read), try alice.newMember(.read))
        let (gone, removed, witness) = (try registered(bob), try registered(carol), try registered(dave))
        expectJSON(
            try bob.call(
                "POST", "RemoveUserFromSharingGroup", ["sharingGroupUUID": alice.group, "masterVersion": "3"]))
        expectJSON(try carol.call("POST", "RemoveUser"))

        try notify(alice, "hello", masterVersion: try #require(try alice.index().masterVersion))

        try await eventually("Dave is notified") { try texts(witness).count == 1 }
        #expect(try texts(gone) == [])
        #expect(try texts(removed) == [])
    }

    @Test("An invalid token is removed unless it was registered again since")
    func forgotten() async throws {
        let alice = try server.signUpOwningUser(name: "Alice Example")
        let (bob, carol) = (try alice.newMember(.read), try alice.newMember(.read))
        let (dead, alive) = (try registered(bob), try registered(carol))
        try server.sandbox.script(pushToken: dead, outcome: "unregistered")
        // The app was removed and reinstalled before it registered.
        try server.sandbox.script(pushToken: alive, outcome: "unregistered", sinceSecondsAgo: 3_600)
        let since = try server.sandbox.lastRequest()

        try notify(alice, "one", masterVersion: 2)
        let asked: () throws -> Set<String> = {
            Set(try server.sandbox.requests(since: since).compactMap { $0.path?.text })
        }
        try await eventually("both tokens were tried") {
            try asked().isSuperset(of: ["/3/device/\(dead)", "/3/device/\(alive)"])
        }
        try server.sandbox.script(pushToken: dead)
        try server.sandbox.script(pushToken: alive)
        try await eventually("the valid token is notified of a later change") {
            try notify(alice, "again", masterVersion: try #require(try alice.index().masterVersion))
            return try !texts(alive).isEmpty
        }
        #expect(try texts(dead) == [])
    }

    @Test(
        "While Apple rejects every device, no registration is removed, and pushes arrive after the repair",
        arguments: ["DeviceTokenNotForTopic", "BadDeviceToken"])
    func wrongSettings(reason: String) async throws {
        let alice = try server.signUpOwningUser(name: "Alice Example")
        let bob = try alice.newMember(.read)
        let tokens = [try registered(bob), try registered(bob.onAnotherDevice())]
        for token in tokens {
            switch reason {
            case "BadDeviceToken": try server.sandbox.script(pushToken: token, outcome: "bad")
            default: try server.sandbox.script(pushToken: token, topic: "com.example.elsewhere")
            }
        }

        // The same text as an earlier message that was accepted.
        try notify(alice, "one", masterVersion: 1)
        let failed = """
            SELECT COUNT(*) FROM outbox JOIN users USING (user_id)
             WHERE kind = 'sendPush' AND last_error LIKE '%\(reason)' AND user_id = \(bob.userID)
            """
        try await eventually("both pushes were tried") { try server.askDatabase(failed) == "2" }
        for token in tokens { try server.sandbox.script(pushToken: token) }

        for token in tokens {
            try await eventually("\(token) is notified") { try texts(token) == ["Alice Example: one"] }
        }
    }

    @Test("If another device accepts the same message, an invalid device's registration is removed")
    func badDevice() async throws {
        let alice = try server.signUpOwningUser(name: "Alice Example")
        let bob = try alice.newMember(.read)
        let (bad, good) = (try registered(bob), try registered(bob.onAnotherDevice()))
        try server.sandbox.script(pushToken: bad, outcome: "bad")

        try notify(alice, "one", masterVersion: 1)

        try await eventually("one registration is left") {
            try server.askDatabase("SELECT COUNT(*) FROM push_registrations WHERE user_id = \(bob.userID)") == "1"
        }
        #expect(try texts(good) == ["Alice Example: one"])
    }

    @Test("A device with the maker's other app is notified with that app's topic, which is stored")
    func otherApp() async throws {
        let alice = try server.signUpOwningUser(name: "Alice Example")
        let bob = try alice.newMember(.read)
        let token = try registered(bob)
        try server.sandbox.script(pushToken: token, topic: "com.example.sandbox.second")

        try notify(alice, "one", masterVersion: 1)

        try await eventually("the message arrives") { try texts(token).count == 1 }
        try await eventually("the topic is stored") {
            try server.askDatabase("SELECT topic FROM push_registrations WHERE user_id = \(bob.userID)")
                == "com.example.sandbox.second"
        }
    }

    @Test("A developer's device is found in APNs' sandbox environment, which is stored")
    func otherEnvironment() async throws {
        let alice = try server.signUpOwningUser(name: "Alice Example")
        let bob = try alice.newMember(.read)
        let token = try registered(bob)
        try server.sandbox.script(pushToken: token, environment: "sandbox")

        try notify(alice, "one", masterVersion: 1)
        try await eventually("the first message arrives") { try texts(token).count == 1 }
        let since = try server.sandbox.lastRequest()
        try await eventually("the environment is stored") {
            try notify(alice, "two", masterVersion: try #require(try alice.index().masterVersion))
            return try server.sandbox.requests(since: since).contains {
                $0.path?.text == "/3/device/\(token)" && $0.host?.text == "api.sandbox.push.apple.com"
            }
        }
        #expect(try server.sandbox.pushes(to: token).allSatisfy { $0.environment == "sandbox" })
    }

    @Test(
        "An invalid registration is rejected",
        arguments: [
            ["pushNotificationToken": ""], ["pushNotificationToken": "not hexadecimal"], [:],
            ["pushNotificationToken": "0a0a", "pushNotificationKind": "pigeon"],
        ])
    func refused(parameters: [String: String]) throws {
        let alice = try server.signUpOwningUser()
        expectError(try alice.call("POST", "RegisterPushNotificationToken", parameters), 400)
    }

    @Test("Registering requires credentials")
    func unauthenticated() throws {
        expectError(
            try server.call("POST", "RegisterPushNotificationToken", ["pushNotificationToken": "0a0a"]), 401)
    }
}

extension PrivateStackTests.ConfigurationTests {
    @Test("Without push configured, registering is a clear error, and a message has no effect [209]")
    func pushIsNotSetUp() throws {
        let alice = try server.signUpOwningUser()

        let reply = try alice.call("POST", "RegisterPushNotificationToken", ["pushNotificationToken": "0a0a"])

        expectError(reply, 409)
        #expect(reply.json?.code?.text == "push_not_configured")
        expectJSON(try alice.commit(masterVersion: 0, overriding: ["pushNotificationMessage": "Hello"]))
    }
}
