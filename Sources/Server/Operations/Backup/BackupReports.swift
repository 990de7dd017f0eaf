public import Posix
public import Store
public import SyncProtocol

/// The backups of a folder, the oldest first.
public struct BackupListing: Report {
    public struct Item: Encodable, Equatable, Sendable {
        public var name: String
        /// The time of its snapshot.
        public var takenAt: WireDate
        public var bytes: Int64
        public var ageSeconds: Int64
        /// Whether a copy elsewhere is known; this is recorded only for the last copied backup.
        public var isCopied: Bool
    }

    public var folder: String
    public var items: [Item]

    /// - Parameter lastCopied: the record of the last copy elsewhere.
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
                item.isCopied ? "copied elsewhere" : "")
        }
        return table.lines
    }
}

/// What a backup contains, and what it does not.
public struct BackupReport: Report {
    /// `-` for standard output.
    public var path: String
    public var manifest: BackupFormat.Manifest
    /// Files of the host that are missing from it, with the reason.
    public var omittedFiles: [String] = []
    /// The names of old backups that were deleted.
    public var deleted: [String] = []

    init(path: String, manifest: BackupFormat.Manifest) {
        self.path = path
        self.manifest = manifest
    }

    public var lines: [String] {
        var lines = ["backup     \(path)"] + manifest.lines
        lines += omittedFiles.map { "OMITTED    \($0)" }
        if !deleted.isEmpty { lines.append("deleted    \(deleted.joined(separator: ", "))") }
        return lines + Self.warnings(manifest)
    }

    /// Warnings for everyone who relies on the file.
    static func warnings(_ manifest: BackupFormat.Manifest) -> [String] {
        let keys = manifest.sealingKeys.joined(separator: ", ")
        return [
            "NOT IN IT  the sealing key\(manifest.sealingKeys.isEmpty ? "" : " (\(keys))"): without it, all stored "
                + "tokens are " + "lost and all owners must sign in again.",
            "           Also not: \(manifest.files == nil ? "the configuration, " : "")other secrets, certificates, "
                + "and people's " + "files; those are in their own storage.",
            "           Keep a copy of \(SetupPaths.secrets) elsewhere, but not beside the backup: together they open "
                + "all tokens.",
        ]
    }
}

/// The result of a verification.
public struct VerificationReport: Report {
    public var path: String
    public var manifest: BackupFormat.Manifest
    /// The scratch database into which the backup was restored; absent if only sums and counts were checked.
    public var restoredInto: String?

    /// The findings of `fsck` in the scratch database; empty without one.
    public var findings: [Finding]

    init(
        path: String, manifest: BackupFormat.Manifest, restoredInto: String?, findings: [Finding] = []
    ) {
        self.path = path
        self.manifest = manifest
        self.restoredInto = restoredInto
        self.findings = findings
    }

    /// Whether the contents are consistent. A backup with findings is complete, but somebody has to investigate.
    public var isGood: Bool { findings.allSatisfy { $0.severity == .note } }

    public var lines: [String] {
        let how = restoredInto.map { "restored into \($0) with all rows" } ?? "all checksums and counts are correct"
        var lines = ["GOOD       \(path): \(how)"] + manifest.lines + BackupReport.warnings(manifest)
        if restoredInto != nil { lines += FsckReport(findings: findings).lines }
        return lines
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
            /// It already existed, or a different one exists and stays.
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

extension BackupFormat.Manifest {
    fileprivate var lines: [String] {
        let rows = parts.filter { $0.value.rows > 0 }.sorted { $0.key < $1.key }
        return [
            "taken      \(header.takenAt.iso8601), database \(header.database), server \(header.serverVersion), schema "
                + "\(header.schema)",
            "contains   "
                + (rows.isEmpty ? "nothing" : rows.map { "\($0.key) \($0.value.rows)" }.joined(separator: ", ")),
        ] + (files.map { ["files      \($0.keys.sorted().joined(separator: ", "))"] } ?? [])
    }
}
