import Foundation
import MariaDB
import OpenSSLCrypto
import Providers
import Store
import SyncProtocol
import TestSupport
import Testing
import Vault

@testable import Operations

/// 2027-01-15 08:00:00, when one of the fixture's invitations is still valid.
let noon = WireDate(secondsSince1970: 1_800_000_000)

/// An older server's database and ours, each with its own name on the scratch server.
struct ImportFixture {
    let sourceSettings: ConnectionSettings
    let settings: ConnectionSettings
    let store: MetadataStore
    let sealer: CredentialSealer

    /// - Parameter rows: whether the source contains the rows of `rows.sql`; otherwise it is empty.
    init(rows: Bool = true) throws {
        let server = try ScratchDatabase.shared()
        sourceSettings = try server.makeDatabase()
        settings = try server.makeDatabase { settings in
            var runner = try MigrationRunner(settings, leaseOwner: "test")
            _ = try runner.migrate()
        }
        store = MetadataStore(
            pool: ConnectionPool(settings: settings, maximumConnections: 2, leaseTimeout: .seconds(10)),
            pause: { _ in })
        store.open()
        sealer = CredentialSealer(
            keys: KeyRing(current: try SealingKey(base64: Data(repeating: 7, count: 32).base64EncodedString())))
        try atSource(Self.fixture("schema"))
        if rows { try atSource(Self.fixture("rows")) }
    }

    static func fixture(_ name: String) throws -> String {
        let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/\(name).sql")
        return try String(contentsOf: url, encoding: .utf8)
    }

    /// Changes the older server's data.
    func atSource(_ sql: String) throws {
        var connection = try Connection(sourceSettings)
        try connection.executeScript(sql)
    }

    /// Changes our data behind the server's back.
    func here(_ sql: String) throws {
        var connection = try Connection(settings)
        try connection.executeScript(sql)
    }

    @discardableResult
    func run(dryRun: Bool = false, at time: WireDate = noon) throws -> ImportReport {
        var source = try SourceDatabase(sourceSettings)
        return try Importer(into: store, sealer: sealer, isDryRun: dryRun, now: { time }).run(from: &source)
    }

    /// The rows of a query as lines, columns joined by `|`, NULL as `-`.
    func rows(_ sql: StaticString) throws -> [String] {
        var connection = try Connection(settings)
        var lines: [String] = []
        try connection.query(SQL(stringLiteral: sql)) { (row) throws(MariaDBError) in
            lines.append((0..<row.columnCount).map { row.optionalText($0) ?? "-" }.joined(separator: "|"))
        }
        return lines
    }

    /// The number of columns of our table; a test that compares all columns uses it to detect a new one.
    func columns(of table: String) throws -> Int {
        var connection = try Connection(settings)
        var count = 0
        try connection.query(
            "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?",
            [.text(table)]
        ) { (row) throws(MariaDBError) in count = Int(try row.int(0)) }
        return count
    }

    /// Everything that users can see, without the times of the import itself.
    func contents() throws -> [String] {
        try rows(
            "SELECT user_id, account_type, provider_user_id, display_name, cloud_folder_name FROM users ORDER BY 1")
            + rows("SELECT user_id, device_uuid FROM devices ORDER BY 1, 2")
            + rows("SELECT sharing_group_uuid, name, master_version, is_deleted FROM sharing_groups ORDER BY 1")
            + rows(
                """
                SELECT g.sharing_group_uuid, m.user_id, m.owning_user_id, m.permission
                  FROM memberships m JOIN sharing_groups g USING (sharing_group_id) ORDER BY 1, 2
                """)
            + rows(
                """
                SELECT g.sharing_group_uuid, f.file_uuid, f.owning_user_id, f.storage_type, f.device_uuid, f.mime_type,
                       f.app_metadata, f.app_metadata_version, f.is_deleted, f.file_version, f.check_sum, f.created_at,
                       f.updated_at, f.object_id, f.changed_at_master_version
                  FROM files f JOIN sharing_groups g USING (sharing_group_id) ORDER BY 1, 2
                """)
            + rows("SELECT user_id, device_uuid, file_uuid, kind, file_version FROM staged_changes ORDER BY 1, 2, 3")
            + rows("SELECT invitation_uuid, permission, remaining_acceptors FROM invitations ORDER BY 1")
    }

    func credentials(of user: Int64) throws -> StoredCredentials? {
        guard let sealed = try store.withSession({ try $0.credentials(of: UserID(user)) }) else { return nil }
        return try sealer.open(sealed.record, from: .user(UserID(user)))
    }
}

extension ImportReport {
    /// The rows reported for this reason.
    func rows(_ reason: ImportNote.Reason) -> [String] {
        notes.filter { $0.reason == reason }.map(\.row)
    }
}
