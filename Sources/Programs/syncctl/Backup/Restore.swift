import ArgumentParser
import Configuration
import MariaDB
import Operations
import Posix
import SyncProtocol

/// Fills an empty database from a backup, and sets up the server on a new host.
struct Restore: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Restores a server from a backup: the rows and, on a new host, everything else.",
        discussion: """
            Verifies the backup first. The database must be empty.

            With the package's configuration (/etc/syncd/syncd.json) and as root, it also restores the configuration, \
            nginx's site and the settings of units if this host has none, creates the database and its accounts, \
            starts the services, and waits until they answer. Put back the copy of /etc/syncd/secrets first: without \
            the sealing key, restore refuses and changes nothing. Missing database passwords are replaced by new ones.

            With --rows-only or another configuration, it only fills the configured database.
            """)

    @OptionGroup var options: CommonOptions
    @Argument(help: ArgumentHelp("The backup.", valueName: "file"), completion: .file(extensions: ["gz"])) var path:
        String
    @Flag(help: "Only fill the configured database.") var rowsOnly = false
    @Flag(help: "Continue with another sealing key: all owners will have to sign in again.") var keyLost = false

    func report() throws -> any Report {
        ClientLibrary.initialize()
        guard !rowsOnly, options.file.path == SetupPaths.configuration else {
            let configuration = try ServerConfiguration(readingFrom: options.file.path)
            return try Restorer(into: configuration.database).restore(path)
        }
        guard Terminal.isRoot else {
            throw CommandFailure(
                .noPermission,
                "restoring a host requires root; --rows-only restores only the database")
        }
        var host = HostRestoration(try BackupReader(path: path).examine(), isKeyLost: keyLost)
        let configuration = try host.prepare()
        var report = try Restorer(into: configuration.database).restore(path)
        host.start(configuration)
        report.host = host.report
        return report
    }
}

/// Lets clients detect that the database was reset to an earlier state without `restore`.
struct MarkRestored: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "mark-restored",
        abstract: "Lets devices detect that the database was reset to an earlier state without restore.",
        discussion: """
            Required after a dump, a disk snapshot or an old cluster node has replaced the database; restore does this \
            itself. Run it before the server is started or opened: each group gets a new mark, which devices compare. \
            Devices then consider their own files newer than those that the server lists, and upload them again. \
            Uploads that were in progress at that time are discarded, and fsck keeps objects stored since then.

            Without a new mark, devices replace their newer files with the older ones that the server lists. If the \
            server was opened before the new mark, devices cannot distinguish changes made in that time from the \
            earlier state, and may overwrite them.
            """)

    @OptionGroup var options: CommonOptions
    @Argument(
        help: ArgumentHelp(
            "The time of the database's contents, such as 2026-11-25T03:00:00Z; if in doubt, an earlier one.",
            valueName: "time"))
    var stateOf: String

    func report() throws -> any Report {
        guard let date = WireDate(typed: stateOf) else {
            throw ValidationError("“\(stateOf)” is not a time such as 2026-11-25T03:00:00Z.")
        }
        let installation = try Installation(options, secrets: .ofDatabase)
        guard date <= installation.now else {
            throw CommandFailure(.foundSomething, "nothing was marked: \(date.iso8601) is in the future")
        }
        return try Restorer.markRestored(installation.store, stateOf: date)
    }
}
