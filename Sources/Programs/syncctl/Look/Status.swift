import ArgumentParser
import Configuration
import FoundationEssentials
import Operations
import Posix
import Store
import SyncProtocol

/// Counts the stored data and the pending work.
struct StatusCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Counts users, groups, files, and pending work.")

    @OptionGroup var options: CommonOptions
    @OptionGroup var host: HostMaintenanceFolder
    @Flag(help: "Counts the files even if there are many, which takes seconds; otherwise estimates more than 20,000.")
    var exact = false
    @Flag(help: "Repeats the report until interrupted, and marks changes.") var watch = false
    @Option(help: ArgumentHelp("Seconds between two reports, with --watch.", valueName: "seconds")) var interval = 2

    func validate() throws {
        guard (1...3_600).contains(interval) else { throw ValidationError("--interval must be from 1 to 3600.") }
    }

    func run() throws {
        if watch { try StatusWatch(interval: .seconds(interval), asJSON: options.isJSON).run(report) }
        try tell(report())
    }

    func report() throws -> any Report {
        let installation = try Installation(options)
        let now = installation.now
        let (counts, notice, rebuild) = try installation.store.snapshot {
            (try $0.overview(at: now, isExact: exact), try $0.maintenanceNotice(), try $0.rebuildProgress())
        }
        let maintenance = MaintenanceReport(allHosts: notice, thisHost: host.files.text)
        return Status(
            serverVersion: ServerRelease.text, schema: MigrationRunner.newestStep,
            database: installation.databaseDescription, sandbox: installation.configuration.sandbox != nil,
            maintenance: maintenance.isOpen ? nil : maintenance, rebuild: rebuild, counts: counts)
    }
}

/// Shows a report repeatedly until the process is interrupted. On a terminal, each report replaces the previous one,
/// and changes are marked. Otherwise each report follows a line with the time, or is a JSON object.
struct StatusWatch {
    let interval: Duration
    let asJSON: Bool

    /// - Parameter report: creates the current report. An error that it throws is shown instead, and the watch
    ///   continues.
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

    /// The lines, with a mark at each that `former` does not contain.
    static func marked(_ lines: [String], _ former: [String]) -> [String] {
        lines.map { former.isEmpty || former.contains($0) ? "  \($0)" : "* \($0)" }
    }
}
