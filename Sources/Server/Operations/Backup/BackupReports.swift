public import Posix
public import Store
public import SyncProtocol

/// The backups of a folder, the oldest first.
public struct BackupListing: Report {
    public struct Item: Encodable, Equatable, Sendable {
        public var name: String
        /// Of its snapshot.
        public var takenAt: WireDate
        public var bytes: Int64
        public var ageSeconds: Int64
        /// Whether it is known to be elsewhere, too; only the last one that was copied is.
        public var isCopied: Bool
    }

    public var folder: String
    public var items: [Item]

    /// - Parameter lastCopied: what is known of the last copy elsewhere.
    /// - Throws: ``PosixError``.
    public init(of folder: BackupFolder, lastCopied: BackupRecord?, now: WireDate) throws(PosixError) {
        self.folder = folder.path
        items = []
        for date in try folder.backups() {
            let name = BackupFolder.name(of: date)
            let file = try RegularFile(folder.path(of: date), for: .reading)
            items.append(
                Item(
                    name: name, takenAt: date, bytes: Int64(try file.size()),
                    ageSeconds: max(0, now.secondsSince1970 - date.secondsSince1970),
                    isCopied: lastCopied?.name == name))
        }
    }

    public var lines: [String] {
        guard !items.isEmpty else { return ["\(folder) has no backup"] }
        var table = TextTable("BACKUP", "TAKEN", "AGE", "SIZE", "")
        for item in items {
            table.add(
                item.name, item.takenAt.iso8601, Quantity.seconds(item.ageSeconds), Quantity.bytes(item.bytes),
                item.isCopied ? "elsewhere, too" : "")
        }
        return table.lines
    }
}

/// What a backup holds, and what it does not.
public struct BackupReport: Report {
    /// `-` for standard output.
    public var path: String
    public var manifest: BackupFormat.Manifest
    /// Files of the host that should be in it and are not, with the reason.
    public var omittedFiles: [String] = []
    /// The names of old backups that were deleted.
    public var deleted: [String] = []

    init(path: String, manifest: BackupFormat.Manifest) {
        self.path = path
        self.manifest = manifest
    }

    public var lines: [String] {
        var lines = ["backup     \(path)"] + manifest.lines
        lines += omittedFiles.map { "LEFT OUT   \($0)" }
        if !deleted.isEmpty { lines.append("deleted    \(deleted.joined(separator: ", "))") }
        return lines + Self.warnings(manifest)
    }

    /// What everybody who relies on the file must know.
    static func warnings(_ manifest: BackupFormat.Manifest) -> [String] {
        let keys = manifest.sealingKeys.joined(separator: ", ")
        return [
            "NOT IN IT  the sealing key\(manifest.sealingKeys.isEmpty ? "" : " (\(keys))"): without it every stored token is "
                + "lost and all owners must sign in again.",
            "           Also not: \(manifest.files == nil ? "the configuration, " : "")other secrets, certificates, and people's "
                + "files, which are in their own storage.",
            "           Keep a copy of \(SetupPaths.secrets) elsewhere, and not beside the backup: together they open all tokens.",
        ]
    }
}

/// What a verification found.
public struct VerificationReport: Report {
    public var path: String
    public var manifest: BackupFormat.Manifest
    /// The scratch database into which it was restored; absent if only sums and counts were checked.
    public var restoredInto: String?

    /// What `fsck` found in the scratch database; empty without one.
    public var findings: [Finding]

    init(
        path: String, manifest: BackupFormat.Manifest, restoredInto: String?, findings: [Finding] = []
    ) {
        self.path = path
        self.manifest = manifest
        self.restoredInto = restoredInto
        self.findings = findings
    }

    /// The backup is good even if what it holds is not; but somebody has to investigate.
    public var isGood: Bool { findings.allSatisfy { $0.severity == .note } }

    public var lines: [String] {
        let how = restoredInto.map { "restored into \($0), and all rows are there" } ?? "all sums and counts are right"
        var lines = ["GOOD       \(path): \(how)"] + manifest.lines + BackupReport.warnings(manifest)
        if restoredInto != nil { lines += FsckReport(findings: findings).lines }
        return lines
    }
}

/// What was restored.
public struct RestoreReport: Report {
    public var manifest: BackupFormat.Manifest
    /// Uploads that were in progress when the backup was made; their objects, if any, remain orphaned in people's
    /// storage.
    public var forgottenIntents: Int
    /// Rows by table.
    public var counts: [String: Int]
    /// What else was done on this host, if more than the rows was restored.
    public var host: HostRestoreReport?
    /// By what clients notice the restoration.
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
                "           \(Quantity.of(forgottenIntents, "upload")) under way at that time: left in people's storage, unused"
            )
        }
        lines.append(marks.groupLine)
        lines +=
            host?.lines ?? [
                "NEXT       put the sealing key in its place, run \(HostedApp.current.command) fsck, then start \(SetupPaths.target)"
            ]
        return lines + [marks.warning]
    }
}

/// How clients notice that the database was put back to an earlier state.
public struct MarkReport: Report {
    /// Index reports it for each of the groups.
    public var restoreMark: RestoreMark
    public var groups: Int
    /// Nothing is known of what happened after it, UTC.
    public var stateOf: WireDate
    /// Uploads that were in progress at that time; absent where this is reported elsewhere.
    public var forgottenIntents: Int?

    public var lines: [String] {
        var lines = [groupLine]
        if let count = forgottenIntents, count > 0 {
            lines.append("           \(Quantity.of(count, "upload")) in progress at that time: forgotten")
        }
        return lines + [warning]
    }

    fileprivate var groupLine: String { "marked     \(Quantity.of(groups, "group")) with \(restoreMark)" }

    fileprivate var warning: String {
        "           What happened after \(stateOf.iso8601) is not known any more: devices that compare the mark upload it again; "
            + "newer objects stay in people's folders, replaced ones are reported as gone."
    }
}

/// What was done to make a server of a host.
public struct HostRestoreReport: Encodable, Sendable {
    /// One thing, in a sentence.
    public struct Step: Encodable, Sendable {
        public enum Outcome: String, Encodable, Sendable {
            case done
            /// It was so already, or there is another one, which stays.
            case kept
            case failed
        }

        public var outcome: Outcome
        public var sentence: String
    }

    public var steps: [Step] = []
    /// What remains to be done by hand.
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

extension BackupFormat.Manifest {
    fileprivate var lines: [String] {
        let rows = parts.filter { $0.value.rows > 0 }.sorted { $0.key < $1.key }
        return [
            "of         \(header.takenAt.iso8601), database \(header.database), server \(header.serverVersion), schema "
                + "\(header.schema)",
            "holds      "
                + (rows.isEmpty ? "nothing" : rows.map { "\($0.key) \($0.value.rows)" }.joined(separator: ", ")),
        ] + (files.map { ["files      \($0.keys.sorted().joined(separator: ", "))"] } ?? [])
    }
}
