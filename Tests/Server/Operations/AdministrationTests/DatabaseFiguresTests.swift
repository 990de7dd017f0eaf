import MariaDB
import SyncProtocol
import TestSupport
import Testing

@testable import Operations
@testable import Store

@Suite("Database figures of a report")
struct DatabaseFiguresTests {
    private static let now = AdministrationFixture.now

    private func figures(_ fixture: AdministrationFixture, _ quotas: Quotas = .unlimited) throws -> DatabaseFigures {
        try fixture.store.snapshot { try $0.figures(quotas, at: Self.now) }
    }

    private func day(_ date: String) throws -> Int {
        GrowthCurve.day(of: try #require(WireDate(date + " 00:00:00")))
    }

    @Test("Many files are estimated from the statistics and a sample, unless they are to be counted")
    func estimate() throws {
        let fixture = try AdministrationFixture()
        try fixture.run(
            """
            INSERT INTO files
                   (sharing_group_id, file_uuid, owning_user_id, storage_type, device_uuid, created_at, updated_at,
                    mime_type, is_deleted, file_version, check_sum, size_bytes, object_id, changed_at_master_version)
            SELECT 1, LOWER(LEFT(SHA2(seq, 256), 36)), 1, 'Google', 'd', '2026-02-03', '2026-02-03', 'text/plain',
                   seq % 10 = 0, 0, 'c', 1000, NULL, 5
              FROM seq_1_to_5000
            """)
        // Returns rows.
        _ = try? fixture.run("ANALYZE TABLE files")

        let (estimate, count, overview) = try fixture.store.snapshot {
            (
                try $0.quickFileTotals(countedRows: 1_000), try $0.quickFileTotals(),
                try $0.overview(at: Self.now, isExact: true)
            )
        }

        #expect(count == FileTotals(current: 4_501, deleted: 501, bytes: 4_502_048))
        #expect(overview.files == 4_501 && !overview.filesAreEstimated)
        #expect(estimate.isEstimated)
        // The statistics are from a few pages; the sample is the same in every run.
        #expect((3_000...6_500).contains(estimate.current), "\(estimate)")
        #expect((300...900).contains(estimate.deleted), "\(estimate)")
        #expect((900...1_100).contains(estimate.bytes / Int64(estimate.current)), "\(estimate)")
        let lines = Status(
            serverVersion: "1", schema: 1, database: "d", sandbox: false,
            counts: try fixture.store.snapshot { try $0.overview(at: Self.now, estimate) }
        ).lines
        #expect(lines.contains { $0.hasPrefix("files     about ") && $0.hasSuffix(" deleted; --exact counts") })
    }

    @Test("Storage, growth and work are counted by kind and day, and ended items are counted separately")
    func counts() throws {
        let fixture = try AdministrationFixture()
        try fixture.run(
            """
            INSERT INTO sharing_groups (sharing_group_uuid, is_deleted, created_at) VALUES ('ended', TRUE, '2026-01-01');
            INSERT INTO files
                   (sharing_group_id, file_uuid, owning_user_id, storage_type, device_uuid, created_at, updated_at,
                    mime_type, is_deleted, file_version, check_sum, size_bytes, object_id, changed_at_master_version)
            SELECT 1, UUID(), 1, IF(seq > 3, 'Dropbox', 'Google'), 'd', '2026-02-03', '2026-02-03', 'text/plain', FALSE, 0,
                   'c', IF(seq = 5, NULL, 1000), CONCAT('object ', seq), 5
              FROM seq_1_to_5;
            INSERT INTO outbox (kind, user_id, storage_type, object_id, available_at, lease_owner, created_at, last_error)
            VALUES ('deleteObject', 1, 'Google', 'o', '\(Self.now)' + INTERVAL 1 HOUR, 'w', '2026-02-03', NULL),
                   ('deleteObject', 1, 'Google', 'p', '\(Self.now)' + INTERVAL 1 HOUR, NULL, '2026-02-03', 'refused')
            """)

        let figures = try figures(fixture)

        #expect(
            figures.storage == [
                .init(storageType: .google, files: 4, bytes: 5_048, filesOfUnknownSize: 0, deletedFiles: 1),
                .init(storageType: .dropbox, files: 2, bytes: 1_000, filesOfUnknownSize: 1, deletedFiles: 0),
            ])
        #expect(
            try figures.files.points == [
                .init(day: day("2026-02-01"), count: 1, madeInAll: 2),
                .init(day: day("2026-02-03"), count: 6, madeInAll: 7),
            ])
        #expect(
            try figures.users.points == [
                .init(day: day("2026-01-01"), count: 1, madeInAll: 1),
                .init(day: day("2026-01-02"), count: 2, madeInAll: 2),
            ])
        #expect(try figures.groups.points == [.init(day: day("2026-01-01"), count: 1, madeInAll: 2)])
        #expect(
            figures.outbox == [
                .init(
                    kind: "deleteObject", rows: 3, due: 1, leased: 1, failing: 1,
                    oldestSeconds: Self.now.secondsSince1970 - Int64(try day("2026-02-02")) * 86_400)
            ])
        #expect(figures.counts.files == 6 && figures.counts.fileBytes == 6_048)
        #expect(figures.quotas.isEmpty)
    }

    @Test("All figures of an empty database are zero")
    func empty() throws {
        var quotas = Quotas.unlimited
        for quota in Quota.allCases { quotas[quota] = 9 }

        let figures = try figures(AdministrationFixture(populated: false), quotas)

        #expect(figures.storage.isEmpty && figures.outbox.isEmpty)
        #expect(figures.users.points.isEmpty && figures.groups.points.isEmpty && figures.files.points.isEmpty)
        #expect(figures.counts.files == 0 && figures.counts.fileBytes == 0)
        #expect(figures.quotas.map(\.quota) == Quota.allCases.map(\.rawValue))
        for use in figures.quotas { #expect(use.highest == 0 && use.usersNear == 0 && use.usersAtLimit == 0) }
    }

    @Test("For each quota the report gives the highest use by one user, and how many users are near it and at it")
    func quotas() throws {
        let fixture = try AdministrationFixture()
        try fixture.run(
            """
            INSERT INTO devices SELECT 2, UUID(), '2026-01-01' FROM seq_1_to_7;
            INSERT INTO invitations
            SELECT UUID(), 1, 1, 1, 'read', TRUE, 1, IF(seq = 1, '2020-01-01', '2099-01-01') FROM seq_1_to_3;
            UPDATE staged_changes SET app_metadata_bytes = 2;
            INSERT INTO quota_windows
            SELECT UNHEX(SHA2(seq, 256)), 'codeExchangesPerHour', UTC_TIMESTAMP() + INTERVAL 5 MINUTE, seq FROM seq_6_to_8;
            INSERT INTO quota_windows
            SELECT UNHEX(SHA2(seq, 256)), 'groupsPerHour', UTC_TIMESTAMP() - INTERVAL 5 MINUTE, 9 FROM seq_1_to_3
            """)
        var quotas = Quotas.unlimited
        // One of the new invitations has expired, as have all hours of new groups.
        let expected: [(Quota, limit: Int, highest: Int, near: Int, reached: Int)] = [
            (.devices, 10, 8, 1, 0), (.groups, 1, 1, 2, 2), (.openInvitations, 5, 3, 0, 0),
            (.stagedChanges, 100, 1, 0, 0),
            (.stagedBytes, 2, 2, 1, 1), (.groupsPerHour, 10, 0, 0, 0), (.codeExchangesPerHour, 8, 8, 2, 1),
        ]
        for quota in expected { quotas[quota.0] = quota.limit }

        let uses = try figures(fixture, quotas).quotas

        #expect(uses.count == expected.count)
        for (quota, limit, highest, near, reached) in expected {
            let use = uses.first { $0.quota == quota.rawValue }
            #expect(
                use
                    == .init(
                        quota: quota.rawValue, limit: limit, highest: highest, usersNear: near, usersAtLimit: reached))
        }
    }

    // MARK: Cost

    /// The number of rows added to a table.
    private static let addedRows = 2_000

    /// The statements that add rows for one user and one day, and how often a report reads each of these rows.
    static let growth: [(table: String, times: Int, statement: String)] = [
        (
            "files", 1,
            """
            INSERT INTO files
                   (sharing_group_id, file_uuid, owning_user_id, storage_type, device_uuid, created_at, updated_at,
                    mime_type, is_deleted, file_version, check_sum, size_bytes, object_id, changed_at_master_version)
            SELECT 1, UUID(), 1, 'Google', 'd', '2026-02-03', '2026-02-03', 'text/plain', FALSE, 0, 'c', 9,
                   CONCAT('object ', seq), 5
            """
        ),
        (
            "users", 2,
            """
            INSERT INTO users (account_type, provider_user_id, display_name, created_at)
            SELECT 'Facebook', seq, 'x', '2026-01-02'
            """
        ),
        (
            "sharing_groups", 2,
            "INSERT INTO sharing_groups (sharing_group_uuid, created_at) SELECT UUID(), '2026-01-01'"
        ),
        ("memberships", 1, "INSERT INTO memberships SELECT seq + 100, 1, NULL, 'admin', NULL, '2026-01-01'"),
        ("devices", 1, "INSERT INTO devices SELECT 1, UUID(), '2026-01-01'"),
        ("invitations", 2, "INSERT INTO invitations SELECT UUID(), 1, 1, 1, 'read', TRUE, 1, '2099-01-01'"),
        (
            "staged_changes", 3,
            """
            INSERT INTO staged_changes
                   (user_id, device_uuid, sharing_group_id, file_uuid, kind, owning_user_id, storage_type, object_id,
                    check_sum, staged_at)
            SELECT 1, 'd', 1, UUID(), 'metadata', 1, 'Google', CONCAT('staged ', seq), 'ab', '2026-01-01'
            """
        ),
        (
            "outbox", 2,
            """
            INSERT INTO outbox (kind, user_id, storage_type, object_id, available_at, created_at)
            SELECT 'deleteObject', 1, 'Google', CONCAT('doomed ', seq), '2026-01-01', '2026-01-01'
            """
        ),
        (
            "quota_windows", 5,
            """
            INSERT INTO quota_windows
            SELECT UNHEX(SHA2(seq, 256)), 'groupsPerHour', UTC_TIMESTAMP() + INTERVAL 5 MINUTE, 1
            """
        ),
    ]

    @Test("A report reads each file row once, and any other row at most a few times", arguments: growth)
    func cost(table: String, times: Int, statement: String) throws {
        let fixture = try AdministrationFixture()
        let before = try rowsRead(fixture)
        try fixture.run("\(statement) FROM seq_1_to_\(Self.addedRows); ANALYZE TABLE \(table)")

        let added = try rowsRead(fixture) - before

        // A lower number would mean that the meter counts nothing.
        #expect(added > Self.addedRows / 2, "\(table): \(added) rows")
        #expect(added < times * Self.addedRows + Self.addedRows / 2, "\(table): \(added) rows")
    }

    /// Rows that the database reads for a report (https://mariadb.com/kb/en/server-status-variables/, `Handler_read_…`
    /// without `Handler_read_key`, which also counts the result row that receives each). The smallest of three
    /// readings, because readings include the reads that open a table.
    private func rowsRead(_ fixture: AdministrationFixture) throws -> Int {
        var quotas = Quotas.unlimited
        for quota in Quota.allCases { quotas[quota] = 9 }
        return try (0..<3).map { _ in
            try fixture.store.snapshot { session in
                let before = try Self.counter(&session)
                _ = try session.figures(quotas, at: Self.now)
                return try Self.counter(&session) - before
            }
        }.min() ?? 0
    }

    private static func counter(_ session: inout StoreSession) throws -> Int {
        var sum = 0
        try session.connection.query(
            "SHOW SESSION STATUS WHERE variable_name LIKE 'Handler_read%' AND variable_name <> 'Handler_read_key'"
        ) { (row) throws(MariaDBError) in
            sum += Int(try row.text(1)) ?? 0
        }
        return sum
    }
}
