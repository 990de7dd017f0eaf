import SyncDirectory

/// The totals of several rounds.
struct RoundReport: Encodable {
    var sent: [DirectorySynchronizer.Change] = []
    var received: [DirectorySynchronizer.Change] = []
    var conflicts: [DirectoryConflict] = []
    var problems: [DirectorySynchronizer.Change] = []
    var awaited: [DirectorySynchronizer.Change] = []
    var skipped: [DirectorySynchronizer.Change] = []

    mutating func add(_ round: DirectorySynchronizer.Round) {
        sent += round.sent
        received += round.received
        conflicts += round.conflicts
        problems = round.problems
        awaited += round.awaited
        skipped = Self.changes(round.skipped)
    }

    /// Reports what a round did, for people.
    func tell(_ round: DirectorySynchronizer.Round) {
        for change in round.sent { Output.note("↑ \(Self.line(change))") }
        for change in round.received { Output.note("↓ \(Self.line(change))") }
        for conflict in round.conflicts { Output.note("! \(Self.sentence(conflict))") }
        for change in round.awaited { Output.note("… \(Self.awaiting(change))") }
    }

    static func awaiting(_ change: DirectorySynchronizer.Change) -> String {
        "\(Output.printable(change.path)) comes once its owner, who has switched accounts, has uploaded it again"
    }

    /// One line at the end, for people.
    var summary: String {
        var lines = ["\(sent.count) sent, \(received.count) received, \(conflicts.count) conflicts"]
        lines += problems.map { "not synchronized: \(Self.line($0))" }
        lines += skipped.map { "left alone: \(Self.line($0))" }
        return lines.joined(separator: "\n")
    }

    static func changes(_ skipped: [DirectoryScan.Skipped]) -> [DirectorySynchronizer.Change] {
        skipped.map { DirectorySynchronizer.Change(path: $0.path, what: $0.reason.rawValue) }
    }

    static func line(_ change: DirectorySynchronizer.Change) -> String {
        change.what == "contents" ? Output.printable(change.path) : "\(Output.printable(change.path)) (\(change.what))"
    }

    static func sentence(_ conflict: DirectoryConflict) -> String {
        let path = Output.printable(conflict.path)
        let copy = conflict.copy.map(Output.printable)
        return switch conflict.kind {
        case .bothChanged: "\(path) was changed on both sides; yours is \(copy ?? "gone")"
        case .changedAndDeleted: "\(path) was deleted by others, and changed here: it stays"
        case .samePath: "two files are called \(path); one of them is now \(copy ?? "elsewhere")"
        }
    }
}
