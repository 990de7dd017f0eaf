import Operations
import Store
import SyncProtocol
import Testing

@Suite("The list of users")
struct UserListingTests {
    private static let now = AdministrationFixture.now
    private let fixture: AdministrationFixture

    init() throws { fixture = try AdministrationFixture() }

    @Test("Usage is reported for each limit: existing items, and actions in this hour")
    func standings() throws {
        let alice = AdministrationFixture.alice
        try fixture.run(
            """
            INSERT INTO devices SELECT \(alice.rawValue), UUID(), '2026-01-01' FROM seq_1_to_7;
            INSERT INTO invitations
            SELECT UUID(), 1, \(alice.rawValue), \(alice.rawValue), 'read', TRUE, 1,
                   IF(seq = 1, '2020-01-01', '2099-01-01')
              FROM seq_1_to_3;
            INSERT INTO quota_windows
            SELECT UNHEX(SHA2(CONCAT(account_type, ' ', provider_user_id), 256)), 'codeExchangesPerHour',
                   UTC_TIMESTAMP() + INTERVAL 5 MINUTE, 7 FROM users WHERE user_id = \(alice.rawValue);
            INSERT INTO quota_windows
            SELECT UNHEX(SHA2(CONCAT(account_type, ' ', provider_user_id), 256)), 'groupsPerHour',
                   UTC_TIMESTAMP() - INTERVAL 5 MINUTE, 9 FROM users WHERE user_id = \(alice.rawValue)
            """)
        var quotas = Quotas.unlimited
        quotas[.devices] = 10
        quotas[.groups] = 4
        quotas[.openInvitations] = 100
        quotas[.groupsPerHour] = 10
        quotas[.codeExchangesPerHour] = 10

        let users = try fixture.store.snapshot {
            try $0.listUsers(UserFilter(), after: nil, limit: 10, quotas, at: Self.now)
        }
        let near = try fixture.store.snapshot {
            try $0.listUsersNearQuota(UserFilter(), after: nil, limit: 10, quotas, at: Self.now)
        }

        #expect(
            users.first { $0.userID == alice }?.quotas == [
                QuotaStanding(.devices, used: 8, limit: 10), QuotaStanding(.groups, used: 1, limit: 4),
                QuotaStanding(.openInvitations, used: 3, limit: 100), QuotaStanding(.groupsPerHour, used: 0, limit: 10),
                QuotaStanding(.codeExchangesPerHour, used: 7, limit: 10),
            ])
        #expect(users.contains { $0.userID == AdministrationFixture.bob })
        #expect(near.map(\.userID) == [alice])
        #expect(near.first?.quotas.filter(\.isNear).map(\.quota) == ["devices"])
    }

    @Test("Offline access is reported for accounts with storage, if known")
    func offlineAccess() throws {
        let reported = {
            try fixture.store.withSession { try $0.listUsers(UserFilter(), after: nil, limit: 9) }
                .map(\.hasOfflineAccess)
        }

        for (stored, expected) in [("TRUE", true), ("FALSE", false), ("NULL", nil)] {
            try fixture.run("UPDATE users SET has_refresh_token = \(stored)")
            #expect(try reported() == [expected, nil], "\(stored)")
        }
    }
}
