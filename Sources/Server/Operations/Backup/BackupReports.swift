/// What a backup holds, and what it does not.
public struct BackupReport: Report {
    public var path: String
    public var manifest: BackupFormat.Manifest

    public var lines: [String] {
        ["backup     \(path)"] + manifest.lines + Self.warnings(manifest)
    }

    /// What everybody who relies on the file must know.
    static func warnings(_ manifest: BackupFormat.Manifest) -> [String] {
        let keys = manifest.sealingKeys.joined(separator: ", ")
        return [
            "NOT IN IT  the sealing key\(manifest.sealingKeys.isEmpty ? "" : " (\(keys))"): without it every stored token is "
                + "lost and all owners must sign in again.",
            "           Also not: the configuration, other secrets, certificates, and people's files, which are in their "
                + "own storage.",
            "           Keep /etc/syncd and the sealing key elsewhere, not beside the backup: together they open all tokens.",
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

    public var lines: [String] {
        var lines = ["restored"] + manifest.lines
        if forgottenIntents > 0 {
            lines.append(
                "           \(Quantity.of(forgottenIntents, "upload")) under way at that time: left in people's storage, unused"
            )
        }
        lines.append("NEXT       put the sealing key in its place, run syncctl fsck, then start syncd.target")
        lines.append(
            "           What happened after \(manifest.header.takenAt) UTC is not known any more: newer objects stay unused in "
                + "people's folders, replaced ones are reported as gone.")
        return lines
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
        ]
    }
}
