import ArgumentParser
import Configuration
import MariaDB
import OpenSSLCrypto
import Operations
import Vault

/// Verifies a backup.
struct VerifyBackup: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Checks that a backup is whole, or that it can be restored.",
        discussion: """
            Without an option it reads the file and compares all sums and counts; no database is needed. With \
            --scratch-database it restores it there, runs fsck, and removes all of it again. A backup on standard input is \
            read once, and needs no space.
            """)

    @OptionGroup var options: CommonOptions
    @Argument(
        help: ArgumentHelp("The backup; - for standard input.", valueName: "file"),
        completion: .file(extensions: ["gz"])) var path: String
    @Option(help: ArgumentHelp("An empty database of the same server and user, to restore into.", valueName: "name"))
    var scratchDatabase: String?

    func validate() throws {
        guard path != "-" || scratchDatabase == nil else {
            throw ValidationError("To restore a backup it is read twice: it must be a file.")
        }
    }

    func report() throws -> any Report {
        let verifier = BackupVerifier(path: path == "-" ? "/dev/stdin" : path)
        guard let scratchDatabase else { return try verifier.verify() }
        let configuration = try ServerConfiguration(readingFrom: options.file.path)
        guard scratchDatabase != configuration.database.database else {
            throw CommandFailure(.configuration, "\(scratchDatabase) is the server's own database")
        }
        ClientLibrary.initialize()
        var settings = Installation.patient(configuration.database)
        settings.database = scratchDatabase
        return try verifier.verify(
            restoringInto: settings, sealer: CredentialSealer(keys: try KeyRing(configuration)))
    }
}
