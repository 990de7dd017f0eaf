import FoundationEssentials
import Operations
import Posix
import SyncProtocol

/// Shows a report again and again, until the process is interrupted.
///
/// On a terminal each takes the place of the one before, and what has changed since is marked. Otherwise each has a line
/// with the time above it, or is a JSON object.
struct StatusWatch {
    let interval: Duration
    let asJSON: Bool

    /// - Parameter report: makes the report of now. What it throws is shown in its place: whoever watches a server wants to
    ///   see it come back, too.
    func run(_ report: () throws -> any Report) throws -> Never {
        var former: [String] = []
        while true {
            let lines: [String]
            do {
                let report = try report()
                if asJSON { try Output.write(report, asJSON: true) }
                lines = report.lines
            } catch {
                guard let failure = CommandFailure(error), failure.status == .unavailable else { throw error }
                if asJSON { Output.complain(FailureReport(failure)) }
                lines = ["not available: \(failure.message)"]
            }
            if !asJSON { show(lines, former) }
            Output.flush()
            former = lines
            Pause.sleep(interval)
        }
    }

    private func show(_ lines: [String], _ former: [String]) {
        let time = Date.now.formatted(.iso8601.dateSeparator(.dash).timeSeparator(.colon))
        if Terminal.isOutput { Output.clearScreen() }
        Output.write([time] + Self.marked(lines, former) + (Terminal.isOutput ? [] : [""]))
    }

    /// The lines, those that were not there before with a mark.
    static func marked(_ lines: [String], _ former: [String]) -> [String] {
        lines.map { former.isEmpty || former.contains($0) ? "  \($0)" : "* \($0)" }
    }
}
