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
            "           Keep a copy of /etc/syncd/secrets elsewhere, and not beside the backup: together they open all tokens.",
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

    init(manifest: BackupFormat.Manifest, forgottenIntents: Int, counts: [String: Int]) {
        self.manifest = manifest
        self.forgottenIntents = forgottenIntents
        self.counts = counts
    }

    public var isGood: Bool { host?.isGood ?? true }

    public var lines: [String] {
        var lines = ["restored"] + manifest.lines
        if forgottenIntents > 0 {
            lines.append(
                "           \(Quantity.of(forgottenIntents, "upload")) under way at that time: left in people's storage, unused"
            )
        }
        lines +=
            host?.lines ?? ["NEXT       put the sealing key in its place, run syncctl fsck, then start syncd.target"]
        lines.append(
            "           What happened after \(manifest.header.takenAt) UTC is not known any more: newer objects stay unused in "
                + "people's folders, replaced ones are reported as gone.")
        return lines
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
            "of         \(header.takenAt) UTC, database \(header.database), server \(header.serverVersion), schema "
                + "\(header.schema)",
            "holds      "
                + (rows.isEmpty ? "nothing" : rows.map { "\($0.key) \($0.value.rows)" }.joined(separator: ", ")),
        ] + (files.map { ["files      \($0.keys.sorted().joined(separator: ", "))"] } ?? [])
    }
}
