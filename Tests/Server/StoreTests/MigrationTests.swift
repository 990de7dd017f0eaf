import MariaDB
import TestSupport
import Testing

@testable import Store

@Suite("Migrations")
struct MigrationTests {
    private let settings: ConnectionSettings

    init() throws { settings = try ScratchDatabase.shared().makeDatabase() }

    private func migrate(as owner: String = "me") throws -> [String] {
        var runner = try MigrationRunner(settings, leaseOwner: owner)
        return try runner.migrate()
    }

    private func verify() throws {
        var runner = try MigrationRunner(settings, leaseOwner: "me")
        try runner.verify()
    }

    private func execute(_ sql: String) throws {
        var connection = try Connection(settings)
        try connection.executeScript(sql)
    }

    @Test("An empty database has no migration, gets all of them, and is then up to date")
    func emptyDatabase() throws {
        let names = Migration.all.map(\.name)

        #expect(throws: MigrationError.outdated(missing: names)) { try verify() }
        #expect(try migrate() == names)
        try verify()
    }

    @Test("Migrating again applies nothing")
    func repeated() throws {
        _ = try migrate()

        #expect(try migrate(as: "another") == [])
        try verify()
    }

    @Test("While another process holds the lease nothing is applied; an expired lease is taken over")
    func leaseHeldElsewhere() throws {
        _ = try migrate()
        try execute(
            "UPDATE schema_lease SET owner = 'another', held_until = UTC_TIMESTAMP() + INTERVAL 60 SECOND")

        #expect(throws: MigrationError.inProgressElsewhere) { try migrate() }
        try execute("UPDATE schema_lease SET held_until = UTC_TIMESTAMP() - INTERVAL 1 SECOND")
        #expect(try migrate() == [])
        #expect(try migrate(as: "a third") == [])
    }

    @Test("Both commands detect that the text of an applied migration has changed")
    func alteredChecksum() throws {
        _ = try migrate()
        try execute("UPDATE schema_migrations SET checksum = REPEAT('x', 32) WHERE version = 1")

        #expect(throws: MigrationError.altered("initial")) { try verify() }
        #expect(throws: MigrationError.altered("initial")) { try migrate() }
    }

    @Test("A failed migration releases its lease, so that the next one does not wait for it to expire")
    func failureReleasesLease() throws {
        _ = try migrate()
        try execute("UPDATE schema_migrations SET checksum = REPEAT('x', 32) WHERE version = 1")

        #expect(throws: MigrationError.altered("initial")) { try migrate(as: "one") }
        #expect(throws: MigrationError.altered("initial")) { try migrate(as: "two") }
    }

    @Test("A database newer than the program is rejected")
    func newerSchema() throws {
        _ = try migrate()
        try execute("INSERT INTO schema_migrations VALUES (4711, 'future', REPEAT('x', 32), UTC_TIMESTAMP())")

        #expect(throws: MigrationError.newer([4711])) { try verify() }
    }

    @Test("A migration interrupted by a crash is completed by the next run")
    func crashInTheMiddle() throws {
        _ = try migrate()
        // As if the process had ended before it created the last tables and recorded the step.
        try execute("DROP TABLE outbox; DROP TABLE exchanged_codes; DELETE FROM schema_migrations")
        let names = Migration.all.map(\.name)
        #expect(throws: MigrationError.outdated(missing: names)) { try verify() }

        #expect(try migrate() == names)
        try verify()
        try execute("SELECT 1 FROM outbox, exchanged_codes")
    }

