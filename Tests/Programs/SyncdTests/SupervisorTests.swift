import Dispatch
import Logging
import MariaDB
import Posix
import Store
import SyncProtocol
import TestSupport
import Testing

@testable import syncd

@Suite("Monitoring by the main thread of a process")
struct SupervisorTests {
    private func supervisor(of settings: ConnectionSettings) -> Supervisor {
        let pool = ConnectionPool(settings: settings, maximumConnections: 2, leaseTimeout: .seconds(1))
        let store = MetadataStore(pool: pool, pause: { Pause.sleep($0) })
        let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        return Supervisor(
            store: store, database: settings, processID: "test",
            signOfLife: SignOfLife(
                of: KeyHolder(
                    processUUID: "test", hostName: "host", role: .jobs, processID: 1, sealingKey: "0", openingKeys: []),
                store: store),
            metrics: MetricsWiring(
                directory: nil, role: .jobs, processID: "test", pool: pool, store: store,
                now: { WireDate(secondsSince1970: 1_800_000_000) }, logger: logger),
            logger: logger, logFile: .standardError)
    }

    @Test("A process that has lost a thread exits, so that it is restarted, even without a database")
    func deadWorkers() throws {
        let nowhere = ConnectionSettings(
            address: .unixSocket(path: "/nowhere/socket"), user: "", password: "", database: nil)

        #expect(throws: ServerError.workersDied) {
            try supervisor(of: nowhere).run { try WorkerPool(.fixed(2), name: "test") { _ in } }
        }
    }

    @Test("With an unexpected schema, a process does not start working, and reports the cause")
    func otherSchema() throws {
        let settings = try ScratchDatabase.shared().makeDatabase()
        let begin: () throws -> WorkerPool = { throw ServerError.noSocket }

        #expect { try supervisor(of: settings).run(begin) } throws: { error in
            guard case MigrationError.outdated(let missing) = error else { return false }
            return missing.first == "initial"
        }
        var runner = try MigrationRunner(settings, leaseOwner: "test")
        _ = try runner.migrate()
        #expect(throws: ServerError.noSocket) { try supervisor(of: settings).run(begin) }

        var connection = try Connection(settings)
        try connection.execute(
            "INSERT INTO schema_migrations (version, name, checksum, applied_at) VALUES (9999, 'x', '', '2026-01-01')")
        #expect(throws: MigrationError.newer([9999])) { try supervisor(of: settings).run(begin) }
        try connection.execute("DELETE FROM schema_migrations WHERE version = 9999")
        try connection.execute("UPDATE schema_migrations SET checksum = REPEAT('x', 32) WHERE version = 1")
        #expect(throws: MigrationError.self) { try supervisor(of: settings).run(begin) }
    }
}
