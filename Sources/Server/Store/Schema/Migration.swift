public import MariaDB
import OpenSSLCrypto
import Posix

/// One numbered migration of the schema; frozen once released.
struct Migration: Equatable {
    /// 1, 2, 3 …, without gaps.
    var version: Int
    var name: String
    var sql: String

    /// Detects whether an applied migration still has the same text.
    var checksum: [UInt8] {
        IncrementalDigest.digest(of: Array(sql.utf8), .sha256)
    }

    /// All migrations, in order.
    static let all = released + trial

    #if DEBUG
        /// Debug builds know one more migration, the next one, if its text exists: for the upgrade test, in which they
        /// are the next release.
        private static let trial: [Migration] = {
            guard let text = try? TextFile.read("/usr/share/syncserver/trial-migration.sql") else { return [] }
            return [Migration(version: released.count + 1, name: "trial", sql: String(decoding: text, as: UTF8.self))]
        }()
    #else
        private static let trial: [Migration] = []
    #endif

    /// Add each new file in `Migrations` here: the place in the list is its number.
    private static let released: [Migration] = {
        let files: [(name: String, text: [UInt8])] = [
            ("initial", PackageResources._001_initial_sql),
            ("refresh_leases", PackageResources._002_refresh_leases_sql),
            ("push", PackageResources._003_push_sql),
            ("extensions", PackageResources._004_extensions_sql),
            ("content_hashes", PackageResources._005_content_hashes_sql),
            ("imports", PackageResources._006_imports_sql),
            ("revocations", PackageResources._007_revocations_sql),
            ("departures", PackageResources._008_departures_sql),
            ("request_ids", PackageResources._009_request_ids_sql),
            ("credential_marks", PackageResources._010_credential_marks_sql),
            ("quotas", PackageResources._011_quotas_sql),
            ("named_servers", PackageResources._012_named_servers_sql),
            ("replaced_versions", PackageResources._013_replaced_versions_sql),
            ("pages_and_checks", PackageResources._014_pages_and_checks_sql),
            ("told_and_keys", PackageResources._015_told_and_keys_sql),
            ("resumable_uploads", PackageResources._016_resumable_uploads_sql),
            ("account_switches", PackageResources._017_account_switches_sql),
            ("account_moves", PackageResources._018_account_moves_sql),
            ("direct_uploads", PackageResources._019_direct_uploads_sql),
            ("restore_marks", PackageResources._020_restore_marks_sql),
            ("push_topics", PackageResources._021_push_topics_sql),
            ("switch_undo", PackageResources._022_switch_undo_sql),
            ("collations", PackageResources._023_collations_sql),
            ("change_signals", PackageResources._024_change_signals_sql),
            ("manifests", PackageResources._025_manifests_sql),
            ("rebuild", PackageResources._026_rebuild_sql),
        ]
        return files.enumerated().map { place, file in
            Migration(version: place + 1, name: file.name, sql: String(decoding: file.text, as: UTF8.self))
        }
    }()
}

/// Migrates the database's schema to the version that this program needs, and verifies it.
public struct MigrationRunner: ~Copyable {
    private var connection: Connection
    private let leaseOwner: String

    /// How long a process may be silent before another one takes over its migration, in seconds.
    private static let leaseSeconds: Int64 = 600

    /// The tables in which the runner records its work; they exist before any migration.
    static let bookkeeping = """
        CREATE TABLE IF NOT EXISTS schema_migrations (
            version    INT NOT NULL PRIMARY KEY,
            name       VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci NOT NULL,
            checksum   BINARY(32) NOT NULL,
            applied_at DATETIME NOT NULL
        ) ENGINE = InnoDB;
        CREATE TABLE IF NOT EXISTS schema_lease (
            lease_id   INT NOT NULL PRIMARY KEY,
            owner      VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci NULL,
            held_until DATETIME NOT NULL
        ) ENGINE = InnoDB;
        INSERT IGNORE INTO schema_lease (lease_id, owner, held_until) VALUES (1, NULL, '2000-01-01 00:00:00');
        """

    /// - Parameter leaseOwner: a string that no other process uses.
    public init(_ settings: ConnectionSettings, leaseOwner: String) throws(StoreError) {
        do { connection = try Connection(settings) } catch { throw StoreError(error) }
        self.leaseOwner = leaseOwner
    }

    /// The number of the newest migration that this program knows.
    public static var newestStep: Int { Migration.all.last?.version ?? 0 }

