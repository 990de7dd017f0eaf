import MariaDB
import OpenSSLCrypto
public import Store
import SyncProtocol

/// The tables that a backup must contain, in the order in which their rows can be inserted.
///
/// Not included: the bookkeeping of migrations, which a restored database creates itself.
public enum StoredTable: String, CaseIterable, Sendable, Codable {
    case users
    case departedUsers = "departed_users"
    case retiredAccounts = "retired_accounts"
    case deviceGrants = "device_grants"
    case accountSwitches = "account_switches"
    case accountMoves = "account_moves"
    case movingContents = "moving_contents"
    case formerContents = "former_contents"
    case formerOwners = "former_owners"
    case devices
    case sharingGroups = "sharing_groups"
    case memberships
    case invitations
    case files
    case stagedChanges = "staged_changes"
    case batches
    case commits
    case commitMembers = "commit_members"
    case outbox
    case exchangedCodes = "exchanged_codes"
    case quotaWindows = "quota_windows"
    case appleNotices = "apple_notices"
    case pushRegistrations = "push_registrations"
    case contentHashes = "content_hashes"
    case indexPages = "index_pages"
    case manifestKeys = "manifest_keys"
    case rebuilds
    case rebuildVisits = "rebuild_visits"
    case rebuildGroups = "rebuild_groups"
    case rebuildMembers = "rebuild_members"
    case rebuildFiles = "rebuild_files"
    case rebuildClaims = "rebuild_claims"
    case rebuildAwaited = "rebuild_awaited"
    case goneContents = "gone_contents"
    case restorations
    case importedUsers = "imported_users"
    case importedGroups = "imported_groups"

    /// Tables that are recreated with the schema, and tables that concern only one database. An upload in pieces starts
    /// again after a restore, because its session has continued since the backup. Manifests are written again, because
    /// the recorded ones have been replaced since the backup.
    static let bookkeeping = [
        "schema_migrations", "schema_lease", "cloud_checks", "key_holders", "resumable_uploads", "change_signals",
        "manifests", "manifest_scans", "manifest_members",
    ]

    /// All rows in the order of the primary key, so that two backups of the same rows are identical.
    var rows: SQL {
        switch self {
        case .users: "SELECT * FROM users ORDER BY user_id"
        case .departedUsers: "SELECT * FROM departed_users ORDER BY user_id"
        case .retiredAccounts: "SELECT * FROM retired_accounts ORDER BY account_type, provider_user_id"
        case .deviceGrants: "SELECT * FROM device_grants ORDER BY grant_hash"
        case .accountSwitches: "SELECT * FROM account_switches ORDER BY switch_uuid"
        case .accountMoves: "SELECT * FROM account_moves ORDER BY switch_uuid"
        case .movingContents: "SELECT * FROM moving_contents ORDER BY switch_uuid, sharing_group_id, file_uuid"
        case .formerContents: "SELECT * FROM former_contents ORDER BY switch_uuid, sharing_group_id, file_uuid"
        case .formerOwners: "SELECT * FROM former_owners ORDER BY switch_uuid, sharing_group_id"
        case .devices: "SELECT * FROM devices ORDER BY user_id, device_uuid"
        case .sharingGroups: "SELECT * FROM sharing_groups ORDER BY sharing_group_id"
        case .memberships: "SELECT * FROM memberships ORDER BY sharing_group_id, user_id"
        case .invitations: "SELECT * FROM invitations ORDER BY invitation_uuid"
        case .files: "SELECT * FROM files ORDER BY sharing_group_id, file_uuid"
        case .stagedChanges:
            "SELECT * FROM staged_changes ORDER BY user_id, device_uuid, sharing_group_id, file_uuid"
        case .batches: "SELECT * FROM batches ORDER BY user_id, device_uuid, sharing_group_id, batch_uuid"
        case .commits: "SELECT * FROM commits ORDER BY user_id, device_uuid, sharing_group_id, commit_id"
        case .commitMembers:
            "SELECT * FROM commit_members ORDER BY user_id, device_uuid, sharing_group_id, commit_id, file_uuid"
        case .outbox: "SELECT * FROM outbox ORDER BY outbox_id"
        case .exchangedCodes: "SELECT * FROM exchanged_codes ORDER BY code_hash"
        case .quotaWindows: "SELECT * FROM quota_windows ORDER BY account_hash, quota"
        case .appleNotices: "SELECT * FROM apple_notices ORDER BY identifier_hash"
        case .pushRegistrations: "SELECT * FROM push_registrations ORDER BY registration_id"
        case .contentHashes: "SELECT * FROM content_hashes ORDER BY user_id, object_id"
        case .indexPages: "SELECT * FROM index_pages ORDER BY user_id"
        case .manifestKeys: "SELECT * FROM manifest_keys ORDER BY public_key"
        case .rebuilds: "SELECT * FROM rebuilds ORDER BY rebuild_id"
        case .rebuildVisits: "SELECT * FROM rebuild_visits ORDER BY account_type, provider_user_id"
        case .rebuildGroups: "SELECT * FROM rebuild_groups ORDER BY sharing_group_id"
        case .rebuildMembers: "SELECT * FROM rebuild_members ORDER BY sharing_group_id, former_user_id"
        case .rebuildFiles: "SELECT * FROM rebuild_files ORDER BY sharing_group_id, file_uuid"
        case .rebuildClaims: "SELECT * FROM rebuild_claims ORDER BY sharing_group_uuid, user_id, digest"
        case .rebuildAwaited: "SELECT * FROM rebuild_awaited ORDER BY stated_by, user_id, sharing_group_uuid"
        case .goneContents: "SELECT * FROM gone_contents ORDER BY sharing_group_id, file_uuid, reason"
        case .restorations: "SELECT * FROM restorations ORDER BY backup_taken_at, restored_at"
        case .importedUsers: "SELECT * FROM imported_users ORDER BY source_user_id"
        case .importedGroups: "SELECT * FROM imported_groups ORDER BY sharing_group_id"
        }
    }

