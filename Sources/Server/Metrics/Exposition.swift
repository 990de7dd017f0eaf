/// The text that Prometheus reads: https://prometheus.io/docs/instrumenting/exposition_formats/, version 0.0.4.
struct Exposition {
    /// The content type of a reply with this text.
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private(set) var text = ""
    /// A label of all samples, such as `app="notes"`; empty if there is none.
    private let common: String

    init(common: String = "") { self.common = common }

    /// Families with so few series are shown from the start, with zeros, so that the first event appears as a change.
    private static let fewSeries = 16

    /// Adds a family stored in files. In a family with many labels, combinations that were never counted are omitted.
    mutating func add(_ family: MetricFamily, _ values: ArraySlice<UInt64>) {
        var lines = ""
        let combinations = family.combinations
        let showsZeros = combinations.count <= Self.fewSeries
        for (number, labels) in combinations.enumerated() {
            let first = values.startIndex + number * family.width
            let own = values[first..<first + family.width]
            guard showsZeros || own.contains(where: { $0 > 0 }) else { continue }
            switch family.kind {
            case .counter: lines += line(family.name, labels, Double(own.first ?? 0) / family.divisor)
            case .gauge: lines += line(family.name, labels, Double(Int64(bitPattern: own.first ?? 0)))
            case .histogram(let bounds):
                var count: UInt64 = 0
                for (bound, value) in zip(bounds.map { "\($0)" } + ["+Inf"], own) {
                    count += value
                    let le = (labels.isEmpty ? "" : labels + ",") + "le=\"\(bound)\""
                    lines += line(family.name + "_bucket", le, Double(count))
                }
                lines += line(family.name + "_sum", labels, Double(own.last ?? 0) / family.divisor)
                lines += line(family.name + "_count", labels, Double(count))
            }
        }
        if !lines.isEmpty { text += Self.head(family.name, family.kind.word, family.help) + lines }
    }

    /// Adds a gauge whose value is known at the time of the scrape.
    mutating func addGauge(_ name: String, _ help: String, _ samples: [(labels: String, value: Double)]) {
        guard !samples.isEmpty else { return }
        text += Self.head(name, "gauge", help)
        for sample in samples { text += line(name, sample.labels, sample.value) }
    }

    private static func head(_ name: String, _ type: String, _ help: String) -> String {
        "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
    }

    private func line(_ name: String, _ own: String, _ value: Double) -> String {
        let labels = common.isEmpty || own.isEmpty ? common + own : "\(common),\(own)"
        let number = value == value.rounded() && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
        return labels.isEmpty ? "\(name) \(number)\n" : "\(name){\(labels)} \(number)\n"
    }
}

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
    /// Age of the oldest manifest that has to be written, in seconds.
    public var oldestManifestSeconds: Int
    /// Staged changes not yet committed.
    public var staged: Int
    /// Age of the oldest of them, in seconds.
    public var oldestStagedSeconds: Int
    /// Whether the server is closed for maintenance.
    public var isClosed: Bool
    /// Whether the database refuses changes.
    public var isReadOnly: Bool
    /// `nil` if the database is not being rebuilt from manifests.
    public var rebuild: RebuildReading?

    public init(
        outbox: [(kind: String, count: Int)], due: Int, longestDueSeconds: Int, oldestRetriedSeconds: Int,
        oldestManifestSeconds: Int = 0, staged: Int, oldestStagedSeconds: Int, isClosed: Bool = false,
        isReadOnly: Bool = false, rebuild: RebuildReading? = nil
    ) {
        self.outbox = outbox
        self.due = due
        self.longestDueSeconds = longestDueSeconds
        self.oldestRetriedSeconds = oldestRetriedSeconds
        self.oldestManifestSeconds = oldestManifestSeconds
        self.staged = staged
        self.oldestStagedSeconds = oldestStagedSeconds
        self.isClosed = isClosed
        self.isReadOnly = isReadOnly
        self.rebuild = rebuild
    }
}

/// The progress of a rebuild from manifests.
public struct RebuildReading: Sendable {
    /// The number of groups by state; `missing` is the state of groups that are not back.
    public var groups: [(state: String, count: Int)]
    /// The number of people whose folders have not been read.
    public var unreadFolders: Int

    public init(groups: [(state: String, count: Int)], unreadFolders: Int) {
        self.groups = groups
        self.unreadFolders = unreadFolders
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
            "syncd_rebuild", "Whether the database is being rebuilt from manifests.",
            [(labels: "", value: backlog.rebuild == nil ? 0 : 1)])
        addGauge(
            "syncd_rebuild_groups", "Groups of the present rebuild, by state.",
            (backlog.rebuild?.groups ?? [("missing", 0)]).map {
                (labels: "state=\"\($0.state)\"", value: Double($0.count))
            })
        addGauge(
            "syncd_rebuild_unread_folders", "People whose folders the rebuild has not read.",
            [(labels: "", value: Double(backlog.rebuild?.unreadFolders ?? 0))])
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
                "syncd_outbox_oldest_retried_seconds", "Age of the oldest work that was tried but is not done.",
                backlog.oldestRetriedSeconds
            ),
            (
                "syncd_manifest_oldest_seconds", "Age of the oldest manifest that has to be written.",
                backlog.oldestManifestSeconds
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
            "syncd_processes", "Running processes by role.",
            zip(ProcessRole.allCases, counts).map { (labels: "role=\"\($0.rawValue)\"", value: Double($1)) })
        addGauge(
            "syncd_process_start_time_seconds", "Start time of each running process, in seconds since 1970.", samples)
    }
}

/// When this host last made a good backup, and when a copy elsewhere was last verified: the times of their snapshots,
/// in seconds since 1970.
public struct BackupReading: Sendable {
    public var made: Int64?
    public var copied: Int64?

    public init(made: Int64?, copied: Int64?) {
        self.made = made
        self.copied = copied
    }
}

extension Exposition {
    /// Adds the times of backups; 0 means never.
    mutating func add(_ backups: BackupReading) {
        for (name, help, value) in [
            (
                "syncd_last_backup_timestamp_seconds", "When this host last made a good backup; 0 if never.",
                backups.made
            ),
            (
                "syncd_last_backup_copy_timestamp_seconds",
                "Time of the last backup that was copied elsewhere and verified there; 0 if none.",
                backups.copied
            ),
        ] { addGauge(name, help, [(labels: "", value: Double(value ?? 0))]) }
    }
}
