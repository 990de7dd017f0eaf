import HTTPTransport
import HTTPTypes
import JSONWebTokens
import Logging
import OpenSSLCrypto
import Providers
import SyncProtocol
import Synchronization
import TestSupport
import Testing

@testable import SyncService

/// The messages that the jobs role sends to Apple about a commit, and its treatment of the answers.
@Suite("Pushes after the reply")
struct PushWorkTests {
    private let server: TestServer
    private let alice: Phone
    private let bob: Phone
    private let clock = Clock()

    /// A clock that the test moves.
    private final class Clock: Sendable {
        private let seconds = Atomic<Int64>(noon.secondsSince1970)
        var now: WireDate { WireDate(secondsSince1970: seconds.load(ordering: .relaxed)) }
        func advance(bySeconds count: Int64) { seconds.add(count, ordering: .relaxed) }
    }

    /// Bob is in Alice's group, with a device whose environment is unknown.
    init() throws {
        let apns = APNs(
            teamID: "TEAM567890", keyID: "KEY4567890",
            key: try SigningKey(es256PEM: PrivateKey(generating: .es256).pem), topics: ["com.example.app"],
            environment: .production, now: { noon.secondsSince1970 })
        server = try TestServer(push: PushServices(apns: apns))
        alice = try server.signUp()
        bob = try server.join(alice, as: "bob")
        let registered = server.send(
            RegisterPushNotificationTokenRequest(pushNotificationToken: "0a1b", pushNotificationKind: .apns), as: bob)
        try #require(registered.status == 200)
    }

    /// Alice commits a file, with a message for the others.
    private func commit() throws {
        try #require(server.upload(someBytes(3), of: someFile(), master: 1, by: alice).status == 200)
        let request = DoneUploadsRequest(
            masterVersion: MasterVersion(1), sharingGroupUUID: alice.group, pushNotificationMessage: "Look")
        try #require(server.send(request, as: alice).status == 200)
    }

    /// Works until nothing is due, and returns the requests sent to Apple.
    private func work(_ replies: Reply...) throws -> [OutgoingRequest] {
        let apple = ScriptedTransport(replies: replies)
        let worker = OutboxWorker(
            store: server.store, storage: server.services.storage, push: server.services.push, warningFile: nil,
            leaseOwner: "worker", now: { [clock] in clock.now },
            logger: Logger(label: "jobs", factory: { [log = server.log] _ in log }))
        while try worker.run(transport: apple.transport) > 0 {}
        return apple.requests
    }

    private func pushesWaiting() throws -> Int {
        try server.count("SELECT COUNT(*) FROM outbox WHERE kind = 'sendPush'")
    }

    @Test("A push is attempted for an hour, and then dropped", arguments: [(3_600, 1), (3_601, 0)])
    func late(seconds: Int64, attempts: Int) throws {
        try commit()
        clock.advance(bySeconds: seconds)

        #expect(try work(Reply(200)).count == attempts)
        #expect(try pushesWaiting() == 0)
    }

    @Test("A failed push to Apple is sent again with the same identifier, so that it is shown once")
    func again() throws {
        try commit()

        let first = try work(Reply(503))
        #expect(try pushesWaiting() == 1)
        clock.advance(bySeconds: 60)
        let second = try work(Reply(200))

        let identifier = try #require(HTTPField.Name("apns-id"))
        #expect(first.count == 1 && second.count == 1)
        #expect(first.first?.headers[identifier] != nil)
        #expect(first.first?.headers[identifier] == second.first?.headers[identifier])
        #expect(try pushesWaiting() == 0)
    }

    @Test(
        "A device that Apple no longer knows is deleted, unless it has registered since Apple detected that",
        arguments: [(-1, 1), (0, 0)])
    func gone(seconds: Int64, devices: Int) throws {
        try commit()
        let found = (noon.secondsSince1970 + seconds) * 1_000

        _ = try work(Reply(410, #"{"reason": "Unregistered", "timestamp": \#(found)}"#))

        #expect(try server.count("SELECT COUNT(*) FROM push_registrations") == devices)
        #expect(try pushesWaiting() == 0)
    }

    @Test("The APNs environment in which a device was found is stored")
    func environment() throws {
        try commit()

        let requests = try work(Reply(400, #"{"reason": "BadDeviceToken"}"#), Reply(200))

        #expect(requests.map(\.url).last == "https://api.sandbox.push.apple.com/3/device/0a1b")
        #expect(try server.count("SELECT COUNT(*) FROM push_registrations WHERE environment = 'sandbox'") == 1)
    }
}
