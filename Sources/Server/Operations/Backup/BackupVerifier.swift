public import MariaDB
import Posix
import Store
public import Vault

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