    /// Whether there is at least one row.
    var anyRow: SQL {
        switch self {
        case .users: "SELECT 1 FROM users LIMIT 1"
        case .departedUsers: "SELECT 1 FROM departed_users LIMIT 1"
        case .retiredAccounts: "SELECT 1 FROM retired_accounts LIMIT 1"
        case .deviceGrants: "SELECT 1 FROM device_grants LIMIT 1"
        case .accountSwitches: "SELECT 1 FROM account_switches LIMIT 1"
        case .accountMoves: "SELECT 1 FROM account_moves LIMIT 1"
        case .movingContents: "SELECT 1 FROM moving_contents LIMIT 1"
        case .formerContents: "SELECT 1 FROM former_contents LIMIT 1"
        case .formerOwners: "SELECT 1 FROM former_owners LIMIT 1"
        case .devices: "SELECT 1 FROM devices LIMIT 1"
        case .sharingGroups: "SELECT 1 FROM sharing_groups LIMIT 1"
        case .memberships: "SELECT 1 FROM memberships LIMIT 1"
        case .invitations: "SELECT 1 FROM invitations LIMIT 1"
        case .files: "SELECT 1 FROM files LIMIT 1"
        case .stagedChanges: "SELECT 1 FROM staged_changes LIMIT 1"
        case .batches: "SELECT 1 FROM batches LIMIT 1"
        case .commits: "SELECT 1 FROM commits LIMIT 1"
        case .commitMembers: "SELECT 1 FROM commit_members LIMIT 1"
        case .outbox: "SELECT 1 FROM outbox LIMIT 1"
        case .exchangedCodes: "SELECT 1 FROM exchanged_codes LIMIT 1"
        case .quotaWindows: "SELECT 1 FROM quota_windows LIMIT 1"
        case .appleNotices: "SELECT 1 FROM apple_notices LIMIT 1"
        case .pushRegistrations: "SELECT 1 FROM push_registrations LIMIT 1"
        case .contentHashes: "SELECT 1 FROM content_hashes LIMIT 1"
        case .indexPages: "SELECT 1 FROM index_pages LIMIT 1"
        case .manifestKeys: "SELECT 1 FROM manifest_keys LIMIT 1"
        case .rebuilds: "SELECT 1 FROM rebuilds LIMIT 1"
        case .rebuildVisits: "SELECT 1 FROM rebuild_visits LIMIT 1"
        case .rebuildGroups: "SELECT 1 FROM rebuild_groups LIMIT 1"
        case .rebuildMembers: "SELECT 1 FROM rebuild_members LIMIT 1"
        case .rebuildFiles: "SELECT 1 FROM rebuild_files LIMIT 1"
        case .rebuildClaims: "SELECT 1 FROM rebuild_claims LIMIT 1"
        case .rebuildAwaited: "SELECT 1 FROM rebuild_awaited LIMIT 1"
        case .goneContents: "SELECT 1 FROM gone_contents LIMIT 1"
        case .restorations: "SELECT 1 FROM restorations LIMIT 1"
        case .importedUsers: "SELECT 1 FROM imported_users LIMIT 1"
        case .importedGroups: "SELECT 1 FROM imported_groups LIMIT 1"
        }
    }
}

