import ArgumentParser
import Operations
import Posix
import Store

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
