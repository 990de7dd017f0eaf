internal import OpenSSLCrypto
internal import Posix

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

    /// Add each new file in `Migrations` here.
    private static let released = [
        Migration(version: 1, name: "initial", sql: String(decoding: PackageResources._001_initial_sql, as: UTF8.self)),
        Migration(
            version: 2, name: "refresh_leases",
            sql: String(decoding: PackageResources._002_refresh_leases_sql, as: UTF8.self)),
        Migration(
            version: 3, name: "push", sql: String(decoding: PackageResources._003_push_sql, as: UTF8.self)),
        Migration(
            version: 4, name: "extensions", sql: String(decoding: PackageResources._004_extensions_sql, as: UTF8.self)),
        Migration(
            version: 5, name: "content_hashes",
            sql: String(decoding: PackageResources._005_content_hashes_sql, as: UTF8.self)),
        Migration(
            version: 6, name: "imports", sql: String(decoding: PackageResources._006_imports_sql, as: UTF8.self)),
        Migration(
            version: 7, name: "revocations",
            sql: String(decoding: PackageResources._007_revocations_sql, as: UTF8.self)),
        Migration(
            version: 8, name: "departures", sql: String(decoding: PackageResources._008_departures_sql, as: UTF8.self)),
        Migration(
            version: 9, name: "request_ids",
            sql: String(decoding: PackageResources._009_request_ids_sql, as: UTF8.self)),
        Migration(
            version: 10, name: "credential_marks",
            sql: String(decoding: PackageResources._010_credential_marks_sql, as: UTF8.self)),
        Migration(
            version: 11, name: "quotas", sql: String(decoding: PackageResources._011_quotas_sql, as: UTF8.self)),
        Migration(
            version: 12, name: "named_servers",
            sql: String(decoding: PackageResources._012_named_servers_sql, as: UTF8.self)),
        Migration(
            version: 13, name: "replaced_versions",
            sql: String(decoding: PackageResources._013_replaced_versions_sql, as: UTF8.self)),
        Migration(
            version: 14, name: "pages_and_checks",
            sql: String(decoding: PackageResources._014_pages_and_checks_sql, as: UTF8.self)),
        Migration(
            version: 15, name: "told_and_keys",
            sql: String(decoding: PackageResources._015_told_and_keys_sql, as: UTF8.self)),
        Migration(
            version: 16, name: "resumable_uploads",
            sql: String(decoding: PackageResources._016_resumable_uploads_sql, as: UTF8.self)),
        Migration(
            version: 17, name: "account_switches",
            sql: String(decoding: PackageResources._017_account_switches_sql, as: UTF8.self)),
        Migration(
            version: 18, name: "account_moves",
            sql: String(decoding: PackageResources._018_account_moves_sql, as: UTF8.self)),
        Migration(
            version: 19, name: "direct_uploads",
            sql: String(decoding: PackageResources._019_direct_uploads_sql, as: UTF8.self)),
        Migration(
            version: 20, name: "restore_marks",
            sql: String(decoding: PackageResources._020_restore_marks_sql, as: UTF8.self)),
        Migration(
            version: 21, name: "push_topics",
            sql: String(decoding: PackageResources._021_push_topics_sql, as: UTF8.self)),
        Migration(
            version: 22, name: "switch_undo",
            sql: String(decoding: PackageResources._022_switch_undo_sql, as: UTF8.self)),
        Migration(
            version: 23, name: "collations",
            sql: String(decoding: PackageResources._023_collations_sql, as: UTF8.self)),
    ]
}