/// A column of a table, as a backup describes it.
public struct StoredColumn: Equatable, Sendable, Codable {
    public enum Kind: String, Sendable, Codable {
        case integer
        /// Includes dates and enumeration values.
        case text
        case bytes
    }

    public var name: String
    public var kind: Kind

    public init(name: String, kind: Kind) {
        self.name = name
        self.kind = kind
    }
}

/// One value of a row.
public enum StoredValue: Equatable, Sendable {
    case null
    case integer(Int64)
    case text(String)
    case bytes([UInt8])
}

/// Why rows cannot be restored.
public enum RestoreError: Error, Equatable, CustomStringConvertible {
    /// The database is not empty.
    case databaseNotEmpty(table: String)
    /// The database has a table that does not belong to this server.
    case foreignTable(String)
    /// The backup has a column that its schema version does not have.
    case unknownColumn(table: String, column: String)

    public var description: String {
        switch self {
        case .databaseNotEmpty(let table):
            "the database is not empty: it has rows in \(table); a backup can only be restored into an empty database"
        case .foreignTable(let table): "the database has a table that does not belong to this server: \(table)"
        case .unknownColumn(let table, let column): "the schema has no column \(column) in \(table)"
        }
    }
}

// Exports and imports whole tables for backups, without interpreting their columns.
extension StoreSession {
    /// The columns of a table, in the order in which ``readRows(of:_:_:)`` returns their values.
    public mutating func columns(of table: StoredTable) throws(StoreError) -> [StoredColumn] {
        try all(
            """
            SELECT column_name, data_type
              FROM information_schema.COLUMNS
             WHERE table_schema = DATABASE()
               AND table_name = ?
             ORDER BY ordinal_position
            """, [.text(table.rawValue)]
        ) { row throws(StoreError) in
            let kind: StoredColumn.Kind =
                switch try row.string(1) {
                case "tinyint", "smallint", "mediumint", "int", "bigint": .integer
                case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob": .bytes
                default: .text
                }
            return StoredColumn(name: try row.string(0), kind: kind)
        }
    }

    /// Passes every row of a table to the closure; call it in one snapshot for all tables.
    public mutating func readRows(
        of table: StoredTable, _ columns: [StoredColumn], _ body: ([StoredValue]) throws(StoreError) -> Void
    ) throws(StoreError) {
        try query(table.rows) { row throws(StoreError) in
            guard row.columnCount == columns.count else { throw .corrupt(table: table.rawValue, column: "*") }
            var values: [StoredValue] = []
            values.reserveCapacity(columns.count)
            for (index, column) in columns.enumerated() {
                switch column.kind {
                case _ where row.isNull(index): values.append(.null)
                case .integer: values.append(.integer(try row.number(.position(index))))
                case .text: values.append(.text(try row.string(.position(index))))
                case .bytes: values.append(.bytes(row.optionalBytes(index) ?? []))
                }
            }
            try body(values)
        }
    }

