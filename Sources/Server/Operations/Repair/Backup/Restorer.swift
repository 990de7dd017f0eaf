public import MariaDB
import OpenSSLCrypto
import Posix
public import Store
public import SyncProtocol

/// Restores a backup into an empty database.
public struct Restorer {
    private let settings: ConnectionSettings

    /// - Parameter settings: those of the database to fill.
    public init(into settings: ConnectionSettings) {
        var settings = settings
        // One statement inserts many rows, and updates their indexes.
        settings.readTimeout = .seconds(300)
        self.settings = settings
    }

    /// Verifies the backup, creates the schema of its time, inserts all rows in one transaction, migrates the schema,
    /// counts the resulting rows, and gives all groups one new mark by which clients detect the restoration. A database
    /// that is not empty is rejected first; after a failure, no row remains, and the restoration can be repeated.
    /// - Throws: ``BackupError``, ``RestoreError``, ``MigrationError``, ``StoreError``, `GzipError`.
    public func restore(_ path: String) throws -> RestoreReport {
        let store = MetadataStore(
            pool: ConnectionPool(settings: settings, maximumConnections: 1, leaseTimeout: .seconds(30)),
            pause: { Pause.sleep($0) })
        // The schema is created here.
        store.open()
        try store.withSession { try $0.requireEmpty() }
        let reader = BackupReader(path: path)
        let manifest = try reader.verify()
        var runner = try MigrationRunner(settings, leaseOwner: try RandomBytes.uuidText())
        _ = try runner.migrate(through: manifest.header.schema)
        try store.withSession { session in
            for (name, part) in manifest.parts {
                guard let table = StoredTable(rawValue: name), let number = part.nextNumber else { continue }
                try session.setNextNumber(number, of: table)
            }
        }
        let mark = try RestoreMark.random()
        let intents = try store.transaction { session in
            // Checked again, because somebody may have used the database meanwhile.
            try session.requireEmpty()
            _ = try reader.read { table, columns, rows in try session.insert(rows, columns, into: table) }
            // In the same transaction as the rows, so that an interruption cannot leave them without a mark; an older
            // schema has no column for it yet.
            if try session.columns(of: .sharingGroups).contains(where: { $0.name == "restore_mark" }) {
                try session.markGroups(mark)
            }
            return try session.forgetIntents()
        }
        _ = try runner.migrate()
        try runner.verify()
        let counts = try store.snapshot { session in try session.rowCounts() }
        let takenAt = manifest.header.takenAt
        let groups = try store.transaction { try $0.recordRestoration(ofStateAt: takenAt, mark) }
        for (table, part) in manifest.parts.sorted(by: { $0.key < $1.key }) {
            let expected = table == StoredTable.outbox.rawValue ? part.rows - intents : part.rows
            guard counts[table] == expected else {
                throw BackupError.countsDiffer(table: table, expected: expected, found: counts[table] ?? 0)
            }
        }
        return RestoreReport(
            manifest: manifest, forgottenIntents: intents, counts: counts,
            marks: MarkReport(restoreMark: mark, groups: groups, stateOf: takenAt))
    }

    /// Marks a database that was reset without ``restore(_:)``, as that does after filling it, in one transaction. For
    /// dumps, disk snapshots, and cluster nodes that returned with old data. Call it before the server starts: a client
    /// that gets a list without the new mark treats the older state as a change, and changes that people make before
    /// the call count as part of the older state.
    /// - Parameters:
    ///   - store: with the current schema.
    ///   - stateOf: the time of the database's contents, UTC; an earlier time does no harm.
    /// - Throws: ``StoreError``.
    public static func markRestored(_ store: MetadataStore, stateOf: WireDate) throws -> MarkReport {
        let mark = try RestoreMark.random()
        return try store.transaction { session in
            let intents = try session.forgetIntents()
            let groups = try session.recordRestoration(ofStateAt: stateOf, mark)
            return MarkReport(restoreMark: mark, groups: groups, stateOf: stateOf, forgottenIntents: intents)
        }
    }
}

extension RestoreMark {
    fileprivate static func random() throws -> RestoreMark {
        let text = try RandomBytes.uuidText()
        guard let mark = RestoreMark(text) else { preconditionFailure("a UUID is 36 characters of ASCII") }
        return mark
    }
}

/// The result of a restoration.
public struct RestoreReport: Report {
    public var manifest: BackupFormat.Manifest
    /// The number of uploads in progress at the time of the backup; their objects, if any, remain orphaned in people's
    /// storage.
    public var forgottenIntents: Int
    /// The number of rows by table.
    public var counts: [String: Int]
    /// The other steps on this host, if more than the rows was restored.
    public var host: HostRestoreReport?
    /// The mark by which clients detect the restoration.
    public var marks: MarkReport

    init(manifest: BackupFormat.Manifest, forgottenIntents: Int, counts: [String: Int], marks: MarkReport) {
        self.manifest = manifest
        self.forgottenIntents = forgottenIntents
        self.counts = counts
        self.marks = marks
    }

    public var isGood: Bool { host?.isGood ?? true }

    public var lines: [String] {
        var lines = ["restored"] + manifest.lines
        if forgottenIntents > 0 {
            lines.append(
                "           \(Quantity.of(forgottenIntents, "upload")) in progress at that time: unused objects stay "
                    + "in people's storage"
            )
        }
        lines.append(marks.groupLine)
        lines +=
            host?.lines ?? [
                "NEXT       put back the sealing key, run \(HostedApp.current.command) fsck, then start "
                    + "\(SetupPaths.target)"
            ]
        return lines + [marks.warning]
    }
}

/// The mark by which clients detect that the database was reset to an earlier state.
public struct MarkReport: Report {
    /// Index returns it for each of the groups.
    public var restoreMark: RestoreMark
    public var groups: Int
    /// The time of the database's state, UTC; later changes are lost.
    public var stateOf: WireDate
    /// The number of uploads in progress at that time; absent if reported elsewhere.
    public var forgottenIntents: Int?

    public var lines: [String] {
        var lines = [groupLine]
        if let count = forgottenIntents, count > 0 {
            lines.append("           \(Quantity.of(count, "upload")) in progress at that time: discarded")
        }
        return lines + [warning]
    }

    fileprivate var groupLine: String { "marked     \(Quantity.of(groups, "group")) with \(restoreMark)" }

    fileprivate var warning: String {
        "           Changes after \(stateOf.iso8601) are lost here: devices that compare the mark upload them again; "
            + "newer objects stay in people's folders, and replaced ones are reported as gone."
    }
}

/// The steps that set up a server on a host.
public struct HostRestoreReport: Encodable, Sendable {
    /// One step, in a sentence.
    public struct Step: Encodable, Sendable {
        public enum Outcome: String, Encodable, Sendable {
            case done
            /// It already existed, or a different one exists and is kept.
            case kept
            case failed
        }

        public var outcome: Outcome
        public var sentence: String
    }

    public var steps: [Step] = []
    /// The steps that remain to be done by hand.
    public var remaining: [String] = []

    public init() {}

    public mutating func add(_ outcome: Step.Outcome, _ sentence: String) {
        steps.append(Step(outcome: outcome, sentence: sentence))
    }

    var isGood: Bool { !steps.contains { $0.outcome == .failed } }

    var lines: [String] {
        let marks: [Step.Outcome: String] = [.done: "done       ", .kept: "kept       ", .failed: "FAILED     "]
        return steps.map { (marks[$0.outcome] ?? "") + $0.sentence } + remaining.map { "NEXT       \($0)" }
    }
}
