import Foundation
import MariaDB
import OpenSSLCrypto
import Providers
import Store
import SyncProtocol
import TestSupport
import Vault

/// The test's own empty, migrated database, or one with a small, consistent population.
struct AdministrationFixture: Sendable {
    let settings: ConnectionSettings
    let store: MetadataStore
    let keys = KeyRing(current: try! SealingKey([UInt8](repeating: 7, count: 32)))

    var sealer: CredentialSealer { CredentialSealer(keys: keys) }

    init(migrated: Bool = true, populated: Bool = true) throws {
        let server = try ScratchDatabase.shared()
        settings =
            try migrated
            ? server.makeDatabase { settings in
                var runner = try MigrationRunner(settings, leaseOwner: "test")
                _ = try runner.migrate()
            } : server.makeDatabase()
        store = MetadataStore(
            pool: ConnectionPool(settings: settings, maximumConnections: 4, leaseTimeout: .seconds(30)),
            pause: { Thread.sleep(forTimeInterval: Double($0.components.attoseconds) / 1e18) })
        store.open()
        if migrated && populated { try populate() }
    }

    static let alice = UserID(1)
    static let bob = UserID(2)
    static let group = "AAAAAAAA-0000-4000-8000-000000000001"
    static let photo = FileUUID("F0F0F0F0-0000-4000-8000-000000000001")!
    static let device = "DDDDDDDD-0000-4000-8000-000000000001"
    static let now = WireDate(secondsSince1970: 1_800_000_000)

    /// Alice has storage and a group; Bob is her guest. There is a photo with one version, a deleted text, a change
    /// that Bob has staged, an invitation, and pending work.
    private func populate() throws {
        try run(
            """
            INSERT INTO users (user_id, account_type, provider_user_id, display_name, cloud_folder_name, created_at)
            VALUES (1, 'Google', 'g-1', 'Alice Example', 'Folder', '2026-01-01'),
                   (2, 'Facebook', 'f-2', 'Bob Example', NULL, '2026-01-02');
            INSERT INTO devices VALUES (1, '\(Self.device)', '2026-01-01'),
                   (2, 'DDDDDDDD-0000-4000-8000-000000000002', '2026-01-02');
            INSERT INTO sharing_groups (sharing_group_id, sharing_group_uuid, name, master_version, created_at)
            VALUES (1, '\(Self.group)', 'Holidays', 5, '2026-01-01');
            INSERT INTO memberships VALUES (1, 1, NULL, 'admin', NULL, '2026-01-01'),
                   (1, 2, 1, 'write', NULL, '2026-01-02');
            INSERT INTO invitations
            VALUES ('EEEEEEEE-0000-4000-8000-000000000001', 1, 1, 1, 'write', TRUE, 1, '2099-01-01');
            INSERT INTO files
                   (sharing_group_id, file_uuid, owning_user_id, storage_type, device_uuid, created_at, updated_at,
                    mime_type, is_deleted, file_version, check_sum, sha256, size_bytes, object_id,
                    changed_at_master_version)
            VALUES (1, '\(Self.photo.rawValue)', 1, 'Google', '\(Self.device)', '2026-02-01', '2026-02-01',
                    'image/jpeg', FALSE, 0, REPEAT('a', 32), REPEAT('s', 32), 2048, 'object-1', 4),
                   (1, 'F0F0F0F0-0000-4000-8000-000000000002', 1, 'Google', '\(Self.device)', '2026-02-01',
                    '2026-02-02', 'text/plain', TRUE, 1, REPEAT('b', 32), REPEAT('t', 32), 11, NULL, 5);
            INSERT INTO staged_changes
                   (user_id, device_uuid, sharing_group_id, file_uuid, kind, app_metadata, app_metadata_version, staged_at)
            VALUES (2, 'DDDDDDDD-0000-4000-8000-000000000002', 1, '\(Self.photo.rawValue)', 'metadata', '{}', 0,
                    '2026-03-01');
            INSERT INTO outbox (kind, user_id, storage_type, object_id, available_at, created_at)
            VALUES ('deleteObject', 1, 'Google', 'object-0', '2026-02-02', '2026-02-02');
            """)
        try seal(StoredCredentials(accessToken: "secret-access", refreshToken: "secret-refresh"), for: Self.alice)
    }

    func seal(_ credentials: StoredCredentials, for user: UserID, with sealer: CredentialSealer? = nil) throws {
        let record = try (sealer ?? self.sealer).seal(credentials, for: .user(user))
        _ = try store.transaction { try $0.storeCredentials(record, of: user) }
    }

    /// Runs hand-written statements with foreign keys off.
    func run(_ sql: String) throws {
        var connection = try Connection(settings)
        try connection.executeScript("SET foreign_key_checks = 0;\n" + sql)
    }

    /// The first number in a query's first row.
    func number(_ sql: StaticString) throws -> Int {
        var connection = try Connection(settings)
        var number = -1
        try connection.query(SQL(stringLiteral: sql)) { (row) throws(MariaDBError) in number = Int(try row.int(0)) }
        return number
    }
}
