import ArgumentParser
import Configuration
import MariaDB
import Operations

/// Fills an empty database from a backup.
struct Restore: ReportingCommand {
    static let configuration = CommandConfiguration(
        abstract: "Fills the empty database of the configuration from a backup.",
        discussion: """
            Verifies the backup first. A database in which anything is stored is refused. Stop the server before, or start \
            it only afterwards.
            """)

    @OptionGroup var options: CommonOptions
    @Argument(help: "The backup.", completion: .file(extensions: ["gz"])) var path: String

    func report() throws -> any Report {
        let configuration = try ServerConfiguration(readingFrom: options.file.path)
        ClientLibrary.initialize()
        return try Restorer(into: configuration.database).restore(path)
    }
}
