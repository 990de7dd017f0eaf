import ArgumentParser
import Configuration
import MariaDB
import Operations
import Posix
import SyncProtocol

/// Fills an empty database from a backup, and makes a server of the host.
struct Restore: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
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
    @Argument(help: ArgumentHelp("The backup.", valueName: "file"), completion: .file(extensions: ["gz"])) var path:
        String
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

/// Tells clients that the database was put back to an earlier state by other means than `restore`.
struct MarkRestored: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "mark-restored",
        abstract: "Lets devices notice that the database was put back to an earlier state by other means.",
        discussion: """
            Needed after a dump, a snapshot of a disk or an old node of a cluster took the place of the database; restore \
            does it by itself. Run it after that and before the server is started or opened: each group gets a new mark, \
            which devices compare. They take what they have for newer than what the server lists, and upload it again. \
            Uploads in progress at that time are forgotten, and fsck keeps what was stored since.

            Without a new mark, devices replace newer files by the older ones that the server lists. If the server was open \
            before, devices cannot distinguish what was changed on it from the earlier state, and may replace it by what they \
            have.
            """)

    @OptionGroup var options: CommonOptions
    @Argument(
        help: ArgumentHelp(
            "Of what moment the database's contents are, such as 2026-11-25T03:00:00Z; if in doubt, an earlier one.",
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
