import MariaDB
public import Store
public import SyncProtocol

/// The state of the installation: counts and pending work.
public struct Status: Report {
    public var serverVersion: String
    /// Number of the latest schema migration step.
    public var schema: Int
    /// Address, user and name of the database.
    public var database: String
    /// Whether calls to providers go to emulated ones.
    public var sandbox: Bool
    /// Where the server is closed; absent if it is open everywhere.
    public var maintenance: MaintenanceReport?
    /// Absent if no rebuild is in progress.
    public var rebuild: RebuildProgress?
    public var counts: StoreOverview

    public init(
        serverVersion: String, schema: Int, database: String, sandbox: Bool, maintenance: MaintenanceReport? = nil,
        rebuild: RebuildProgress? = nil, counts: StoreOverview
    ) {
        self.serverVersion = serverVersion
        self.schema = schema
        self.database = database
        self.sandbox = sandbox
        self.maintenance = maintenance
        self.rebuild = rebuild
        self.counts = counts
    }

    public var lines: [String] {
        let users = counts.users.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        let total = counts.users.values.reduce(0, +)
        let outbox = counts.outbox
        var lines = [
            "server    \(serverVersion), schema \(schema)",
            "database  \(database); MariaDB \(counts.databaseVersion), \(Quantity.bytes(counts.databaseBytes))",
            "users     \(total)\(total == 0 ? "" : " (\(users))")",
            "groups    \(counts.groups), and \(counts.deletedGroups) ended",
            counts.filesAreEstimated
                ? "files     \(Quantity.about(counts.files)) of about \(Quantity.bytes(counts.fileBytes)), "
                    + "and \(Quantity.about(counts.deletedFiles)) deleted; --exact counts"
                : "files     \(counts.files) of \(Quantity.bytes(counts.fileBytes)), and \(counts.deletedFiles) deleted",
            "waiting   \(Quantity.of(counts.stagedChanges, "staged change")), "
                + Quantity.of(counts.openInvitations, "open invitation"),
            "outbox    \(outbox.due) due, \(outbox.leased) in progress, \(outbox.failing) failed before"
                + (outbox.due > 0 ? "; due for up to \(Quantity.seconds(outbox.longestDueSeconds))" : ""),
        ]
        if let rebuild { lines.insert("rebuild   \(rebuild.text)", at: 1) }
        if let maintenance { lines.insert(contentsOf: maintenance.lines, at: 0) }
        if sandbox { lines.insert("SANDBOX: no call reaches a real cloud. Never use it for real people.", at: 0) }
        return lines
    }
}

/// Counts of all data; for operators.
public struct StoreOverview: Equatable, Sendable, Encodable {
    /// Users by account type.
    public var users: [String: Int]
    public var groups: Int
    /// Groups that have ended; their rows are kept.
    public var deletedGroups: Int
    public var files: Int
    /// Deleted files, whose rows are kept so that phones can learn about the deletion.
    public var deletedFiles: Int
    /// The total size of the current versions in people's own storage, as far as known.
    public var fileBytes: Int64
    /// Whether the three preceding numbers are estimates, from the database's statistics and a sample.
    public var filesAreEstimated = false
    public var stagedChanges: Int
    public var openInvitations: Int
    public var outbox: OutboxOverview
    /// Size of tables and indexes in bytes, as estimated by the database.
    public var databaseBytes: Int64
    public var databaseVersion: String
}

/// The pending work.
public struct OutboxOverview: Equatable, Sendable, Encodable {
    /// All rows, uploads in progress included.
    public var rows: Int
    /// Due now.
    public var due: Int
    /// Leased: in progress, or the intent of an upload in progress.
    public var leased: Int
    /// Failed at least once.
    public var failing: Int
    /// How long the oldest due work has been due.
    public var longestDueSeconds: Int64
    /// Pushes that the services reject although they know the devices.
    public var refusedPushes = 0
    /// The reason of one of them, as in the column `last_error`.
    public var pushRefusal: String?
    /// How long the oldest manifest that is not written has been waiting; absent if none waits.
    public var oldestManifestSeconds: Int64?
}

/// Counts of files, so that the largest table is read only once.
struct FileTotals: Equatable {
    /// Tables with more rows are estimated, which takes milliseconds; counting takes 3 s for a million rows.
    static let countedRows = 20_000
    /// The number of files in a sample: a tenth of all files is estimated with an error of about a hundredth of all.
    static let sampledRows = 1_000

    var isEstimated = false
    var current = 0
    var deleted = 0
    /// Of the current ones.
    var bytes: Int64 = 0
}

extension StoreSession {
    /// Counts all data. Many files are estimated: the database keeps no exact number, and one that commits maintain
    /// would make them wait for each other.
    /// - Parameter isExact: counts the files nevertheless, which reads the whole table.
    public mutating func overview(at now: WireDate, isExact: Bool = false) throws(StoreError) -> StoreOverview {
        try overview(at: now, isExact ? try fileTotals() : try quickFileTotals())
    }

