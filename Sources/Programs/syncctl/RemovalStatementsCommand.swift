import ArgumentParser
import Configuration
import MariaDB
import Operations

/// Prints how to remove this server's database; for the package.
struct RemovalStatementsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "removal-statements", abstract: "Prints the SQL that removes the database and its accounts.",
        discussion: """
            For the package, which keeps them for purge. Prints nothing for a database that is not reached through a \
            socket: it may serve other hosts.
            """, shouldDisplay: false)

    @OptionGroup var file: ConfigurationFile

    func run() throws {
        let configuration = try ServerConfiguration(readingFrom: file.path)
        guard case .unixSocket = configuration.database.address, let name = configuration.database.database else {
            return
        }
        let statements = DatabaseStatements(database: name, owner: configuration.database.user, isLocal: true)
        Output.write(statements.removal(roles: configuration.roleAccounts.values.map(\.user)))
    }
}
