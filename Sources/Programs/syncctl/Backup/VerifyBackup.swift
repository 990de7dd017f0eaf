import ArgumentParser
import Configuration
import MariaDB
import OpenSSLCrypto
import Operations
import Vault

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
