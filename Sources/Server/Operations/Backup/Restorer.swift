public import MariaDB
import OpenSSLCrypto
import Posix
import Store

/// Restores a backup into an empty database.
public struct Restorer {
    private let settings: ConnectionSettings

    /// - Parameter settings: of the database to fill.
    public init(into settings: ConnectionSettings) {
        var settings = settings
        // Many rows go in one statement, and indexes grow with them.
        settings.readTimeout = .seconds(300)
        self.settings = settings
    }

    /// Verifies the backup, creates the schema of its time, inserts all rows in one transaction, brings the schema up
    /// to date, and counts the resulting rows.
    ///
    /// A database that is not empty is rejected before anything else; if anything fails, no row remains, and it may be
    /// run again.
    /// - Throws: ``BackupError``, ``RestoreError``, ``MigrationError``, ``StoreError``, `GzipError`.
    public func restore(_ path: String) throws -> RestoreReport {
        let store = MetadataStore(
            pool: ConnectionPool(settings: settings, maximumConnections: 1, leaseTimeout: .seconds(30)),
            pause: { Pause.sleep($0) })
        // The schema is created here.
        store.open()
        try store.withSession { try $0.requireEmpty() }
        let reader = BackupReader(path: path)
        let manifest = try reader.verify()
        var runner = try MigrationRunner(settings, leaseOwner: try RandomBytes.uuidText())
        _ = try runner.migrate(through: manifest.header.schema)
        try store.withSession { session in
            for (name, part) in manifest.parts {
                guard let table = StoredTable(rawValue: name), let number = part.nextNumber else { continue }
                try session.setNextNumber(number, of: table)
            }
        }
        let intents = try store.transaction { session in
            // Checked again: somebody may have used the database meanwhile.
            try session.requireEmpty()
            _ = try reader.read { table, columns, rows in try session.insert(rows, columns, into: table) }
            return try session.forgetIntents()
        }
        _ = try runner.migrate()
        try runner.verify()
        let counts = try store.snapshot { session in try session.rowCounts() }
        for (table, part) in manifest.parts.sorted(by: { $0.key < $1.key }) {
            let expected = table == StoredTable.outbox.rawValue ? part.rows - intents : part.rows
            guard counts[table] == expected else {
                throw BackupError.countsDiffer(table: table, expected: expected, found: counts[table] ?? 0)
            }
        }
        try store.transaction { try $0.recordRestoration(ofBackupTakenAt: manifest.header.takenAt) }
        return RestoreReport(manifest: manifest, forgottenIntents: intents, counts: counts)
    }
}
