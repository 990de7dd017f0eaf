import MariaDB
import SyncProtocol
import TestSupport
import Testing

@testable import Store

@Suite("Quotas")
struct QuotaTests {
    private let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    private func use(_ account: String = "alice", _ quota: Quota = .groupsPerHour) throws -> QuotaUse {
        try fixture.store.transaction { try $0.use(quota, by: .google, account, limit: 3) }
    }

    private func execute(_ sql: String) throws {
        var connection = try Connection(fixture.settings)
        try connection.executeScript(sql)
    }

    @Test("An account may act up to its limit within an hour; other accounts and actions are independent")
    func window() throws {
        for _ in 1...3 { #expect(try use() == .granted) }

        guard case .exhausted(let delay) = try use() else {
            Issue.record("a fourth use was granted")
            return
        }
        #expect((.seconds(3_500) ... .seconds(3_600)).contains(delay))
        #expect(try use("bob") == .granted)
        #expect(try use("alice", .invitationsPerHour) == .granted)
    }

    @Test("After the hour the next use begins a new one, and housekeeping removes expired ones")
    func nextHour() throws {
        for _ in 1...4 { _ = try use() }
        _ = try use("bob")
        try execute("UPDATE quota_windows SET window_end = UTC_TIMESTAMP() - INTERVAL 1 SECOND")

        #expect(try use() == .granted)
        #expect(try fixture.count("SELECT uses FROM quota_windows ORDER BY uses DESC LIMIT 1") == 1)
        #expect(try fixture.store.transaction { try $0.forgetQuotaWindows(limit: 10) } == 1)
        #expect(try fixture.count("SELECT COUNT(*) FROM quota_windows") == 1)
    }

    @Test("An action that is rolled back does not count")
    func undone() throws {
        struct Undo: Error {}
        for _ in 1...5 {
            #expect(throws: Undo.self) {
                try fixture.store.transaction { session in
                    _ = try session.use(.groupsPerHour, by: .google, "alice", limit: 3)
                    throw Undo()
                }
            }
        }

        #expect(try use() == .granted)
        #expect(try fixture.count("SELECT uses FROM quota_windows") == 1)
    }

    @Test("Of many concurrent actions exactly the permitted number succeeds")
    func race() throws {
        let fixture = fixture
        let outcomes = concurrently(8) { _ in
            try fixture.store.transaction { session -> Bool in
                try session.use(.groupsPerHour, by: .google, "alice", limit: 3) == .granted
            }
        }

        #expect(try outcomes.filter { try $0.get() }.count == 3)
    }

    @Test("Staged changes are counted with the bytes of their metadata, also when staged again")
    func staged() throws {
        let alice = try fixture.addOwner()
        var change = StagedChange(fileUUID: FileUUID("F0F0F0F0-0000-4000-8000-000000000001")!, kind: .deletion)
        let size = { try fixture.store.withSession { try $0.stagedSize(of: alice.user) } }

        try alice.stage(change)
        #expect(try size() == (1, 0))
        change.kind = .metadata
        change.appMetaData = "äöü"
        change.appMetaDataVersion = AppMetaDataVersion(0)
        try alice.stage(change)
        #expect(try size() == (1, 6))
        try fixture.store.transaction { try $0.unstage(change.fileUUID, in: alice.area) }
        #expect(try size() == (0, 0))
    }

    @Test("Usage is reported for each limit, by existing items and by actions in this hour")
    func standings() throws {
        let alice = try fixture.addOwner()
        let bob = try fixture.addOwner()
        try execute(
            """
            INSERT INTO devices SELECT \(alice.user.rawValue), UUID(), '2026-01-01' FROM seq_1_to_8;
            INSERT INTO invitations
            SELECT UUID(), \(alice.area.groupID.rawValue), \(alice.user.rawValue), \(alice.user.rawValue), 'read', TRUE, 1,
                   IF(seq = 1, '2020-01-01', '2099-01-01')
              FROM seq_1_to_4;
            INSERT INTO quota_windows
            SELECT UNHEX(SHA2(CONCAT(account_type, ' ', provider_user_id), 256)), 'codeExchangesPerHour',
                   UTC_TIMESTAMP() + INTERVAL 5 MINUTE, 7 FROM users WHERE user_id = \(alice.user.rawValue);
            INSERT INTO quota_windows
            SELECT UNHEX(SHA2(CONCAT(account_type, ' ', provider_user_id), 256)), 'groupsPerHour',
                   UTC_TIMESTAMP() - INTERVAL 5 MINUTE, 9 FROM users WHERE user_id = \(alice.user.rawValue)
            """)
        var quotas = Quotas.unlimited
        quotas[.devices] = 10
        quotas[.groups] = 4
        quotas[.openInvitations] = 100
        quotas[.groupsPerHour] = 10
        quotas[.codeExchangesPerHour] = 10

        let users = try fixture.store.snapshot {
            try $0.listUsers(UserFilter(), after: nil, limit: 10, quotas, at: noon)
        }
        let near = try fixture.store.snapshot {
            try $0.listUsersNearQuota(UserFilter(), after: nil, limit: 10, quotas, at: noon)
        }

        #expect(
            users.first { $0.userID == alice.user }?.quotas == [
                QuotaStanding(.devices, used: 8, limit: 10), QuotaStanding(.groups, used: 1, limit: 4),
                QuotaStanding(.openInvitations, used: 3, limit: 100), QuotaStanding(.groupsPerHour, used: 0, limit: 10),
                QuotaStanding(.codeExchangesPerHour, used: 7, limit: 10),
            ])
        #expect(users.contains { $0.userID == bob.user })
        #expect(near.map(\.userID) == [alice.user])
        #expect(near.first?.quotas.filter(\.isNear).map(\.quota) == ["devices"])
    }

    @Test("Rows from before the migration count with their metadata")
    func migration() throws {
        let settings = try ScratchDatabase.shared().makeDatabase()
        var runner = try MigrationRunner(settings, leaseOwner: "test")
        _ = try runner.migrate(through: 9)
        var connection = try Connection(settings)
        try connection.executeScript(
            """
            INSERT INTO staged_changes
                   (user_id, device_uuid, sharing_group_id, file_uuid, kind, app_metadata, staged_at)
            VALUES (1, UUID(), 1, UUID(), 'metadata', 'four', '2026-01-01'),
                   (1, UUID(), 1, UUID(), 'deletion', NULL, '2026-01-01')
            """)

        _ = try runner.migrate()

        var bytes: Int64 = -1
        try connection.query("SELECT SUM(app_metadata_bytes) FROM staged_changes") { (row) throws(MariaDBError) in
            bytes = try Int64(row.text(0)) ?? -1
        }
        #expect(bytes == 4)
    }
}
