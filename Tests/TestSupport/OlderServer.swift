import Foundation

/// A SyncServerII database on the stack's MariaDB server, for tests of the import.
public struct OlderServer: Sendable {
    private let server: TestServer
    private let socket: String
    /// The database's name.
    public let database: String

    /// Creates the database with its eight tables; see `Tests/Server/Operations/ImportTests/Fixtures`.
    public init(_ server: TestServer) throws {
        self.server = server
        socket = try server.environment.value("DB_SOCKET")
        database = "older_\(UUID().uuidString.replacingOccurrences(of: "-", with: "_"))"
        let schema = PrivateStack.repository.appending(path: "Tests/Server/Operations/ImportTests/Fixtures/schema.sql")
        try run("CREATE DATABASE \(database)", in: "mysql")
        try run(String(contentsOf: schema, encoding: .utf8))
    }

    /// Runs statements in the older server's database.
    public func run(_ sql: String) throws { try run(sql, in: database) }

    private func run(_ sql: String, in database: String) throws {
        let command = try Command(
            "/usr/bin/mariadb", ["--no-defaults", "--socket=\(socket)", "--execute=\(sql)", database])
        guard command.status == 0 else { throw StackError.scriptFailed(command.output) }
    }

    /// Removes the database.
    public func drop() { try? run("DROP DATABASE \(database)") }

    /// Runs `syncctl import` into the stack and returns the report.
    @discardableResult
    public func takeOver() throws -> JSONValue {
        guard let responder = try server.processes("syncd_api").first else {
            throw StackError.scriptFailed("no responder runs")
        }
        // The `syncctl` that belongs to the running server.
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(responder.id)/exe")
        let command = try Command(
            URL(filePath: program).deletingLastPathComponent().appending(path: "syncctl").path,
            [
                "import", "--config", server.environment.value("CONFIG_FILE"), "--from-socket", socket,
                "--from-database", database, "--from-user", NSUserName(), "--json",
            ])
        guard command.status == 0, let json = JSONValue(Array(command.output.utf8)) else {
            throw StackError.scriptFailed(command.output)
        }
        return json
    }
}
