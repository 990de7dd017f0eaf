import Gzip
import OpenSSLCrypto
import Posix
public import Store
public import SyncProtocol

/// Writes a backup of the whole database while the server is running.
///
/// All rows are from one point in time (a consistent snapshot, InnoDB); it blocks no other connection.
public struct BackupWriter {
    private let store: MetadataStore
    private let files: [HostFile]

    /// - Parameter files: the host files to store along with the rows.
    public init(store: MetadataStore, files: [HostFile] = []) {
        self.store = store
        self.files = files
    }

    /// Writes the file completely or not at all, and reads it again to verify it.
    ///
    /// - Parameters:
    ///   - path: the path of the new file, which must not exist.
    ///   - now: the time to record for the snapshot.
    ///   - progress: called after each table, with its name and number of rows.
    /// - Throws: ``BackupError``, ``StoreError``, `GzipError`, ``PosixError``.
    public func write(
        to path: String, serverVersion: String, database: String, at now: WireDate,
        progress: (String, Int) -> Void = { _, _ in }
    ) throws -> BackupReport {
        let partial = path + ".partial"
        guard !RegularFile.exists(path) else { throw BackupError.exists(path) }
        var file = try GzipWriter(creating: partial)
        do {
            let manifest = try fill(&file, header(serverVersion, database, now), progress)
            // Verify the bytes on the disk, not those in memory.
            guard try BackupReader(path: partial).verify() == manifest else { throw BackupError.notABackup }
            try Directory.rename(partial, to: path)
            return BackupReport(path: path, manifest: manifest)
        } catch {
            try? Directory.removeFile(partial)
            throw error
        }
    }

    /// Writes the backup to standard output. It cannot be verified here: the receiver has to do that.
    /// - Throws: ``BackupError``, ``StoreError``, `GzipError`.
    public func writeToStandardOutput(
        serverVersion: String, database: String, at now: WireDate
    ) throws -> BackupReport {
        var output = try GzipWriter.toStandardOutput()
        return BackupReport(
            path: "-", manifest: try fill(&output, header(serverVersion, database, now), { _, _ in }))
    }

    private func header(_ serverVersion: String, _ database: String, _ now: WireDate) -> BackupFormat.Header {
        BackupFormat.Header(
            format: files.isEmpty ? 1 : BackupFormat.version, serverVersion: serverVersion,
            schema: MigrationRunner.newestStep, takenAt: now, database: database)
    }

    private func fill(
        _ file: inout GzipWriter, _ header: BackupFormat.Header, _ progress: (String, Int) -> Void
    ) throws -> BackupFormat.Manifest {
        try file.write(try BackupFormat.line("H", header))
        for one in files { try file.write(try BackupFormat.line("F", one)) }
        var manifest = try store.snapshot { session in
            let unknown = try session.unknownTables()
            guard unknown.isEmpty else { throw BackupError.unknownTables(unknown) }
            return try Self.write(header, &session, &file, progress)
        }
        if !files.isEmpty { manifest.files = Dictionary(uniqueKeysWithValues: files.map { ($0.path, $0.sum) }) }
        try file.write(try BackupFormat.line("M", manifest))
        try file.finish()
        return manifest
    }

    private static func write(
        _ header: BackupFormat.Header, _ session: inout StoreSession, _ file: inout GzipWriter,
        _ progress: (String, Int) -> Void
    ) throws -> BackupFormat.Manifest {
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

/// What a backup contains, and what it does not.
public struct BackupReport: Report {
    /// `-` for standard output.
    public var path: String
    public var manifest: BackupFormat.Manifest
    /// Files of the host that are missing from it, with the reason.
    public var omittedFiles: [String] = []
    /// The names of old backups that were deleted.
    public var deleted: [String] = []

    init(path: String, manifest: BackupFormat.Manifest) {
        self.path = path
        self.manifest = manifest
    }

    public var lines: [String] {
        var lines = ["backup     \(path)"] + manifest.lines
        lines += omittedFiles.map { "OMITTED    \($0)" }
        if !deleted.isEmpty { lines.append("deleted    \(deleted.joined(separator: ", "))") }
        return lines + Self.warnings(manifest)
    }

    /// Warnings for everyone who relies on the file.
    static func warnings(_ manifest: BackupFormat.Manifest) -> [String] {
        let keys = manifest.sealingKeys.joined(separator: ", ")
        return [
            "NOT IN IT  the sealing key\(manifest.sealingKeys.isEmpty ? "" : " (\(keys))"): without it, all stored "
                + "tokens are " + "lost and all owners must sign in again.",
            "           Also not: \(manifest.files == nil ? "the configuration, " : "")other secrets, certificates, "
                + "and people's " + "files; those are in their own storage.",
            "           Keep a copy of \(SetupPaths.secrets) elsewhere, but not with the backup: together they open "
                + "all tokens.",
        ]
    }
}
