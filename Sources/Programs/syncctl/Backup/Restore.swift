import ArgumentParser
import Configuration
import MariaDB
import Operations
import Posix

/// Fills an empty database from a backup, and makes a server of the host.
struct Restore: ReportingCommand {
    static let configuration = CommandConfiguration(
        abstract: "Restores a server from a backup: the rows, and on a new host everything else.",
        discussion: """
            Verifies the backup first. A database in which anything is stored is refused.

            With the package's configuration (/etc/syncd/syncd.json) and as root, it also puts the backup's configuration, \
            nginx's site and settings of units where this host has none, creates the database and its accounts, starts \
            everything, and waits until it answers. Put the copy of /etc/syncd/secrets back before: without the sealing \
            key it refuses and changes nothing. Passwords of the database that are missing are made anew.

            With --rows-only, or another configuration, it fills the database of the configuration and does nothing else.
            """)

    @OptionGroup var options: CommonOptions
    @Argument(help: "The backup.", completion: .file(extensions: ["gz"])) var path: String
    @Flag(help: "Fill the database of the configuration, and do nothing else.") var rowsOnly = false
    @Flag(help: "Go on with another sealing key: all owners will have to sign in again.") var keyLost = false

    func report() throws -> any Report {
        ClientLibrary.initialize()
        guard !rowsOnly, options.file.path == SetupPaths.configuration else {
            let configuration = try ServerConfiguration(readingFrom: options.file.path)
            return try Restorer(into: configuration.database).restore(path)
        }
        guard Terminal.isRoot else {
            throw CommandFailure(.noPermission, "to restore a host takes root; --rows-only restores the database alone")
        }
        var host = HostRestoration(try BackupReader(path: path).examine(), isKeyLost: keyLost)
        let configuration = try host.prepare()
        var report = try Restorer(into: configuration.database).restore(path)
        host.start(configuration)
        report.host = host.report
        return report
    }
}