    /// The number of a table's next row, so that no number is reused; `nil` if rows are not numbered.
    public mutating func nextNumber(of table: StoredTable) throws(StoreError) -> Int64? {
        try first(
            """
            SELECT auto_increment
              FROM information_schema.TABLES
             WHERE table_schema = DATABASE()
               AND table_name = ?
            """, [.text(table.rawValue)]
        ) { row throws(StoreError) in try row.optionalNumber(0) } ?? nil
    }

    /// The tables of the database that a backup would not contain, because this program does not know them.
    public mutating func unknownTables() throws(StoreError) -> [String] {
        let known = Set(StoredTable.allCases.map(\.rawValue) + StoredTable.bookkeeping)
        return try tableNames().filter { !known.contains($0) }
    }

    /// Checks that restored data would not be mixed with other data.
    /// - Throws: ``RestoreError``, ``StoreError``.
    public mutating func requireEmpty() throws {
        if let table = try unknownTables().first { throw RestoreError.foreignTable(table) }
        let present = Set(try tableNames())
        for table in StoredTable.allCases where present.contains(table.rawValue) {
            if try first(table.anyRow, [], { _ in true }) != nil {
                throw RestoreError.databaseNotEmpty(table: table.rawValue)
            }
        }
    }

    private mutating func tableNames() throws(StoreError) -> [String] {
        try all(
            """
            SELECT table_name
              FROM information_schema.TABLES
             WHERE table_schema = DATABASE()
               AND table_type = 'BASE TABLE'
             ORDER BY table_name
            """, []
        ) { row throws(StoreError) in try row.string(0) }
    }

    /// Sets the next number of a table to `number`. Ends a transaction, as all DDL does.
    public mutating func setNextNumber(_ number: Int64, of table: StoredTable) throws(StoreError) {
        try executeScript("ALTER TABLE `\(table.rawValue)` AUTO_INCREMENT = \(number)")
    }

    /// Inserts rows as ``readRows(of:_:_:)`` returned them. Call in one transaction with all other rows.
    /// - Throws: ``RestoreError/unknownColumn(table:column:)``, ``StoreError``.
    public mutating func insert(
        _ rows: [[StoredValue]], _ columns: [StoredColumn], into table: StoredTable
    ) throws {
        guard !rows.isEmpty else { return }
        let known = Set(try self.columns(of: table).map(\.name))
        // The names become part of the SQL: only names from the schema are allowed.
        for column in columns where !known.contains(column.name) {
            throw RestoreError.unknownColumn(table: table.rawValue, column: column.name)
        }
        var sql = "INSERT INTO `\(table.rawValue)` (`\(columns.map(\.name).joined(separator: "`, `"))`) VALUES\n"
        for (index, row) in rows.enumerated() {
            sql += index == 0 ? "(" : ",\n("
            sql += row.map(Self.literal).joined(separator: ", ")
            sql += ")"
        }
        try executeScript(sql)
    }

    /// A value as SQL: digits, or hexadecimal digits, so that it cannot be interpreted as anything else.
    private static func literal(_ value: StoredValue) -> String {
        switch value {
        case .null: "NULL"
        case .integer(let number): String(number)
        case .text(let text): "_utf8mb4 X'\(Array(text.utf8).hexLowercase)'"
        case .bytes(let bytes): "X'\(bytes.hexLowercase)'"
        }
    }

    /// Deletes the intents of uploads that were in progress when a backup was made. Some of these uploads have
    /// completed since then. Their objects remain unused in people's storage instead of being deleted as orphaned
    /// objects.
    /// - Returns: the number of intents.
    public mutating func forgetIntents() throws(StoreError) -> Int {
        try execute(
            """
            DELETE FROM outbox
             WHERE kind = 'deleteObject'
               AND lease_owner IS NOT NULL
               AND attempts = 0
            """, [])
    }
}

extension StoreSession {
    /// Records that this database was reset to its state of `takenAt`, and marks its groups: later changes are lost.
    /// - Returns: the number of groups.
    mutating func recordRestoration(ofStateAt takenAt: WireDate, _ mark: RestoreMark) throws(StoreError) -> Int {
        try execute(
            "INSERT IGNORE INTO restorations (backup_taken_at, restored_at) VALUES (?, UTC_TIMESTAMP())",
            [.date(takenAt)])
        try markGroups(mark)
        return try count("SELECT COUNT(*) FROM sharing_groups WHERE restore_mark = ?", [.text(mark.rawValue)])
    }

