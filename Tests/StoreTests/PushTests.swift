import MariaDB
import SyncProtocol
import TestSupport
import Testing

@testable import Store

@Suite("Push registrations and orders")
struct PushTests {
    private let fixture: StoreFixture
    private var store: Store { fixture.store }

    init() throws { fixture = try StoreFixture() }

    private func register(
        _ token: String, _ kind: PushRegistration.Kind = .apns, of userID: UserID, on device: DeviceUUID,
        subscription: String? = nil
    ) throws {
        try store.transaction { session in
            try session.register(
                PushRegistration(kind: kind, token: token, subscriptionARN: subscription), of: userID, on: device,
                at: noon)
        }
    }

    private func lease() throws -> [OutboxItem] {
        try store.transaction { try $0.leaseDue(by: "w", limit: 100, until: noon(plus: 60), at: noon) }
    }

    private static let device = DeviceUUID("0A0A0A0A-0000-4000-8000-000000000001")!
    private static let other = DeviceUUID("0A0A0A0A-0000-4000-8000-000000000002")!

    @Test("A token is one device's, and a device has one token: the last registration counts")
    func unique() throws {
        let (alice, bob) = (try fixture.addOwner().userID, try fixture.addOwner().userID)
        try register("a", of: alice, on: Self.device)
        try register("b", of: alice, on: Self.device)
        try register("b", of: alice, on: Self.device)
        #expect(try fixture.count("SELECT COUNT(*) FROM push_registrations WHERE token = 'b'") == 1)
        #expect(try fixture.count("SELECT COUNT(*) FROM push_registrations") == 1)
        try register("b", of: bob, on: Self.device)
        #expect(try fixture.count("SELECT COUNT(*) FROM push_registrations") == 1)
        #expect(try fixture.count("SELECT user_id FROM push_registrations") == Int(bob.rawValue))
    }

    @Test("The subscriptions that a registration puts out of use are named")
    func replacedSubscriptions() throws {
        let (alice, bob) = (try fixture.addOwner().userID, try fixture.addOwner().userID)
        try register("token", .sns, of: alice, on: Self.device, subscription: "arn:1")
        try register("older", .sns, of: bob, on: Self.other, subscription: "arn:2")
        let replaced = try store.withSession {
            try $0.pushSubscriptions(replacedBy: "token", of: bob, on: Self.other)
        }
        #expect(replaced.sorted() == ["arn:1", "arn:2"])
    }

    @Test("A topic that is gone leaves a real NULL and no registration; another topic is not touched")
    func topic() throws {
        let alice = try fixture.addOwner().userID
        try store.transaction { try $0.storePushTopic("arn:t", of: alice) }
        try register("token", .sns, of: alice, on: Self.device)
        try store.transaction { try $0.forgetPushTopic("arn:other", of: alice) }
        #expect(try fixture.count("SELECT COUNT(*) FROM users WHERE push_topic_arn = 'arn:t'") == 1)
        try store.transaction { try $0.forgetPushTopic("arn:t", of: alice) }
        #expect(try fixture.count("SELECT COUNT(*) FROM users WHERE push_topic_arn IS NOT NULL") == 0)
        #expect(try fixture.count("SELECT COUNT(*) FROM push_registrations") == 0)
    }

    @Test("A user who is removed takes the registrations along and leaves the topic to be removed")
    func removedUser() throws {
        let alice = try fixture.addOwner().userID
        try store.transaction { try $0.storePushTopic("arn:t", of: alice) }
        try register("token", .sns, of: alice, on: Self.device)
        #expect(try store.transaction { try $0.removeUser(alice, at: noon) })
        let left = try lease()
        #expect(left.map(\.kind) == [.removePushTopic])
        #expect(left.map(\.objectNames) == [["arn:t"]])
        #expect(left.map(\.owner) == [nil])
    }

    @Test("A dead token is forgotten unless it was registered again since, or is another by now")
    func forgotten() throws {
        let alice = try fixture.addOwner()
        try register("token", of: alice.userID, on: Self.device)
        let id = PushRegistrationID(Int64(try fixture.count("SELECT registration_id FROM push_registrations")))
        let forget: (String, WireDate?) throws -> Bool = { token, moment in
            try store.transaction {
                try $0.forgetPushRegistration(id, withToken: token, unlessRegisteredAfter: moment)
            }
        }
        #expect(try !forget("token", noon(plus: -1)))
        #expect(try !forget("another", nil))
        #expect(try forget("token", noon))
        #expect(try !forget("token", nil))
    }
}
