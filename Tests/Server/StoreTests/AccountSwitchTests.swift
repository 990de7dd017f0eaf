import MariaDB
import SyncProtocol
import TestSupport
import Testing

@testable import Store

@Suite("Account switches in the database")
struct AccountSwitchTests {
    private let switches: SwitchFixture
    private var fixture: StoreFixture { switches.fixture }
    private var alice: Member { switches.alice }
    private var user: UserRecord { get throws { try switches.user } }

    init() throws { switches = try SwitchFixture() }

    private func propose(to id: String = "next") throws -> AccountSwitchID { try switches.propose(to: id) }

    private func confirm(_ id: AccountSwitchID, epoch: Int64 = 0) throws -> AccountSwitch {
        try switches.confirm(id, epoch: epoch)
    }

    private func addFiles(_ count: Int) throws { try switches.addFiles(count) }

    @Test("Confirming a switch with 10,000 files takes a short time and a bounded number of statements")
    func large() throws {
        try addFiles(10_000)
        let id = try propose()

        let clock = ContinuousClock()
        var confirmed: AccountSwitch?
        let took = try clock.measure { confirmed = try confirm(id) }

        #expect(confirmed?.filesTotal == 10_000)
        // Half a second on an idle machine with two cores; much less than the time that a phone or another writer
        // waits.
        #expect(took < .seconds(10), "\(took)")
        print("10,000 files: \(took)")
        #expect(try fixture.count("SELECT COUNT(*) FROM files WHERE content_state = 'awaiting'") == 10_000)
        #expect(try fixture.count("SELECT COUNT(*) FROM files WHERE object_id IS NOT NULL") == 0)
        #expect(try fixture.count("SELECT COUNT(DISTINCT check_sum) FROM files") == 10_000)
    }

    @Test("A file committed during the confirmation of a switch also waits, or is rejected: none keeps its object")
    func simultaneousCommit() async throws {
        for round in 0..<8 {
            try addFiles(50)
            let id = try propose(to: "next \(round)")
            let epoch = try user.accountEpoch.rawValue
            let google = OwningUser(userID: alice.user, storageType: .google)
            try alice.stage(.upload(of: someFile(), version: 0, object: "late \(round)", owner: google))

            let _: [Void] = try await Threads.run(2) { number in
                if number == 0 {
                    _ = try? confirm(id, epoch: epoch)
                } else {
                    _ = try? alice.commit()
                }
            }

            #expect(
                try fixture.count(
                    """
                    SELECT COUNT(*) FROM files f JOIN users u ON u.user_id = f.owning_user_id
                     WHERE f.content_state = 'stored' AND f.object_id IS NOT NULL AND NOT f.is_deleted
                       AND CAST(u.account_type AS CHAR) = 'Dropbox'
                    """) == 0)
            _ = try fixture.store.withSession { session in
                try session.executeScript(
                    """
                    DELETE FROM files; DELETE FROM staged_changes; DELETE FROM account_switches;
                    DELETE FROM retired_accounts;
                    UPDATE users SET account_type = 'Google' WHERE user_id = \(alice.user.rawValue)
                    """)
            }
        }
    }

    @Test("A waiting file has nothing to delete, by identifier or name, and its name protects no object")
    func nothingToDelete() throws {
        try addFiles(1)
        _ = try confirm(try propose())
        let owner = OwningUser(userID: alice.user, storageType: .dropbox)
        let file = try #require(FileUUID("00000000-0000-0000-0000-000000000001"))
        let row = try #require(try fixture.store.withSession { try $0.file(file, in: alice.area.groupID) })

        try fixture.store.transaction { session in
            try session.addDeletion(ofContentOf: row, in: alice.area.groupID, availableAt: noon, at: noon)
            let isReferenced = try session.isReferenced(row.nameByOlderServer, of: owner)
            let isAdopted = try session.adopt(objectID: "found", revision: nil, as: row, in: alice.area.groupID)
            #expect(!isReferenced && !isAdopted)
        }

        #expect(try fixture.count("SELECT COUNT(*) FROM outbox") == 0)
    }

    @Test("Only the user's work in the former storage is dropped; intents end only at their own epoch")
    func outbox() throws {
        let former = OwningUser(userID: alice.user, storageType: .google)
        let intent = try fixture.store.transaction { session in
            _ = try session.addDeletion(of: "o", in: former, availableAt: noon, at: noon)
            try session.addPush("hello", from: alice.user, to: alice.area.groupID, at: noon)
            return try session.addIntent(
                toStore: "i", named: [], in: former, at: AccountEpoch(0), leaseOwner: "upload", until: noon(plus: 90),
                at: noon)
        }

        _ = try confirm(try propose())

        #expect(try fixture.count("SELECT COUNT(*) FROM outbox WHERE storage_type IS NOT NULL") == 0)
        #expect(try fixture.count("SELECT COUNT(*) FROM outbox WHERE kind = 'sendPush'") == 1)
        try fixture.store.transaction { session in
            let isCompleted = try session.completeIntent(intent, at: AccountEpoch(0), by: "upload")
            #expect(!isCompleted)
        }
        #expect(throws: StoreError.self) {
            try fixture.store.transaction { session in
                _ = try session.addIntent(
                    toStore: "i", named: [], in: former, at: AccountEpoch(0), leaseOwner: "upload", until: noon,
                    at: noon)
            }
        }
    }

    @Test("A user's own devices are notified, each once; a user without a group gets no notification")
    func push() throws {
        let loner = try fixture.addUser()
        try fixture.store.withSession { session in
            try session.executeScript(
                """
                INSERT INTO push_registrations (user_id, device_uuid, kind, token, token_hash, registered_at)
                VALUES (\(alice.user.rawValue), 'a', 'fcm', 't', REPEAT('a', 32), NOW()),
                       (\(alice.user.rawValue), 'b', 'apns', 't', REPEAT('b', 32), NOW()),
                       (\(loner.rawValue), 'c', 'fcm', 't', REPEAT('c', 32), NOW())
                """)
        }

        try fixture.store.transaction { session in
            for user in [alice.user, loner] { try session.addPush("notice", toDevicesOf: user, at: noon) }
        }

        #expect(
            try fixture.count("SELECT COUNT(*) FROM outbox WHERE kind = 'sendPush' AND push_target = 'device'") == 2)
    }

    @Test(
        "An expired proposal is invalid, and is deleted with its tokens; a finished switch is kept for a long time"
    )
    func forgetting() throws {
        let id = try propose()

        #expect(try fixture.store.withSession { try $0.accountSwitch(id, at: noon(plus: 86_399)) } != nil)
        #expect(try fixture.store.withSession { try $0.accountSwitch(id, at: noon(plus: 86_400)) } == nil)
        #expect(try fixture.store.transaction { try $0.forgetExpiredSwitches(at: noon, limit: 9) } == 0)
        #expect(try fixture.store.transaction { try $0.forgetExpiredSwitches(at: noon(plus: 86_401), limit: 9) } == 1)

        let confirmed = try confirm(try propose())
        #expect(confirmed.state == .finished, "no file is waiting")
        #expect(try fixture.count("SELECT COUNT(*) FROM account_switches WHERE credentials IS NOT NULL") == 0)
        #expect(try fixture.store.transaction { try $0.forgetFinishedSwitches(before: noon, limit: 9) } == 0)
        #expect(
            try fixture.store.transaction { try $0.forgetFinishedSwitches(before: noon(plus: 90_000), limit: 9) } == 1)
    }
}