    /// Counts the files, or estimates them if the database believes that there are more than `countedRows`.
    mutating func quickFileTotals(countedRows: Int = FileTotals.countedRows) throws(StoreError) -> FileTotals {
        let rows = try pair(
            """
            SELECT table_rows, 0
              FROM information_schema.TABLES
             WHERE table_schema = DATABASE() AND table_name = 'files'
            """, []
        ).0
        guard rows > countedRows else { return try fileTotals() }
        // UUIDs are random, so the lowest ones are a random sample.
        let sample = try first(
            """
            SELECT COUNT(*) AS sampled, SUM(is_deleted) AS deleted, SUM(IF(is_deleted, 0, size_bytes)) AS live_bytes
              FROM (SELECT is_deleted, size_bytes
                      FROM files FORCE INDEX (file)
                     ORDER BY file_uuid
                     LIMIT ?) AS lowest
            """, [.int(Int64(FileTotals.sampledRows))]
        ) { row throws(StoreError) in
            (
                rows: Double(try row.number("sampled")), deleted: Double(try row.optionalNumber("deleted") ?? 0),
                bytes: Double(try row.optionalNumber("live_bytes") ?? 0)
            )
        }
        guard let sample, sample.rows > 0 else { return FileTotals(isEstimated: true) }
        let deleted = Int((Double(rows) * sample.deleted / sample.rows).rounded())
        return FileTotals(
            isEstimated: true, current: rows - deleted, deleted: deleted,
            bytes: Int64((Double(rows) * sample.bytes / sample.rows).rounded()))
    }

    private mutating func fileTotals() throws(StoreError) -> FileTotals {
        try first(
            """
            SELECT SUM(NOT is_deleted) AS live, SUM(is_deleted) AS deleted,
                   SUM(IF(is_deleted, 0, size_bytes)) AS live_bytes
              FROM files
            """, []
        ) { row throws(StoreError) in
            FileTotals(
                current: Int(try row.optionalNumber("live") ?? 0), deleted: Int(try row.optionalNumber("deleted") ?? 0),
                bytes: try row.optionalNumber("live_bytes") ?? 0)
        } ?? FileTotals()
    }

    /// Counts all data except files, which the caller has counted.
    mutating func overview(at now: WireDate, _ files: FileTotals) throws(StoreError) -> StoreOverview {
        var users: [String: Int] = [:]
        try query(
            "SELECT account_type, COUNT(*) FROM users GROUP BY account_type ORDER BY account_type"
        ) { row throws(StoreError) in users[try row.string(0)] = Int(try row.number(1)) }
        let groups = try pair("SELECT SUM(NOT is_deleted), SUM(is_deleted) FROM sharing_groups", [])
        let staged = try pair("SELECT COUNT(*), 0 FROM staged_changes", []).0
        let invitations = try pair("SELECT COUNT(*), 0 FROM invitations WHERE expires_at > ?", [.date(now)]).0
        let database = try first(
            """
            SELECT VERSION(), SUM(data_length + index_length)
              FROM information_schema.TABLES
             WHERE table_schema = DATABASE()
            """, []
        ) { row throws(StoreError) in (version: try row.string(0), bytes: try row.optionalNumber(1) ?? 0) }
        return StoreOverview(
            users: users, groups: groups.0, deletedGroups: groups.1, files: files.current,
            deletedFiles: files.deleted, fileBytes: files.bytes, filesAreEstimated: files.isEstimated,
            stagedChanges: staged,
            openInvitations: invitations, outbox: try outboxOverview(at: now), databaseBytes: database?.bytes ?? 0,
            databaseVersion: database?.version ?? "")
    }

    /// The amount of pending work, and how long it has been pending.
    public mutating func outboxOverview(at now: WireDate) throws(StoreError) -> OutboxOverview {
        let found = try first(
            """
            SELECT COUNT(*) AS jobs, SUM(available_at <= ?) AS due,
                   SUM(lease_owner IS NOT NULL AND available_at > ?) AS leased,
                   SUM(last_error IS NOT NULL) AS failing, MIN(available_at) AS first_due,
                   SUM(kind = 'sendPush' AND last_error REGEXP '^(misconfigured|doubtful):') AS refused_pushes,
                   MIN(CASE WHEN kind = 'sendPush' AND last_error REGEXP '^(misconfigured|doubtful):'
                            THEN last_error END) AS push_refusal,
                   MIN(CASE WHEN kind = 'writeManifest' THEN created_at END) AS first_manifest
              FROM outbox
            """, [.date(now), .date(now)]
        ) { row throws(StoreError) in
            let earliest = try row.optionalDate("first_due")
            return OutboxOverview(
                rows: Int(try row.number("jobs")), due: Int(try row.optionalNumber("due") ?? 0),
                leased: Int(try row.optionalNumber("leased") ?? 0),
                failing: Int(try row.optionalNumber("failing") ?? 0),
                longestDueSeconds: max(0, now.secondsSince1970 - (earliest ?? now).secondsSince1970),
                refusedPushes: Int(try row.optionalNumber("refused_pushes") ?? 0),
                pushRefusal: try row.optionalString("push_refusal"),
                oldestManifestSeconds: try row.optionalDate("first_manifest").map {
                    max(0, now.secondsSince1970 - $0.secondsSince1970)
                })
        }
        return found ?? OutboxOverview(rows: 0, due: 0, leased: 0, failing: 0, longestDueSeconds: 0)
    }

    private mutating func pair(_ sql: SQL, _ values: [Value]) throws(StoreError) -> (Int, Int) {
        try first(sql, values) { row throws(StoreError) in
            (Int(try row.optionalNumber(0) ?? 0), Int(try row.optionalNumber(1) ?? 0))
        } ?? (0, 0)
    }
}

/// The result of a migration.
public struct SchemaReport: Report {
    /// Names of the newly applied steps, in order.
    public var applied: [String]
    /// Accounts of roles whose rights were changed.
    public var accounts: [String]
    /// Number of the latest migration step.
    public var schema: Int

    public init(applied: [String], accounts: [String] = [], schema: Int) {
        self.applied = applied
        self.accounts = accounts
        self.schema = schema
    }

    public var lines: [String] {
        [applied.isEmpty ? "The schema is up to date." : "Applied: \(applied.joined(separator: ", "))."]
            + accounts.map { "The account \($0) has the rights that its role needs." }
    }
}
