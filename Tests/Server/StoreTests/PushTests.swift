import MariaDB
import SyncProtocol
import TestSupport
import Testing

@testable import Store

@Suite("Push registrations and notifications")
struct PushTests {
    private let fixture: StoreFixture
    private var store: MetadataStore { fixture.store }

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

    @Test("A token belongs to one device, and a device has one token: the latest registration counts")
    func unique() throws {
        let (alice, bob) = (try fixture.addUser(), try fixture.addUser())
        try register("a", of: alice, on: Self.device)
        try register("b", of: alice, on: Self.device)
        try register("b", of: alice, on: Self.device)
        #expect(try fixture.count("SELECT COUNT(*) FROM push_registrations WHERE token = 'b'") == 1)
        #expect(try fixture.count("SELECT COUNT(*) FROM push_registrations") == 1)
        try register("b", of: bob, on: Self.device)
        #expect(try fixture.count("SELECT COUNT(*) FROM push_registrations") == 1)
        #expect(try fixture.count("SELECT user_id FROM push_registrations") == Int(bob.rawValue))
    }

    @Test("A registration returns the subscriptions that it replaces")
    func replacedSubscriptions() throws {
        let (alice, bob) = (try fixture.addUser(), try fixture.addUser())
        try register("token", .sns, of: alice, on: Self.device, subscription: "arn:1")
        try register("older", .sns, of: bob, on: Self.other, subscription: "arn:2")
        let replaced = try store.withSession {
            try $0.pushSubscriptions(replacedBy: "token", of: bob, on: Self.other)
        }
        #expect(replaced.sorted() == ["arn:1", "arn:2"])
    }

    @Test("A removed topic becomes NULL and leaves no registration; another topic is unchanged")
    func topic() throws {
        let alice = try fixture.addUser()
        try store.transaction { try $0.storePushTopic("arn:t", of: alice) }
        try register("token", .sns, of: alice, on: Self.device)
        try store.transaction { try $0.forgetPushTopic("arn:other", of: alice) }
        #expect(try fixture.count("SELECT COUNT(*) FROM users WHERE push_topic_arn = 'arn:t'") == 1)
        try store.transaction { try $0.forgetPushTopic("arn:t", of: alice) }
        #expect(try fixture.count("SELECT COUNT(*) FROM users WHERE push_topic_arn IS NOT NULL") == 0)
        #expect(try fixture.count("SELECT COUNT(*) FROM push_registrations") == 0)
    }

    @Test("Removing a user deletes the registrations, and schedules the topic's deletion")
    func removedUser() throws {
        let alice = try fixture.addUser()
        try store.transaction { try $0.storePushTopic("arn:t", of: alice) }
        try register("token", .sns, of: alice, on: Self.device)
        #expect(try store.transaction { try $0.removeUser(alice, at: noon) })
        let left = try lease()
        #expect(left.map(\.kind) == [.removePushTopic])
        #expect(left.map(\.work) == [.removePushTopic("arn:t")])
        #expect(left.map(\.owner) == [nil])
    }

    @Test("An invalid token is removed unless it was registered again since, or has been replaced")
    func forgotten() throws {
        let alice = try fixture.addUser()
        try register("token", of: alice, on: Self.device)
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

extension PushTests {
    @Test(
        "A group push yields one row per device and topic of the other members, once; changes of ownership count")
    func fanOut() throws {
        let (alice, bob, carol) = (try fixture.addUser(), try fixture.addUser(), try fixture.addUser())
        let group = try fixture.addGroup(of: alice, name: "G")
        let groupID = try #require(try fixture.membership(of: alice, in: group)).groupID
        for user in [bob, carol] { try join(user, groupID) }
        for (user, token) in [(alice, "a"), (bob, "b")] { try register(token, of: user, on: Self.device) }
        try register("b2", .fcm, of: bob, on: Self.other)
        try register("c", .sns, of: carol, on: Self.device)
        try store.transaction { try $0.storePushTopic("arn:c", of: carol) }
        try store.transaction { try $0.addPush("Hi", from: alice, to: groupID, at: noon) }

        let item = try #require(try lease().first)
        let order = try #require(item.push)
        #expect(order == PushOrder(target: .group, groupID: groupID, text: "Hi", orderedAt: noon))
        #expect(try store.transaction { try $0.fanOut(item, order, by: "another", at: noon) } == nil)
        #expect(try store.transaction { try $0.fanOut(item, order, by: "w", at: noon) } == 3)
        #expect(try store.transaction { try $0.fanOut(item, order, by: "w", at: noon) } == nil)

        let parts = try lease()
        #expect(parts.count == 3)
        #expect(parts.allSatisfy { $0.kind == .sendPush && $0.push?.text == "Hi" && $0.push?.orderedAt == noon })
        #expect(parts.filter { $0.userID == bob }.count == 2)
        #expect(parts.filter { $0.userID == carol }.map(\.push?.target) == [.topic])
        guard case .device(let id)? = parts.first(where: { $0.userID == bob })?.push?.target else {
            Issue.record("not a device of Bob")
            return
        }
        let found: (UserID) throws -> PushRegistration? = { user in
            try store.withSession { try $0.pushRegistration(id, of: user, memberOf: groupID) }
        }
        #expect(try found(bob)?.token.hasPrefix("b") == true)
        #expect(try found(carol) == nil, "the device belongs to another user")
        try execute("DELETE FROM memberships WHERE user_id = \(bob.rawValue)")
        #expect(try found(bob) == nil, "Bob has left")
        let topic: () throws -> String? = { try store.withSession { try $0.pushTopic(of: carol, memberOf: groupID) } }
        #expect(try topic() == "arn:c")
        try execute("DELETE FROM memberships WHERE user_id = \(carol.rawValue)")
        #expect(try topic() == nil, "Carol has left")
        // A member of another group with the sender has still left this one.
        let other = try #require(
            try fixture.membership(of: alice, in: try fixture.addGroup(of: alice, name: "H"))
        ).groupID
        for user in [bob, carol] { try join(user, other) }
        #expect(try found(bob) == nil && topic() == nil)
    }

    private func join(_ user: UserID, _ group: SharingGroupID) throws {
        try execute(
            "INSERT INTO memberships (sharing_group_id, user_id, permission, joined_at) "
                + "VALUES (\(group.rawValue), \(user.rawValue), 'read', UTC_TIMESTAMP())")
    }

    private func execute(_ sql: String) throws {
        var connection = try Connection(fixture.settings)
        try connection.executeScript(sql)
    }
}