    @Test("If several processes migrate at once, one applies the migrations, and the result is correct")
    func race() throws {
        let outcomes = concurrently(4) { number in try migrate(as: "process \(number)") }

        for error in outcomes.failures() { #expect(error as? MigrationError == .inProgressElsewhere) }
        #expect(outcomes.successes().filter { !$0.isEmpty }.count == 1)
        try verify()
    }

    // MARK: Columns

    private func schema() throws -> Schema {
        let store = MetadataStore(
            pool: ConnectionPool(settings: settings, maximumConnections: 1, leaseTimeout: .seconds(30)), pause: { _ in }
        )
        store.open()
        return try store.withSession { try $0.schema() }
    }

    private static let collations: Set<String> = [
        "ascii_general_nopad_ci", "ascii_nopad_bin", "utf8mb4_general_nopad_ci", "utf8mb4_nopad_bin",
    ]

    @Test("The database's columns match the text of the migrations, and each text column names its collation")
    func columns() throws {
        _ = try migrate()
        let actual = try schema()

        #expect(actual.columns.count > 200)
        #expect(Schema.expected == actual)
        #expect(Schema.expected.differences(in: actual) == [])
        let enumerations = actual.columns.values.filter { $0.type.hasPrefix("enum") }.compactMap(\.collation)
        #expect(Set(enumerations) == ["utf8mb4_general_ci", "utf8mb4_general_nopad_ci"])
        for (name, column) in actual.columns where !column.type.hasPrefix("enum") {
            let isText = ["char", "text"].contains(where: column.type.contains)
            #expect(column.collation.map(Self.collations.contains) ?? !isText, "\(name)")
        }
    }

    @Test(
        "The database's own default is not in the schema",
        arguments: [
            "utf8mb4 COLLATE utf8mb4_uca1400_ai_ci", "latin1 COLLATE latin1_swedish_ci", "utf8mb4 COLLATE utf8mb4_bin",
        ])
    func defaults(of database: String) throws {
        let name = try #require(settings.database)
        try execute("ALTER DATABASE `\(name)` CHARACTER SET \(database)")

        _ = try migrate()

        #expect(Schema.expected.differences(in: try schema()) == [])
    }

    @Test(
        "A schema from a newer MariaDB, or from an older release of ours, is equalized; a second time changes nothing")
    func equalized() throws {
        var runner = try MigrationRunner(settings, leaseOwner: "me")
        _ = try runner.migrate(through: 22)
        let earlier = try schema()
        let expected = Schema(of: [MigrationRunner.bookkeeping] + Migration.all.prefix(23).map(\.sql))
        // The default of MariaDB 11.8 if no collation is named.
        for (name, column) in earlier.columns where column.collation == "utf8mb4_general_ci" {
            let parts = name.split(separator: ".")
            let null = column.isNullable ? "NULL" : "NOT NULL"
            try execute(
                """
                ALTER TABLE \(parts[0]) MODIFY COLUMN \(parts[1]) \(column.type)
                CHARACTER SET utf8mb4 COLLATE utf8mb4_uca1400_ai_ci \(null)
                """)
        }
        #expect(expected.differences(in: earlier).count > 20)
        #expect(expected.differences(in: try schema()).count > 40)

        #expect(try runner.migrate(through: 23) == ["collations"])
        #expect(expected.differences(in: try schema()) == [])
        try execute("DELETE FROM schema_migrations WHERE version = 23")
        #expect(try runner.migrate(through: 23) == ["collations"])
        #expect(expected.differences(in: try schema()) == [])
    }

    @Test("No statement copies a large table, if the schema is that of MariaDB 10.11")
    func isInstant() throws {
        var runner = try MigrationRunner(settings, leaseOwner: "me")
        _ = try runner.migrate(through: 22)
        let lines = try #require(Migration.all.first { $0.version == 23 }).sql.split(separator: "\n")
        let text = lines.filter { !$0.hasPrefix("--") }.joined(separator: "\n")

        let statements = text.split(separator: ";").filter { $0.contains("ALTER TABLE") }
        #expect(statements.count > 40)
        for statement in statements where !statement.contains("quota_windows") {
            try execute(statement + ", ALGORITHM = INSTANT")
        }
    }

    @Test("Columns that are missing or different are named")
    func differences() throws {
        _ = try migrate()
        try execute(
            """
            ALTER TABLE files DROP COLUMN app_metadata, ADD COLUMN mine INT NULL,
                MODIFY COLUMN check_sum VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL;
            CREATE TABLE theirs (id INT NOT NULL PRIMARY KEY)
            """)

        #expect(
            Schema.expected.differences(in: try schema()) == [
                "files.app_metadata is missing", "files.check_sum is varchar(32) instead of varchar(64)",
                "files.check_sum has the collation ascii_bin instead of ascii_general_nopad_ci",
                "files.check_sum must not be NULL", "files.mine is not a column of this release",
            ])
    }
}
