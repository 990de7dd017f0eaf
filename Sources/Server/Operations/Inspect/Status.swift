import Store

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
    public var counts: StoreOverview

    public init(
        serverVersion: String, schema: Int, database: String, sandbox: Bool, maintenance: MaintenanceReport? = nil,
        counts: StoreOverview
    ) {
        self.serverVersion = serverVersion
        self.schema = schema
        self.database = database
        self.sandbox = sandbox
        self.maintenance = maintenance
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
            "files     \(counts.files) of \(Quantity.bytes(counts.fileBytes)), and \(counts.deletedFiles) deleted",
            "waiting   \(Quantity.of(counts.stagedChanges, "staged change")), "
                + Quantity.of(counts.openInvitations, "open invitation"),
            "outbox    \(outbox.due) due, \(outbox.leased) in progress, \(outbox.failing) failed before"
                + (outbox.due > 0 ? "; due for up to \(Quantity.seconds(outbox.longestDueSeconds))" : ""),
        ]
        if let maintenance { lines.insert(contentsOf: maintenance.lines, at: 0) }
        if sandbox { lines.insert("SANDBOX: no call reaches a real cloud. Never use it for real people.", at: 0) }
        return lines
    }
}
