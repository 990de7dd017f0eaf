import Foundation
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

    @Test("After the hour the next use begins a new one, and housekeeping deletes expired ones")
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

    @Test("Staged changes are counted with the bytes of their metadata, even if they are staged again")
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

    @Test("Invitations count until they expire, and those of others do not count")
    func openInvitations() throws {
        let alice = try fixture.addOwner()
        let bob = try fixture.addOwner()
        let add = { (inviter: Member, expires: WireDate) in
            try fixture.store.transaction { session in
                try session.addInvitation(
                    SharingInvitationUUID(UUID().uuidString)!, to: inviter.area.groupID, by: inviter.user,
                    owningUserID: inviter.user, permission: .read, allowsSocialAcceptance: true, acceptors: 1,
                    expires: expires)
            }
        }
        for expires in [noon, noon(plus: 1), noon(plus: 2)] { try add(alice, expires) }
        try add(bob, noon(plus: 1))

        #expect(try fixture.store.withSession { try $0.openInvitationCount(by: alice.user, at: noon) } == 2)
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
