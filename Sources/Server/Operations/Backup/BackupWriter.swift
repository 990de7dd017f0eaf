import Gzip
import OpenSSLCrypto
import Posix
public import Store
public import SyncProtocol

/// Writes a backup of the whole database while the server is running.
///
/// All rows are from one point in time (a consistent snapshot, InnoDB); it blocks nobody.
public struct BackupWriter {
    private let store: MetadataStore

    public init(store: MetadataStore) {
        self.store = store
    }

    /// Writes the file, which is created completely or not at all.
    ///
    /// - Parameters:
    ///   - path: must not exist.
    ///   - progress: called when a table is done, with its name and rows.
    /// - Throws: ``BackupError``, ``StoreError``, `GzipError`, ``PosixError``.
    public func write(
        to path: String, serverVersion: String, database: String, at now: WireDate,
        progress: (String, Int) -> Void = { _, _ in }
    ) throws -> BackupReport {
        let header = BackupFormat.Header(
            format: BackupFormat.version, serverVersion: serverVersion, schema: MigrationRunner.newestStep,
            takenAt: now,
            database: database)
        let partial = path + ".partial"
        guard !RegularFile.exists(path) else { throw BackupError.exists(path) }
        var file = try GzipWriter(creating: partial)
        do {
            let manifest = try store.snapshot { session in
                let unknown = try session.unknownTables()
                guard unknown.isEmpty else { throw BackupError.unknownTables(unknown) }
                return try Self.write(header, &session, &file, progress)
            }
            try file.write(try BackupFormat.line("M", manifest))
            try file.finish()
            try Directory.rename(partial, to: path)
            return BackupReport(path: path, manifest: manifest)
        } catch {
            try? Directory.removeFile(partial)
            throw error
        }
    }

    private static func write(
        _ header: BackupFormat.Header, _ session: inout StoreSession, _ file: inout GzipWriter,
        _ progress: (String, Int) -> Void
    ) throws -> BackupFormat.Manifest {
        try file.write(try BackupFormat.line("H", header))
        var parts: [String: BackupFormat.Manifest.Part] = [:]
        var keys: Set<String> = []
        for table in StoredTable.allCases {
            let columns = try session.columns(of: table)
            try file.write(try BackupFormat.line("T", BackupFormat.Table(table: table, columns: columns)))
            let sealed = columns.firstIndex { $0.name == "credentials" }
            var digest = IncrementalDigest(.sha256)
            var rows = 0
            var failure: (any Error)?
            try session.readRows(of: table, columns) { values throws(StoreError) in
                guard failure == nil else { return }
                let line = BackupFormat.line(values)
                digest.update(line)
                rows += 1
                if let sealed, case .bytes(let record) = values[sealed], let key = SealedBox.keyIdentifier(of: record) {
                    keys.insert(SealingKey.name(of: key))
                }
                do { try file.write(line) } catch { failure = error }
            }
            if let failure { throw failure }
            let sum = digest.finish().hexLowercase
            try file.write(try BackupFormat.line("E", BackupFormat.TableEnd(rows: rows, sha256: sum)))
            parts[table.rawValue] = BackupFormat.Manifest.Part(
                rows: rows, sha256: sum, nextNumber: try session.nextNumber(of: table))
            progress(table.rawValue, rows)
        }
        return BackupFormat.Manifest(header: header, parts: parts, sealingKeys: keys.sorted())
    }
}
