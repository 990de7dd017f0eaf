import FoundationEssentials
import Operations

/// An import's report for people and for programs.
enum ReportText {
    /// The number of rows listed for each reason; the JSON report has all.
    private static let maximumRows = 5

    static func plain(_ report: ImportReport) -> [String] {
        let users = report.users
        let groups = report.groups
        var lines = [
            report.isDryRun ? "Nothing was written. An import would do this:" : "Imported:",
            "  users   \(users.added) added, \(users.updated) updated, \(users.unchanged) unchanged, "
                + "\(users.leftAlone) kept; \(users.devicesAdded) devices added",
            "  groups  \(groups.added) added, \(groups.updated) updated, \(groups.unchanged) unchanged, "
                + "\(groups.leftAlone) kept",
            "  files   \(groups.filesWritten) written, \(groups.stagedChangesAdded) staged changes and "
                + "\(groups.invitationsAdded) invitations added",
        ]
        if report.notes.isEmpty { return lines }
        lines.append("Differences from the source (the handbook explains each word):")
        for entry in report.summary {
            lines.append("  \(entry.count) \(entry.outcome.rawValue): \(entry.reason.rawValue)")
            let rows = report.notes.filter { $0.outcome == entry.outcome && $0.reason == entry.reason }
            for note in rows.prefix(maximumRows) { lines.append("      \(note.table) \(note.row)") }
            if rows.count > maximumRows { lines.append("      … and \(rows.count - maximumRows) more: --json") }
        }
        return lines
    }

    static func json(_ report: ImportReport) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        return String(decoding: try encoder.encode(report), as: UTF8.self)
    }
}
