/// The database's state at the time of a scrape: the pending work, and whether the server is closed.
public struct BacklogReading: Sendable {
    /// Rows of the outbox by kind, including those of uploads in progress.
    public var outbox: [(kind: String, count: Int)]
    /// Rows that are due.
    public var due: Int
    /// How long the most overdue of them has been due, in seconds.
    public var longestDueSeconds: Int
    /// Age of the oldest row that was attempted and is not done, in seconds.
    public var oldestRetriedSeconds: Int
    /// Staged changes not yet committed.
    public var staged: Int
    /// Age of the oldest of them, in seconds.
    public var oldestStagedSeconds: Int
    /// Whether the server is closed for maintenance.
    public var isClosed: Bool
    /// Whether the database refuses changes.
    public var isReadOnly: Bool

    public init(
        outbox: [(kind: String, count: Int)], due: Int, longestDueSeconds: Int, oldestRetriedSeconds: Int, staged: Int,
        oldestStagedSeconds: Int, isClosed: Bool = false, isReadOnly: Bool = false
    ) {
        self.outbox = outbox
        self.due = due
        self.longestDueSeconds = longestDueSeconds
        self.oldestRetriedSeconds = oldestRetriedSeconds
        self.staged = staged
        self.oldestStagedSeconds = oldestStagedSeconds
        self.isClosed = isClosed
        self.isReadOnly = isReadOnly
    }
}

extension Exposition {
    /// Adds the pending work in the database, or the fact that the database does not answer.
    /// - Parameter isHostClosed: whether this host's web server has closed it for maintenance.
    mutating func add(_ backlog: BacklogReading?, isHostClosed: Bool) {
        addGauge(
            "syncd_maintenance_this_host", "Whether the web server has closed this host for maintenance.",
            [(labels: "", value: isHostClosed ? 1 : 0)])
        addGauge(
            "syncd_database_up", "Whether the database answers with the right schema.",
            [(labels: "", value: backlog == nil ? 0 : 1)])
        guard let backlog else { return }
        addGauge(
            "syncd_maintenance", "Whether all hosts of this database are closed for maintenance.",
            [(labels: "", value: backlog.isClosed ? 1 : 0)])
        addGauge(
            "syncd_database_read_only", "Whether the database refuses changes (read_only).",
            [(labels: "", value: backlog.isReadOnly ? 1 : 0)])
        addGauge(
            "syncd_outbox_items",
            "Work for the jobs role, by kind, including cleanup reserved for uploads in progress.",
            backlog.outbox.map { (labels: "kind=\"\($0.kind)\"", value: Double($0.count)) })
        for (name, help, value) in [
            ("syncd_outbox_due_items", "Work for the jobs role that is due.", backlog.due),
            (
                "syncd_outbox_longest_due_seconds", "How long the most overdue work has been due.",
                backlog.longestDueSeconds
            ),
            (
                "syncd_outbox_oldest_retried_seconds", "Age of the oldest work that was tried and is not done.",
                backlog.oldestRetriedSeconds
            ),
            ("syncd_staged_changes", "Changes that phones have staged but not committed.", backlog.staged),
            ("syncd_staged_oldest_seconds", "Age of the oldest staged change.", backlog.oldestStagedSeconds),
        ] { addGauge(name, help, [(labels: "", value: Double(value))]) }
    }

    /// Adds when each living process was started. They are numbered within their role, the oldest being 1.
    mutating func add(_ processes: [(role: Int, start: UInt64)]) {
        var counts = [Int](repeating: 0, count: ProcessRole.allCases.count)
        var samples: [(labels: String, value: Double)] = []
        for process in processes.sorted(by: { ($0.role, $0.start) < ($1.role, $1.start) })
        where process.role < counts.count {
            counts[process.role] += 1
            let role = ProcessRole.allCases[process.role].rawValue
            samples.append(
                (labels: "role=\"\(role)\",process=\"\(counts[process.role])\"", value: Double(process.start)))
        }
        addGauge(
            "syncd_processes", "Living processes by role.",
            zip(ProcessRole.allCases, counts).map { (labels: "role=\"\($0.rawValue)\"", value: Double($1)) })
        addGauge(
            "syncd_process_start_time_seconds", "When each living process was started, in seconds since 1970.", samples)
    }
}
