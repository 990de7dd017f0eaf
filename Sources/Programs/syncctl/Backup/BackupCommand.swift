import ArgumentParser
import Configuration
import MariaDB
import Operations

/// Writes a backup.
struct BackupCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Writes a backup of the whole database while the server works.",
        discussion: """
            One file with the rows of one moment. The sealing key is NOT in it: without the key all stored tokens are \
            lost. Neither are people's files, which are in their own storage.
            """)

    @OptionGroup var options: CommonOptions
    @Argument(help: "The file to make, such as sync-2026-11-21.backup.gz; it must not exist.", completion: .file())
    var path: String

    func report() throws -> any Report {
        let installation = try Installation(options)
        return try BackupWriter(store: installation.store).write(
            to: path, serverVersion: ServerRelease.text, database: installation.configuration.database.database ?? "",
            at: installation.now)
    }
}
