import FoundationEssentials
import Gzip
public import MariaDB
import OpenSSLCrypto
import Posix
import Store
import SyncProtocol
public import Vault

/// Reads a backup from beginning to end and checks all its sums and counts.
public struct BackupReader {
    /// The number of rows passed on at a time.
    private static let page = 200
    /// The approximate number of bytes of lines passed on at a time.
    private static let pageBytes = 512 * 1_024

    private let path: String

    public init(path: String) {
        self.path = path
    }

    /// Reads and checks the backup, and discards the rows.
    /// - Throws: ``BackupError``, `GzipError`.
    public func verify() throws -> BackupFormat.Manifest { try read { _, _, _ in } }

    /// The header from the first line. `nil` if the file is not a backup, or is from a newer release.
    public func header() -> BackupFormat.Header? {
        guard var reader = try? GzipLineReader(reading: path), let first = try? reader.next() else { return nil }
        return try? Self.header(first)
    }

    /// Reads and checks the backup, and discards the rows.
    /// - Returns: the manifest, and the files of the host.
    /// - Throws: ``BackupError``, `GzipError`.
    public func examine() throws -> (manifest: BackupFormat.Manifest, files: [HostFile]) {
        var files: [HostFile] = []
        let manifest = try read(files: { files.append($0) }, rows: { _, _, _ in })
        return (manifest, files)
    }

    /// Passes on the rows, in pages of one table, in the order in which they can be inserted.
    ///
    /// The rows are verified only when this returns: first read the backup once without side effects.
    /// - Throws: ``BackupError``, `GzipError`, or what `body` throws.
    func read(
        _ body: (StoredTable, [StoredColumn], [[StoredValue]]) throws -> Void
    ) throws -> BackupFormat.Manifest {
        try read(files: { _ in }, rows: body)
    }

    private func read(
        files: (HostFile) -> Void, rows body: (StoredTable, [StoredColumn], [[StoredValue]]) throws -> Void
    ) throws -> BackupFormat.Manifest {
        var reader = try GzipLineReader(reading: path)
        guard let first = try reader.next() else { throw BackupError.notABackup }
        let header = try Self.header(first)
        guard header.schema <= MigrationRunner.newestStep else {
            throw BackupError.schemaTooNew(header.schema, known: MigrationRunner.newestStep)
        }
        var ends: [String: BackupFormat.TableEnd] = [:]
        var fileSums: [String: String] = [:]
        var number = 1
        while let line = try reader.next() {
            number += 1
            switch line.first {
            case UInt8(ascii: "F"):
                guard let file: HostFile = Self.decode(line), fileSums.updateValue(file.sum, forKey: file.path) == nil
                else { throw BackupError.malformed(line: number) }
                files(file)
            case UInt8(ascii: "T"):
                guard let table: BackupFormat.Table = Self.decode(line), ends[table.table.rawValue] == nil else {
                    throw BackupError.malformed(line: number)
                }
                ends[table.table.rawValue] = try Self.rows(of: table, &reader, &number, body)
            case UInt8(ascii: "M"):
                guard let manifest: BackupFormat.Manifest = Self.decode(line), manifest.header == header,
                    manifest.parts.mapValues({ BackupFormat.TableEnd(rows: $0.rows, sha256: $0.sha256) }) == ends,
                    manifest.files ?? [:] == fileSums, try reader.next() == nil
                else { throw BackupError.malformed(line: number) }
                return manifest
            default: throw BackupError.malformed(line: number)
            }
        }
        throw BackupError.cutShort
    }

    private static func header(_ line: [UInt8]) throws -> BackupFormat.Header {
        guard line.starts(with: Array("H {".utf8)), let header: BackupFormat.Header = decode(line) else {
            throw BackupError.notABackup
        }
        guard header.format <= BackupFormat.version else { throw BackupError.formatTooNew(header.format) }
        return header
    }

