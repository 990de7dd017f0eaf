import ArgumentParser
import Configuration
import MariaDB
import OpenSSLCrypto
import Operations
import Posix
import Store
import SyncProtocol
import Vault

/// Backups of the database, and the commands that use them.
struct Backups: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Creates, lists, verifies, copies and restores backups.",
        subcommands: [
            BackupCommand.self, ListBackups.self, VerifyBackup.self, CopyBackup.self, Restore.self, MarkRestored.self,
        ])
}

/// Lists the backups of a folder.
struct ListBackups: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists the backups of this host, newest last.",
        discussion: """
            Each can be verified (syncctl backup verify) and restored (syncctl backup restore). All backups of the two \
            days before the newest one are kept, then the last one of each day and week; see syncctl help backup make.
            """)

    @OptionGroup var options: CommonOptions
    @Option(help: ArgumentHelp("The folder of backups.", valueName: "folder"), completion: .directory)
    var from = HostedApp.current.backupFolder
    @Option(help: ArgumentHelp("The folder in which copies are recorded.", valueName: "folder"), completion: .directory)
    var record = BackupCopy.usualRecord

    func report() throws -> any Report {
        guard AtomicFile.exists(from) else { throw CommandFailure(.foundSomething, "there is no folder \(from)") }
        return try BackupListing(
            of: BackupFolder(path: from), lastCopied: try? BackupRecord(.copied, in: record),
            now: WireDate(secondsSince1970: WallClock.secondsSince1970()))
    }
}

/// Writes a backup.
struct BackupCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "make", abstract: "Writes a backup of the whole database while the server runs.",
        discussion: """
            The backup is one file with a consistent snapshot of all rows and, for the package's server, its \
            configuration, nginx's site and the settings of units. Each new backup is verified. It does NOT contain \
            the sealing key and the other secrets: without the key, all stored tokens are lost. It does not contain \
            people's files either; those are in their own storage.

            With --into, backups are named after their time, and each good backup is followed by the deletion of old \
            ones: all backups of the two days before the new one are kept, then the last one of each day and of each \
            week, for backup.keepDays days and backup.keepWeeks weeks that have a backup. syncd-backup.timer does this \
            every hour.
            """)

    @OptionGroup var options: CommonOptions
    @Argument(
        help: ArgumentHelp(
            """
            The file to create, such as sync-2026-11-21.backup.gz; it must not exist. - writes to standard output; the \
            receiver must then verify the backup (syncctl backup verify -).
            """, valueName: "file"), completion: .file())
    var path: String?
    @Option(help: ArgumentHelp("A folder of backups, instead of a file.", valueName: "folder"), completion: .directory)
    var into: String?
    @Option(help: ArgumentHelp("The number of days whose last backup is kept.", valueName: "days")) var keepDays: Int?
    @Option(
        help: ArgumentHelp(
            "The number of weeks whose last backup is kept.", valueName: "weeks")) var keepWeeks: Int?
    @Option(
        help: ArgumentHelp(
            "A folder in which to record the backup for doctor and metrics; with --into.", valueName: "folder"),
        completion: .directory)
    var record: String?

    func validate() throws {
        guard (path == nil) != (into == nil) else { throw ValidationError("Name a file, or a folder with --into.") }
        guard into != nil || (keepDays == nil && keepWeeks == nil && record == nil) else {
            throw ValidationError("--keep-days, --keep-weeks and --record require --into.")
        }
        guard keepDays ?? 1 >= 1, keepWeeks ?? 0 >= 0 else {
            throw ValidationError("--keep-days must be at least 1, and --keep-weeks at least 0.")
        }
        if path == "-", Terminal.isOutput { throw ValidationError("A backup cannot be written to a terminal.") }
    }

    /// On standard output, the backup replaces the report.
    func run() throws {
        let report = try report()
        if path == "-" { Output.complain(report.lines) } else { try Output.write(report, asJSON: options.isJSON) }
    }

    func report() throws -> any Report {
        let installation = try Installation(options, secrets: .ofDatabase)
        let host = hostFiles(installation.configuration)
        let writer = BackupWriter(store: installation.store, files: host.files)
        let database = installation.configuration.database.database ?? ""
        let now = installation.now
        var report: BackupReport
        if let into {
            report = try keep(in: BackupFolder(path: into), installation.configuration.backups, now) { path in
                try writer.write(to: path, serverVersion: ServerRelease.text, database: database, at: now)
            }
        } else if let path, path != "-" {
            report = try writer.write(to: path, serverVersion: ServerRelease.text, database: database, at: now)
        } else {
            report = try writer.writeToStandardOutput(serverVersion: ServerRelease.text, database: database, at: now)
        }
        report.omittedFiles = host.omitted
        return report
    }

    /// The files that belong to a configuration are known only for the package's.
    private func hostFiles(_ configuration: ServerConfiguration) -> (files: [HostFile], omitted: [String]) {
        guard options.file.path == SetupPaths.configuration else { return ([], []) }
        return HostFiles().collect(leavingOutConfiguration: !configuration.inlineSecrets.isEmpty)
    }

    private func keep(
        in folder: BackupFolder, _ settings: ServerConfiguration.Backups, _ now: WireDate,
        _ write: (String) throws -> BackupReport
    ) throws -> BackupReport {
        guard RegularFile.exists(folder.path) else {
            throw CommandFailure(.foundSomething, "there is no folder \(folder.path)")
        }
        return try folder.withLock {
            let path = folder.path(of: now)
            var report = try write(path)
            try RegularFile.giveToOwnerOfFolder(path)
            if let record {
                let name = String(path.split(separator: "/").last ?? "")
                try BackupRecord(name: name, takenAt: now).write(.made, in: record)
            }
            report.deleted = try folder.prune(
                RetentionPolicy(days: keepDays ?? settings.keepDays, weeks: keepWeeks ?? settings.keepWeeks),
                after: now)
            return report
        }
    }
}

