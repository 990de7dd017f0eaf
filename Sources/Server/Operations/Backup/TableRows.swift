import MariaDB
import OpenSSLCrypto
public import Store
import SyncProtocol

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
    /// completed since then. Their objects stay unused in people's storage instead of being deleted as orphaned
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
             UNION ALL SELECT 'gone_contents', COUNT(*) FROM gone_contents
             UNION ALL SELECT 'restorations', COUNT(*) FROM restorations
             UNION ALL SELECT 'imported_users', COUNT(*) FROM imported_users
             UNION ALL SELECT 'imported_groups', COUNT(*) FROM imported_groups
            """
        ) { row throws(StoreError) in counts[try row.string(0)] = Int(try row.number(1)) }
        return counts
    }
}

extension StoreSession {
    /// Drops all tables of this server. For scratch databases, after ``requireEmpty()`` has confirmed that they contain
    /// no data.
    public mutating func dropAllTables() throws(StoreError) {
        for table in StoredTable.allCases.reversed() {
            try executeScript("DROP TABLE IF EXISTS `\(table.rawValue)`")
        }
        for table in StoredTable.bookkeeping { try executeScript("DROP TABLE IF EXISTS `\(table)`") }
    }
}
