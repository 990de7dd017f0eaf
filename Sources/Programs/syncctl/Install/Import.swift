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

/// Where the older server's database is: options, its configuration file, or the file overridden by options.
struct ImportSource: ParsableArguments {
    @Option(
        name: .customLong("from-config"),
        help: ArgumentHelp("The older server's configuration file, Server.json.", valueName: "file"),
        completion: .file(extensions: ["json"]))
    var configurationPath: String?
    @Option(name: .customLong("from-host"), help: ArgumentHelp("The database's host.", valueName: "name")) var host:
        String?
    @Option(
        name: .customLong("from-port"),
        help: ArgumentHelp("The database's port; 3306 unless given.", valueName: "number")) var port: UInt16?
    @Option(
        name: .customLong("from-socket"),
        help: ArgumentHelp("The database's unix socket, instead of a host.", valueName: "socket"), completion: .file())
    var socket: String?
    @Option(name: .customLong("from-database"), help: ArgumentHelp("The database's name.", valueName: "name"))
    var database: String?
    @Option(name: .customLong("from-user"), help: ArgumentHelp("A user with read access to it.", valueName: "account"))
    var user: String?
    @Option(
        name: .customLong("from-password-file"),
        help: ArgumentHelp(
            "A file that contains only that user's password; not needed if the user logs in through the socket.",
            valueName: "file"),
        completion: .file())
    var passwordFile: String?

    func validate() throws {
        guard host == nil || socket == nil else {
            throw ValidationError("--from-host and --from-socket are mutually exclusive.")
        }
        guard configurationPath != nil || (host ?? socket) != nil && database != nil && user != nil else {
            throw ValidationError(
                "Name the older server's database: --from-config, or --from-host or --from-socket together with "
                    + "--from-database and --from-user.")
        }
    }

    /// - Throws: ``ConfigurationError``, ``CommandFailure``.
    func settings() throws -> ConnectionSettings {
        var settings = try configurationPath.map { try OlderServerDatabase.settings(readingFrom: $0) }
        if settings == nil {
            settings = ConnectionSettings(address: .unixSocket(path: ""), user: "", password: "", database: nil)
        }
        guard var settings else { throw ExitCode.failure }
        if let socket {
            settings.address = .unixSocket(path: socket)
        } else if let host {
            settings.address = .tcp(host: host, port: port ?? 3_306)
        } else if let port, case .tcp(let host, _) = settings.address {
            settings.address = .tcp(host: host, port: port)
        }
        if let user { settings.user = user }
        if let database { settings.database = database }
        if let passwordFile {
            var bytes: [UInt8]
            do { bytes = try TextFile.read(passwordFile) } catch {
                throw CommandFailure(
                    error.isDenial ? .noPermission : .foundSomething,
                    "--from-password-file names \(passwordFile), which cannot be read: \(error)")
            }
            while let last = bytes.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") {
                bytes.removeLast()
            }
            settings.password = String(decoding: bytes, as: UTF8.self)
        }
        // Whole tables are read; checking their rows group by group may take a long time.
        settings.readTimeout = .seconds(300)
        return settings
    }
}

/// An import's report for people and for programs.
enum ReportText {
    /// The number of rows listed for each reason; the JSON report has all.
    private static let maximumRows = 5

    static func plain(_ report: ImportReport) -> [String] {
        let users = report.users
        let groups = report.groups
        var lines = [
            report.isDryRun ? "Nothing was written. An import would do this:" : "Imported:",
            "  users   \(users.added) added, \(users.updated) updated, \(users.unchanged) unchanged, "
                + "\(users.leftAlone) kept; \(users.devicesAdded) devices added",
            "  groups  \(groups.added) added, \(groups.updated) updated, \(groups.unchanged) unchanged, "
                + "\(groups.leftAlone) kept",
            "  files   \(groups.filesWritten) written, \(groups.stagedChangesAdded) staged changes and "
                + "\(groups.invitationsAdded) invitations added",
        ]
        if report.notes.isEmpty { return lines }
        lines.append("Differences from the source (the handbook explains each word):")
        for entry in report.summary {
            lines.append("  \(entry.count) \(entry.outcome.rawValue): \(entry.reason.rawValue)")
            let rows = report.notes.filter { $0.outcome == entry.outcome && $0.reason == entry.reason }
            for note in rows.prefix(maximumRows) { lines.append("      \(note.table) \(note.row)") }
            if rows.count > maximumRows { lines.append("      … and \(rows.count - maximumRows) more: --json") }
        }
        return lines
    }

    static func json(_ report: ImportReport) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        return String(decoding: try encoder.encode(report), as: UTF8.self)
    }
}
