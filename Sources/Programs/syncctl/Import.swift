import ArgumentParser
import Configuration
import FoundationEssentials
import MariaDB
import OpenSSLCrypto
import Operations
import Posix
import Store
import SyncProtocol
import Vault

/// Imports the data of a SyncServerII.
struct Import: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Imports the users, groups and files of a SyncServerII database.",
        discussion: """
            Reads the older server's database, which stays unchanged, and writes this server's database. It can be \
            interrupted and run again: it imports what is new or has changed there, and keeps what has changed here. \
            Files stay where they are in people's storage. The handbook explains what is imported and what the report \
            means.
            """)

    @OptionGroup var file: ConfigurationFile
    @OptionGroup var source: ImportSource
    @Flag(name: .customLong("dry-run"), help: "Only reports what would be done.") var isDryRun = false
    @Flag(name: .customLong("json"), help: "Prints the report as JSON, with every row that was skipped or changed.")
    var isJSON = false

    func run() throws {
        let configuration = try ServerConfiguration(readingFrom: file.path)
        ClientLibrary.initialize()
        var runner = try MigrationRunner(configuration.database, leaseOwner: try RandomBytes.uuidText())
        try runner.verify()
        let store = MetadataStore(
            pool: ConnectionPool(
                settings: configuration.database, maximumConnections: 1, leaseTimeout: .seconds(30)),
            pause: { Pause.sleep($0) })
        store.open()
        let keys = try KeyRing(configuration)
        var database = try SourceDatabase(source.settings())
        let importer = Importer(
            into: store, sealer: CredentialSealer(keys: keys), isDryRun: isDryRun,
            now: { store.now })
        let report = try importer.run(from: &database)
        if isJSON {
            Output.write(json: try ReportText.json(report))
        } else {
            Output.write(ReportText.plain(report))
        }
    }
}
