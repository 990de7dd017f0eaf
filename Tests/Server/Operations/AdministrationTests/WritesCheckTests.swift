import Foundation
import MariaDB
import Store
import SyncProtocol
import TestSupport
import Testing

@testable import Operations

@Suite("Doctor's check that the database accepts changes")
struct WritesCheckTests {
    /// A server whose settings a test changes.
    private let server: ScratchDatabase
    private let settings: ConnectionSettings

    init() throws {
        server = try ScratchDatabase()
        settings = try server.makeDatabase()
        var runner = try MigrationRunner(settings, leaseOwner: "test")
        _ = try runner.migrate()
    }

    private func examine(administrator: ConnectionSettings? = nil) -> Diagnosis? {
        let found = WritesCheck([(role: nil, settings: settings)], owner: settings, administrator: administrator)
            .examine()
        #expect(found.count <= 1)
        return found.first
    }

    private func run(_ statements: String) throws {
        var connection = try Connection(settings)
        try connection.executeScript(statements)
    }

    @Test("If root cannot log in through the socket, the database's owner performs every check")
    func administratorRefused() throws {
        var root = settings
        (root.user, root.password) = ("nobody", "wrong")
        #expect(examine(administrator: root)?.verdict == .good)

        try run("SET GLOBAL tx_read_only = 1")
        let refused = try #require(examine(administrator: root))
        #expect(refused.code == .databaseReadOnly)
        let fix = try #require(refused.fix)
        #expect(fix.hasPrefix("mariadb -e 'SET GLOBAL tx_read_only = 0'"), "\(fix)")
        try run("SET GLOBAL tx_read_only = 0")
        #expect(examine(administrator: root)?.verdict == .good)

        var nobody = settings
        nobody.password = "wrong"
        nobody.user = "nobody"
        #expect(WritesCheck([(role: nil, settings: nobody)], owner: nobody, administrator: root).examine() == [])
    }

    @Test("A role whose account may not write does not hide what prevents the others from writing")
    func deniedRole() throws {
        try run("CREATE USER jobs@localhost; GRANT SELECT ON `\(settings.database ?? "")`.* TO jobs@localhost")
        var jobs = settings
        jobs.user = "jobs"
        func examine() -> Diagnosis? {
            WritesCheck(
                [(role: .jobs, settings: jobs), (role: .api, settings: settings)], owner: settings, administrator: nil
            ).examine().first
        }
        #expect(examine() == nil)
        try run("SET GLOBAL tx_read_only = 1")
        #expect(examine()?.finding.contains("writes of the role api") == true)
    }

    @Test("A server error that no other check explains is reported as a refusal, with its remedy")
    func refusals() {
        func fix(_ error: MariaDBError) -> String? { WritesCheck.refusal(error, of: "changes")?.fix }
        #expect(
            fix(.unavailable(code: 1_290, message: "The server is running with the --read-only option"))?.hasPrefix(
                "mariadb -e 'SET GLOBAL read_only = 0'") == true)
        for code: UInt32 in [1_036, 1_836, 1_874] {
            #expect(fix(.unavailable(code: code, message: "Table 'x' is read only"))?.contains("innodb.") == true)
        }
        #expect(fix(.unavailable(code: 1_030, message: "Got error 28 from storage engine"))?.contains("df -h") == true)
        #expect(fix(.programming(code: 1_193, message: "unexpected"))?.contains("journalctl -u mariadb") == true)
        for error: MariaDBError in [
            .unavailable(code: 2_013, message: ""), .unavailable(code: 1_040, message: ""),
            .accessDenied(code: 1_142, message: ""), .programming(code: 1_146, message: ""),
            .unavailable(code: 1_927, message: ""), .inDoubt(code: 2_013, message: ""),
        ] { #expect(fix(error) == nil, "\(String(reflecting: error))") }
    }

    @Test("A commit blocked by BACKUP STAGE is found, with the blocking connection")
    func backupStage() async throws {
        var holder = try Connection(settings)
        var number: Int64 = 0
        try holder.query("SELECT CONNECTION_ID()") { row throws(MariaDBError) in number = try row.int(0) }
        try holder.executeScript("CREATE USER backup@localhost; GRANT ALL ON *.* TO backup@localhost")
        var other = settings
        other.user = "backup"
        var stage = try Connection(other)
        try stage.query("SELECT CONNECTION_ID()") { row throws(MariaDBError) in number = try row.int(0) }
        try stage.executeScript("BACKUP STAGE START")
        try stage.executeScript("BACKUP STAGE FLUSH")
        try stage.executeScript("BACKUP STAGE BLOCK_DDL")
        try stage.executeScript("BACKUP STAGE BLOCK_COMMIT")
        let waiter = waiting(Self.insertion)

        try await eventually("the wait is found", within: .seconds(60)) { examine()?.code == .databaseLocked }
        let found = try #require(examine())
        #expect(found.finding.contains("Waiting for backup lock"), "\(found.finding)")
        #expect(found.fix?.hasPrefix("mariadb -e 'KILL \(number)' ends it") == true, "\(found.fix ?? "")")
        _ = try? holder.executeScript("KILL \(number)")
        _ = await waiter.value
        // InnoDB's tables show the earlier state for another tenth of a second.
        try await eventually("the check succeeds again") { examine()?.verdict == .good }
    }

    @Test("An abandoned prepared XA transaction is found although it has no connection")
    func prepared() async throws {
        do {
            var lost = try Connection(settings)
            try lost.executeScript("XA START 'lost'")
            try lost.executeScript(Self.insertion)
            try lost.executeScript("XA END 'lost'")
            try lost.executeScript("XA PREPARE 'lost'")
        }
        let waiter = waiting("DELETE FROM key_holders WHERE process_uuid = 'x'")

        try await eventually("the transaction is found", within: .seconds(60)) {
            examine()?.finding.contains("prepared XA transaction") == true
        }
        let found = try #require(examine())
        #expect(found.code == .databaseLocked)
        #expect(found.fix?.contains("XA RECOVER") == true)
        try run("XA ROLLBACK 'lost'")
        _ = await waiter.value
        try await eventually("the check succeeds again") { examine()?.verdict == .good }
    }

    private static let insertion = """
        INSERT INTO key_holders (process_uuid, host_name, role, process_id, sealing_key, opening_keys, seen_at)
        VALUES ('x', '', '', 0, '', '', UTC_TIMESTAMP())
        """

    /// Runs a statement that must wait, concurrently with the test.
    private func waiting(_ statement: String) -> Task<Void, Never> {
        var settings = settings
        settings.lockWaitTimeout = .seconds(60)
        settings.readTimeout = .seconds(60)
        return Task.detached { [settings] in
            guard var connection = try? Connection(settings) else { return }
            try? connection.executeScript(statement)
        }
    }
}
