import ArgumentParser
import Configuration
import MariaDB
import Posix

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
    @Option(name: .customLong("from-user"), help: ArgumentHelp("A user who may read it.", valueName: "account"))
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
            throw ValidationError("--from-host and --from-socket exclude each other.")
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
