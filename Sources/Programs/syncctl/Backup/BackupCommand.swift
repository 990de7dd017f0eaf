import ArgumentParser
import Configuration
import MariaDB
import Operations
import Posix
import Store
import SyncProtocol

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