    private static func rows(
        of table: BackupFormat.Table, _ reader: inout GzipLineReader, _ number: inout Int,
        _ body: (StoredTable, [StoredColumn], [[StoredValue]]) throws -> Void
    ) throws -> BackupFormat.TableEnd {
        var digest = IncrementalDigest(.sha256)
        var count = 0
        var page: [[StoredValue]] = []
        var pageBytes = 0
        while let line = try reader.next() {
            number += 1
            if line.first == UInt8(ascii: "E") {
                if !page.isEmpty { try body(table.table, table.columns, page) }
                let sum = digest.finish().hexLowercase
                guard let end: BackupFormat.TableEnd = decode(line) else { throw BackupError.malformed(line: number) }
                let found = BackupFormat.TableEnd(rows: count, sha256: sum)
                guard end == found else { throw BackupError.wrongSum(table: table.table.rawValue) }
                return found
            }
            guard line.starts(with: Array("R ".utf8)),
                let values = BackupFormat.values(line.dropFirst(2), table.columns)
            else { throw BackupError.malformed(line: number) }
            digest.update(line + [UInt8(ascii: "\n")])
            count += 1
            page.append(values)
            pageBytes += line.count
            if page.count >= Self.page || pageBytes >= Self.pageBytes {
                try body(table.table, table.columns, page)
                page = []
                pageBytes = 0
            }
        }
        throw BackupError.cutShort
    }

    private static func decode<Value: Decodable>(_ line: [UInt8]) -> Value? {
        try? JSONDecoder().decode(Value.self, from: Data(line.dropFirst(2)))
    }
}

/// Proves that a backup can be restored.
public struct BackupVerifier {
    private let path: String

    public init(path: String) {
        self.path = path
    }

    /// Checks format, sums and counts, and that it contains only permitted host files.
    /// - Throws: ``BackupError``, `GzipError`.
    public func verify() throws -> VerificationReport {
        let (manifest, files) = try BackupReader(path: path).examine()
        try Self.requireFilesOfServer(files)
        return VerificationReport(path: path, manifest: manifest, restoredInto: nil)
    }

    /// A restoration skips such a file, but its presence shows that somebody has changed the backup.
    private static func requireFilesOfServer(_ files: [HostFile]) throws(BackupError) {
        let foreign = files.map(\.path).filter { !HostFiles.allows($0) }
        if !foreign.isEmpty { throw .foreignFiles(foreign) }
    }

    /// Restores it into a scratch database, checks every rule there, and empties the database again.
    ///
    /// - Parameter settings: those of a database that is empty or has no tables.
    /// - Throws: ``RestoreError`` if the database is not empty; it is then unchanged. ``BackupError``, ``StoreError``.
    public func verify(
        restoringInto settings: ConnectionSettings, sealer: CredentialSealer
    ) throws -> VerificationReport {
        let store = MetadataStore(
            pool: ConnectionPool(settings: settings, maximumConnections: 1, leaseTimeout: .seconds(30)),
            pause: { Pause.sleep($0) })
        store.open()
        try store.withSession { try $0.requireEmpty() }
        try Self.requireFilesOfServer(try BackupReader(path: path).examine().files)
        let outcome = Result {
            let restored = try Restorer(into: settings).restore(path)
            let findings = try Fsck(store: store, sealer: sealer, rowLimit: 10).run()
            return VerificationReport(
                path: path, manifest: restored.manifest, restoredInto: settings.database, findings: findings)
        }
        try store.withSession { try $0.dropAllTables() }
        return try outcome.get()
    }
}

/// The result of a verification.
public struct VerificationReport: Report {
    public var path: String
    public var manifest: BackupFormat.Manifest
    /// The scratch database into which the backup was restored; absent if only sums and counts were checked.
    public var restoredInto: String?

    /// The findings of `fsck` in the scratch database; empty without one.
    public var findings: [Finding]

    init(
        path: String, manifest: BackupFormat.Manifest, restoredInto: String?, findings: [Finding] = []
    ) {
        self.path = path
        self.manifest = manifest
        self.restoredInto = restoredInto
        self.findings = findings
    }

    /// Whether the contents are consistent. A backup with findings is complete, but somebody has to investigate.
    public var isGood: Bool { findings.allSatisfy { $0.severity == .note } }

    public var lines: [String] {
        let how = restoredInto.map { "restored into \($0) with all rows" } ?? "all checksums and counts are correct"
        var lines = ["GOOD       \(path): \(how)"] + manifest.lines + BackupReport.warnings(manifest)
        if restoredInto != nil { lines += FsckReport(findings: findings).lines }
        return lines
    }
}

extension StoreSession {
    /// Drops all tables of this server. For scratch databases, after ``requireEmpty()`` has confirmed that they contain
    /// no data.
    fileprivate mutating func dropAllTables() throws(StoreError) {
        for table in StoredTable.allCases.reversed() {
            try executeScript("DROP TABLE IF EXISTS `\(table.rawValue)`")
        }
        for table in StoredTable.bookkeeping { try executeScript("DROP TABLE IF EXISTS `\(table)`") }
    }
}
