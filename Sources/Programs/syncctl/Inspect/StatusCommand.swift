import ArgumentParser
import Configuration
import Operations
import Store

/// Counts the stored data and the pending work.
struct StatusCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Counts users, groups, files, and the work that waits.")

    @OptionGroup var options: CommonOptions

    func report() throws -> any Report {
        let installation = try Installation(options)
        let now = installation.now
        let counts = try installation.store.snapshot { try $0.overview(at: now) }
        return Status(
            serverVersion: ServerRelease.text, schema: MigrationRunner.newestStep,
            database: installation.databaseDescription, sandbox: installation.configuration.sandbox != nil,
            counts: counts)
    }
}
