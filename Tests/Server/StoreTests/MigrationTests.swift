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

    @Test("An empty database lacks every migration, gets all of them, and is then up to date")
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

    @Test("A migration that was applied with another text is detected by both commands")
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

    @Test("A database that is newer than the program is refused")
    func newerSchema() throws {
        _ = try migrate()
        try execute("INSERT INTO schema_migrations VALUES (4711, 'future', REPEAT('x', 32), UTC_TIMESTAMP())")

        #expect(throws: MigrationError.newer([4711])) { try verify() }
    }

    @Test("A migration interrupted by a crash is completed by the next run")
    func crashInTheMiddle() throws {
        _ = try migrate()
        // As if the process had died before the last tables and before it could record the step.
        try execute("DROP TABLE outbox; DROP TABLE exchanged_codes; DELETE FROM schema_migrations")
        let names = Migration.all.map(\.name)
        #expect(throws: MigrationError.outdated(missing: names)) { try verify() }

        #expect(try migrate() == names)
        try verify()
        try execute("SELECT 1 FROM outbox, exchanged_codes")
    }

    @Test("Of several processes that migrate at once one applies the migrations, and the result is correct")
    func race() throws {
        let outcomes = concurrently(4) { number in try migrate(as: "process \(number)") }

        for error in outcomes.failures() { #expect(error as? MigrationError == .inProgressElsewhere) }
        #expect(outcomes.successes().filter { !$0.isEmpty }.count == 1)
        try verify()
    }
}
