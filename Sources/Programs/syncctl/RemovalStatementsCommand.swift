import ArgumentParser
import Configuration
import Operations
import Posix

/// Prints the statements that remove this server's database; for the package.
struct RemovalStatementsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "removal-statements", abstract: "Prints the SQL that removes the database and its accounts.",
        discussion: """
            For the package, which keeps them for purge. Prints nothing for a database that is not on a socket: it may \
            serve other hosts.
            """, shouldDisplay: false)

    @OptionGroup var file: ConfigurationFile

    func run() throws {
        let text = String(decoding: try TextFile.read(file.path), as: UTF8.self)
        let configuration = try ServerConfiguration(proposed: text, withoutSecretsAt: file.path)
        guard let database = AppDatabase(configuration), database.isLocal else { return }
        Output.write(database.removal)
    }
}
