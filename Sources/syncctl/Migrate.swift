import ArgumentParser
import MariaDB
import OpenSSLCrypto
import ServerConfiguration
import Store

/// Brings the database's schema to the version that this release needs.
struct Migrate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate", abstract: "Brings the database's schema to the version that this release needs.",
        discussion: "May run again at any time, and on several hosts at once: one works, the others say so.")

    @OptionGroup var file: ConfigurationFile

    @Flag(help: "Change nothing; fail if the schema is not the one that this release needs.")
    var check = false

    func run() throws {
        let configuration = try ServerConfiguration(readingFrom: file.path)
        ClientLibrary.initialize()
        var runner = try MigrationRunner(configuration.database, leaseOwner: try RandomBytes.uuidText())
        guard !check else {
            try runner.verify()
            print("The schema is up to date.")
            return
        }
        let applied = try runner.migrate()
        try runner.verify()
        print(applied.isEmpty ? "The schema is up to date." : "Applied: \(applied.joined(separator: ", ")).")
    }
}