/// Verifies a backup.
struct VerifyBackup: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Checks that a backup is complete, or that it can be restored.",
        discussion: """
            Without an option, it reads the file and compares all checksums and counts; it needs no database. With \
            --scratch-database, it restores the backup there, runs fsck, and empties the database again. A backup on \
            standard input is read once and takes no disk space.
            """)

    @OptionGroup var options: CommonOptions
    @Argument(
        help: ArgumentHelp("The backup; - for standard input.", valueName: "file"),
        completion: .file(extensions: ["gz"])) var path: String
    @Option(
        help: ArgumentHelp(
            "An empty database on the same server and with the same user, to restore into.", valueName: "name"))
    var scratchDatabase: String?

    func validate() throws {
        guard path != "-" || scratchDatabase == nil else {
            throw ValidationError("A restored backup is read twice: it must be a file.")
        }
    }

    func report() throws -> any Report {
        let verifier = BackupVerifier(path: path == "-" ? "/dev/stdin" : path)
        guard let scratchDatabase else { return try verifier.verify() }
        let configuration = try ServerConfiguration(readingFrom: options.file.path)
        guard scratchDatabase != configuration.database.database else {
            throw CommandFailure(.configuration, "\(scratchDatabase) is the server's database; name another one")
        }
        ClientLibrary.initialize()
        var settings = Installation.patient(configuration.database)
        settings.database = scratchDatabase
        return try verifier.verify(
            restoringInto: settings, sealer: CredentialSealer(keys: try KeyRing(configuration)))
    }
}

/// Copies the newest backup to another place with a program that the operator provides.
struct CopyBackup: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy", abstract: "Copies the newest backup elsewhere, and verifies the copy.",
        discussion: """
            Runs a program twice: PROGRAM send NAME, with the backup as its standard input, must store it elsewhere \
            under that name; PROGRAM fetch NAME must write it to standard output. The copy is good if both are \
            identical; then it is recorded for doctor and metrics. syncd-backup.service does this after each backup if \
            a program /etc/syncd/backup-copy exists.
            """)

    @OptionGroup var options: CommonOptions
    @Option(help: ArgumentHelp("The folder of backups.", valueName: "folder"), completion: .directory) var from =
        HostedApp.current.backupFolder
    @Option(help: ArgumentHelp("The program.", valueName: "file"), completion: .file()) var program =
        SetupPaths.configurationFolder + "/backup-copy"
    @Option(
        help: ArgumentHelp(
            "The folder in which to record the copy; it also holds the fetched backup temporarily.", valueName: "folder"
        ),
        completion: .directory)
    var record = BackupCopy.usualRecord

    func report() throws -> any Report {
        let copy = BackupCopy(from: BackupFolder(path: from), by: program, record: record)
        do { return try copy.copyNewest() } catch let failure as BackupCopy.Failure {
            throw CommandFailure(.foundSomething, "\(failure)")
        }
    }
}

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
