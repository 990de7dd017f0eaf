internal import OpenSSLCrypto

/// One numbered step of the schema; frozen once released.
struct Migration: Equatable {
    /// 1, 2, 3 …, without gaps.
    var version: Int
    var name: String
    var sql: String

    /// Tells whether a step that was applied is still the same text.
    var checksum: [UInt8] {
        IncrementalDigest.digest(of: Array(sql.utf8), .sha256)
    }

    /// All steps, in order. A new file in `Migrations` is added here.
    static let all = [
        Migration(version: 1, name: "initial", sql: String(decoding: PackageResources._001_initial_sql, as: UTF8.self))
    ]
}