    /// Lets clients detect in each existing group that the server's state is older: every later master version counts
    /// as a lost change. The stored version never increases: a device that was offline during two restorations may have
    /// changes that the first one lost.
    mutating func markGroups(_ mark: RestoreMark) throws(StoreError) {
        try execute(
            """
            UPDATE sharing_groups
               SET restore_mark = ?,
                   restored_master_version = LEAST(COALESCE(restored_master_version, master_version), master_version)
            """,
            [.text(mark.rawValue)])
    }

    /// Row counts by table name; call in a snapshot.
    public mutating func rowCounts() throws(StoreError) -> [String: Int] {
        var counts: [String: Int] = [:]
        try query(
            """
            SELECT 'users', COUNT(*) FROM users
             UNION ALL SELECT 'departed_users', COUNT(*) FROM departed_users
             UNION ALL SELECT 'retired_accounts', COUNT(*) FROM retired_accounts
             UNION ALL SELECT 'device_grants', COUNT(*) FROM device_grants
             UNION ALL SELECT 'account_switches', COUNT(*) FROM account_switches
             UNION ALL SELECT 'account_moves', COUNT(*) FROM account_moves
             UNION ALL SELECT 'moving_contents', COUNT(*) FROM moving_contents
             UNION ALL SELECT 'former_contents', COUNT(*) FROM former_contents
             UNION ALL SELECT 'former_owners', COUNT(*) FROM former_owners
             UNION ALL SELECT 'devices', COUNT(*) FROM devices
             UNION ALL SELECT 'sharing_groups', COUNT(*) FROM sharing_groups
             UNION ALL SELECT 'memberships', COUNT(*) FROM memberships
             UNION ALL SELECT 'invitations', COUNT(*) FROM invitations
             UNION ALL SELECT 'files', COUNT(*) FROM files
             UNION ALL SELECT 'staged_changes', COUNT(*) FROM staged_changes
             UNION ALL SELECT 'batches', COUNT(*) FROM batches
             UNION ALL SELECT 'commits', COUNT(*) FROM commits
             UNION ALL SELECT 'commit_members', COUNT(*) FROM commit_members
             UNION ALL SELECT 'outbox', COUNT(*) FROM outbox
             UNION ALL SELECT 'exchanged_codes', COUNT(*) FROM exchanged_codes
             UNION ALL SELECT 'quota_windows', COUNT(*) FROM quota_windows
             UNION ALL SELECT 'apple_notices', COUNT(*) FROM apple_notices
             UNION ALL SELECT 'push_registrations', COUNT(*) FROM push_registrations
             UNION ALL SELECT 'content_hashes', COUNT(*) FROM content_hashes
             UNION ALL SELECT 'index_pages', COUNT(*) FROM index_pages
             UNION ALL SELECT 'manifest_keys', COUNT(*) FROM manifest_keys
             UNION ALL SELECT 'rebuilds', COUNT(*) FROM rebuilds
             UNION ALL SELECT 'rebuild_visits', COUNT(*) FROM rebuild_visits
             UNION ALL SELECT 'rebuild_groups', COUNT(*) FROM rebuild_groups
             UNION ALL SELECT 'rebuild_members', COUNT(*) FROM rebuild_members
             UNION ALL SELECT 'rebuild_files', COUNT(*) FROM rebuild_files
             UNION ALL SELECT 'rebuild_claims', COUNT(*) FROM rebuild_claims
             UNION ALL SELECT 'rebuild_awaited', COUNT(*) FROM rebuild_awaited
             UNION ALL SELECT 'gone_contents', COUNT(*) FROM gone_contents
             UNION ALL SELECT 'restorations', COUNT(*) FROM restorations
             UNION ALL SELECT 'imported_users', COUNT(*) FROM imported_users
             UNION ALL SELECT 'imported_groups', COUNT(*) FROM imported_groups
            """
        ) { row throws(StoreError) in counts[try row.string(0)] = Int(try row.number(1)) }
        return counts
    }
}
