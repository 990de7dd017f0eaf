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

    /// Checks format, sums and counts.
    /// - Throws: ``BackupError``, `GzipError`.
    public func verify() throws -> VerificationReport {
        VerificationReport(path: path, manifest: try BackupReader(path: path).verify(), restoredInto: nil)
    }

    /// Restores it into a scratch database, checks every rule there, and removes all of it again.
    ///
    /// - Parameter settings: of a database that is empty, or has no tables at all.
    /// - Throws: ``RestoreError`` if it is not, and nothing was touched; ``BackupError``, ``StoreError``.
    public func verify(
        restoringInto settings: ConnectionSettings, sealer: CredentialSealer
    ) throws -> VerificationReport {
        let store = MetadataStore(
            pool: ConnectionPool(settings: settings, maximumConnections: 1, leaseTimeout: .seconds(30)),
            pause: { Pause.sleep($0) })
        store.open()
        try store.withSession { try $0.requireEmpty() }
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
