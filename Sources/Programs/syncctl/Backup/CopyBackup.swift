import ArgumentParser
import Operations
import Posix
import Store

/// Copies the newest backup to another place, by a program of the operator's.
struct CopyBackup: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy", abstract: "Copies the newest backup elsewhere, and verifies the copy.",
        discussion: """
            Runs a program twice: PROGRAM send NAME, with the backup as its standard input, has to store it elsewhere \
            under that name; PROGRAM fetch NAME has to write it to standard output again. Only if the same comes back is \
            the copy good, and noted for doctor and metrics. syncd-backup.service lets this follow each backup where there \
            is a program /etc/syncd/backup-copy.
            """)

    @OptionGroup var options: CommonOptions
    @Option(help: ArgumentHelp("The folder of backups.", valueName: "folder"), completion: .directory) var from =
        HostedApp.current.backupFolder
    @Option(help: ArgumentHelp("The program.", valueName: "file"), completion: .file()) var program =
        SetupPaths.configurationFolder + "/backup-copy"
    @Option(
        help: ArgumentHelp(
            "The folder in which to note the copy; what is fetched lies in it meanwhile.", valueName: "folder"),
        completion: .directory)
    var record = BackupCopy.usualRecord

    func report() throws -> any Report {
        let copy = BackupCopy(from: BackupFolder(path: from), by: program, record: record)
        do { return try copy.copyNewest() } catch let failure as BackupCopy.Failure {
            throw CommandFailure(.foundSomething, "\(failure)")
        }
    }
}