    /// Applies the missing migrations.
    ///
    /// Idempotent, and safe to run on several hosts at once: a committed lease row decides which process runs
    /// (`GET_LOCK` would be local to a node of a cluster, and DDL commits row locks). MariaDB commits DDL at once, so
    /// each file is safe to run again after a crash in the middle.
    /// - Parameter last: the number of the last migration to apply; later ones are left for another call.
    /// - Returns: the names of the migrations that were applied by this call.
    /// - Throws: ``MigrationError`` if another process is already migrating or an applied migration differs from the
    ///   known one; ``StoreError``.
    public mutating func migrate(through last: Int = .max) throws -> [String] {
        try translate { connection throws(MariaDBError) in try connection.executeScript(Self.bookkeeping) }
        guard try takeLease() else { throw MigrationError.inProgressElsewhere }
        // Released after a failure as well; otherwise the next attempt would have to wait until it expires.
        let outcome = Result { try applyMissing(through: last) }
        let release = Result { try releaseLease() }
        let applied = try outcome.get()
        try release.get()
        return applied
    }

    private mutating func applyMissing(through last: Int) throws -> [String] {
        var applied: [String] = []
        let present = try presentVersions()
        for migration in Migration.all where migration.version <= last && !present.contains(migration.version) {
            try translate { connection throws(MariaDBError) in
                try connection.executeScript(migration.sql)
                try connection.execute(
                    "INSERT INTO schema_migrations (version, name, checksum, applied_at) VALUES (?, ?, ?, UTC_TIMESTAMP())",
                    [.int(Int64(migration.version)), .text(migration.name), .bytes(migration.checksum)])
            }
            applied.append(migration.name)
        }
        return applied
    }

    /// Checks that the schema is exactly the one that this program needs.
    /// - Throws: ``MigrationError`` if it is older, newer, or was altered; ``StoreError``.
    public mutating func verify() throws {
        let present: Set<Int>
        do {
            present = try presentVersions()
        } catch StoreError.defect, StoreError.denied {
            // The table does not exist. If an account has privileges on single tables only, the database reports only
            // that the account has none on this table.
            throw MigrationError.outdated(missing: Migration.all.map(\.name))
        }
        let missing = Migration.all.filter { !present.contains($0.version) }
        guard missing.isEmpty else { throw MigrationError.outdated(missing: missing.map(\.name)) }
        let known = Set(Migration.all.map(\.version))
        guard present.isSubset(of: known) else { throw MigrationError.newer(present.subtracting(known).sorted()) }
    }

    private mutating func takeLease() throws -> Bool {
        let owner = leaseOwner
        return try translate { connection throws(MariaDBError) in
            try connection.execute(
                """
                UPDATE schema_lease
                   SET owner = ?, held_until = UTC_TIMESTAMP() + INTERVAL ? SECOND
                 WHERE lease_id = 1
                   AND (owner IS NULL OR owner = ? OR held_until < UTC_TIMESTAMP())
                """,
                [.text(owner), .int(Self.leaseSeconds), .text(owner)]
            ).affectedRows == 1
        }
    }

    private mutating func releaseLease() throws {
        let owner = leaseOwner
        try translate { connection throws(MariaDBError) in
            _ = try connection.execute(
                "UPDATE schema_lease SET owner = NULL WHERE lease_id = 1 AND owner = ?", [.text(owner)])
        }
    }

    private mutating func presentVersions() throws -> Set<Int> {
        var present: [Int: [UInt8]] = [:]
        try translate { connection throws(MariaDBError) in
            try connection.query("SELECT version, checksum FROM schema_migrations") { row throws(MariaDBError) in
                present[Int(try row.int(0))] = try row.bytes(1)
            }
        }
        for migration in Migration.all {
            if let checksum = present[migration.version], checksum != migration.checksum {
                throw MigrationError.altered(migration.name)
            }
        }
        return Set(present.keys)
    }

    private mutating func translate<Result>(
        _ body: (inout Connection) throws(MariaDBError) -> Result
    ) throws -> Result {
        do throws(MariaDBError) { return try body(&connection) } catch { throw StoreError(error) }
    }
}

/// Why the schema cannot be used or changed.
public enum MigrationError: Error, Equatable, CustomStringConvertible {
    /// Another process is migrating now.
    case inProgressElsewhere
    /// Migrations are missing: run `syncctl migrate`.
    case outdated(missing: [String])
    /// The database has migrations that this program does not know: the program is too old for the database.
    case newer([Int])
    /// An applied migration has a different text than the known one.
    case altered(String)

    public var description: String {
        switch self {
        case .inProgressElsewhere: "another process is migrating the database; retry when it has finished"
        case .outdated(let missing):
            "schema steps are missing from the database: \(missing.joined(separator: ", ")); run `syncctl migrate`"
        case .newer(let versions):
            "the database has steps that this program does not know (\(versions)); install the newer release"
        case .altered(let name): "step \(name) of the schema was applied with a text that differs from the released one"
        }
    }
}
