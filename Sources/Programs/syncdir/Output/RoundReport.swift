import SyncDirectory

/// The totals of several rounds.
struct RoundReport: Encodable {
    var sent: [DirectorySynchronizer.Change] = []
    var received: [DirectorySynchronizer.Change] = []
    var conflicts: [DirectoryConflict] = []
    /// Files that are not sent, or cannot be fetched, and why.
    var problems: [DirectorySynchronizer.Change] = []
    /// Files that the server has again, after it had lost them or others had deleted them.
    var restored: [DirectorySynchronizer.Change] = []
    /// Whether the server was restored from a backup.
    var serverWasRestored = false
    var awaited: [DirectorySynchronizer.Change] = []
    /// Files that never settle: `growing` or `rewritten`.
    var changing: [DirectorySynchronizer.Change] = []
    var skipped: [DirectorySynchronizer.Change] = []
    /// Missing files that were not deleted for others.
    var heldDeletions: [String] = []

    mutating func add(_ round: DirectorySynchronizer.Round) {
        sent += round.sent
        received += round.received
        conflicts += round.conflicts
        unreachable += round.unreachable
        problems = round.problems + unreachable
        restored += round.restored
        serverWasRestored = serverWasRestored || round.serverWasRestored
        isUnavailable = round.isPostponed && !round.hasBlocked
        awaited += round.awaited
        changing = round.changing
        skipped = Self.changes(round.skipped)
        hasSkippedProblems = round.skipped.contains { $0.reason.isProblem }
        heldDeletions = round.heldDeletions
    }

    private var hasSkippedProblems = false
    private var unreachable: [DirectorySynchronizer.Change] = []
    /// Whether every unsent change waits for a storage that is not answering.
    private var isUnavailable = false

    /// The exit status of the command; nil for success.
    var status: ExitStatus? {
        if !heldDeletions.isEmpty { return .deletionsHeld }
        if isUnavailable, unreachable.isEmpty, changing.isEmpty, !hasSkippedProblems { return .unavailable }
        return problems.isEmpty && changing.isEmpty && !hasSkippedProblems ? nil : .failed
    }

    private enum CodingKeys: String, CodingKey {
        case sent, received, conflicts, problems, restored, serverWasRestored, awaited, changing, skipped, heldDeletions
    }

    /// Reports a round's results to people.
    func tell(_ round: DirectorySynchronizer.Round) {
        if round.serverWasRestored { Output.note(Self.serverRestored) }
        for change in round.restored { Output.note("↑ \(Self.line(change)): the server has it again") }
        for change in round.sent { Output.note("↑ \(Self.line(change))") }
        for change in round.received { Output.note("↓ \(Self.line(change))") }
        for conflict in round.conflicts { Output.note("! \(Self.sentence(conflict))") }
        for change in round.awaited { Output.note("… \(Self.awaiting(change))") }
    }

    /// The message after the server was restored from a backup.
    static let serverRestored =
        "The server was restored from a backup. Lost files that are in this directory are sent again; changes that "
        + "others have made since are treated like any conflict."

    static func awaiting(_ change: DirectorySynchronizer.Change) -> String {
        "\(Output.printable(change.path)) will arrive when its owner, who has switched accounts, has uploaded it again"
    }

    /// The final lines, for people.
    var summary: String {
        (["\(sent.count) sent, \(received.count) received, \(conflicts.count) conflicts"] + complaints)
            .joined(separator: "\n")
    }

    /// The problems, for people; empty on success.
    var problemLines: [String] {
        var report = self
        report.skipped.removeAll { $0.what == DirectoryScan.Reason.notAFile.rawValue }
        return report.complaints
    }

    /// The files that are not synchronized or skipped, for people.
    var complaints: [String] {
        var lines = problems.map { "not synchronized: \(Self.line($0))" }
        lines += changing.map(Self.changing)
        lines += skipped.map { "skipped: \(Self.leftAlone($0))" }
        if !heldDeletions.isEmpty { lines.append(Self.held(heldDeletions)) }
        return lines
    }

    static func changes(_ skipped: [DirectoryScan.Skipped]) -> [DirectorySynchronizer.Change] {
        skipped.map { DirectorySynchronizer.Change(path: $0.path, what: $0.reason.rawValue) }
    }

    static func line(_ change: DirectorySynchronizer.Change) -> String {
        change.what == "contents" ? Output.printable(change.path) : "\(Output.printable(change.path)) (\(change.what))"
    }

    static func changing(_ change: DirectorySynchronizer.Change) -> String {
        let path = Output.printable(change.path)
        return change.what == DirectoryKeeper.Restlessness.growing.rawValue
            ? "\(path) is being changed; its contents so far are sent, and the next sync will send the rest"
            : "\(path) is being changed; the next sync will send it"
    }

    static func leftAlone(_ change: DirectorySynchronizer.Change) -> String {
        let path = Output.printable(change.path)
        return switch DirectoryScan.Reason(rawValue: change.what) {
        case .sameName:
            "\(path), spelled \(Output.spelled(change.path)): another file here has, or had, the same name in another "
                + "spelling; rename this one to synchronize it"
        case .unusableName:
            "\(path): the name is not UTF-8, is too long, or has control characters; rename it to synchronize it"
        case .unreadable: "\(path): it cannot be read; check its permissions"
        case .notAFile: "\(path): it is neither a file nor a folder"
        case nil: path
        }
    }

    /// The number of held deletions that are shown as examples.
    private static let examples = 3

    static func held(_ paths: [String]) -> String {
        let names = paths.prefix(examples).map(Output.printable).joined(separator: ", ")
        return
            "\(paths.count) files are missing here, such as \(names). They are not deleted for others: an unmounted "
            + "folder looks the same. Restore them, or delete them for everybody with syncdir sync --allow-deletions"
    }

    static func sentence(_ conflict: DirectoryConflict) -> String {
        let path = Output.printable(conflict.path)
        let copy = conflict.copy.map(Output.printable)
        return switch conflict.kind {
        case .bothChanged: "\(path) was changed on both sides; yours is \(copy ?? "gone")"
        case .changedAndDeleted: "\(path) was deleted by others, and changed here: it is kept"
        case .deletedAndChanged: "\(path) was deleted here, and changed by others: it is restored"
        case .samePath: "two files have the path \(path); one of them is now \(copy ?? "elsewhere")"
        }
    }
}
