import ArgumentParser
import Configuration
import Operations
import Store

/// Counts the stored data and the pending work.
struct StatusCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Counts users, groups, files, and pending work.")

    @OptionGroup var options: CommonOptions
    @OptionGroup var host: HostMaintenanceFolder
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
        let (counts, notice) = try installation.store.snapshot {
            (try $0.overview(at: now), try $0.maintenanceNotice())
        }
        let maintenance = MaintenanceReport(allHosts: notice, thisHost: host.files.text)
        return Status(
            serverVersion: ServerRelease.text, schema: MigrationRunner.newestStep,
            database: installation.databaseDescription, sandbox: installation.configuration.sandbox != nil,
            maintenance: maintenance.isOpen ? nil : maintenance, counts: counts)
    }
}
