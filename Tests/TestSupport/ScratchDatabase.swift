import Foundation
import Glibc
public import MariaDB
import Posix
import Synchronization

/// A private MariaDB server on a unix socket in a temporary folder, removed when the test process ends.
///
/// It runs as any user, listens on no port, and does not guarantee durability. Use ``shared()`` with a separate
/// database; create another server only to stop, restart or freeze it.
///
/// A small shell is the server's parent. It reads from a pipe whose other end only this process holds. When this
/// process ends for any reason, the shell kills the server and removes the folder.
public final class ScratchDatabase: Sendable {
    /// A failure of the server, with the end of its log.
    public struct Failure: Error, CustomStringConvertible {
        /// One sentence and the end of the server's log.
        public let description: String
    }

    /// The unix socket that the server listens on.
    public let socketPath: String

    private let folder: String
    private let options: [String]
    private let databases = Atomic<Int>(0)
    private let supervisor = Mutex<Supervisor?>(nil)
    private let schema = Mutex<String?>(nil)

    private static let sharedServer = Mutex<Result<ScratchDatabase, Failure>?>(nil)

    /// The shared server of this test process, started on first use.
    public static func shared() throws -> ScratchDatabase {
        try sharedServer.withLock { server in
            if let server { return try server.get() }
            do {
                let started = try ScratchDatabase()
                server = .success(started)
                return started
            } catch {
                server = .failure(Failure(description: "\(error)"))
                throw error
            }
        }
    }

    /// Installs and starts a server; takes a few seconds.
    /// - Parameter options: additional options for the server, such as `--innodb-file-per-table=0`.
    public init(options: [String] = []) throws {
        self.options = options
        folder = NSTemporaryDirectory() + "syncserver-db-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
        socketPath = folder + "/db.sock"
        // A separate folder for temporary tables, since a starting server removes those of others (seen: 1051).
        for name in ["data", "tmp"] {
            try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
        }
        let install = try Command(
            "/usr/bin/mariadb-install-db",
            [
                "--no-defaults", "--datadir=\(folder)/data", "--tmpdir=\(folder)/tmp", "--innodb-log-file-size=32M",
                "--auth-root-authentication-method=normal", "--skip-test-db",
            ] + Self.userArguments)
        guard install.status == 0 else {
            defer { try? FileManager.default.removeItem(atPath: folder) }
            throw Failure(description: "mariadb-install-db failed: \(install.output.suffix(2000))")
        }
        try start()
    }

    deinit { supervisor.withLock { $0 = nil } }

    /// Creates an empty database with a unique name, and returns settings to connect to it.
    public func makeDatabase() throws -> ConnectionSettings {
        let number = databases.add(1, ordering: .relaxed).newValue
        var settings = settings(database: nil)
        var connection = try Connection(settings)
        try connection.executeScript("CREATE DATABASE test_\(number) CHARACTER SET utf8mb4")
        settings.database = "test_\(number)"
        return settings
    }

    /// Creates a database like the one that `migrate` prepared, with its rows. `migrate` runs for the first database
    /// only, because a migration rebuilds tables many times.
    /// - Parameter migrate: always the same.
    public func makeDatabase(migratedBy migrate: (ConnectionSettings) throws -> Void) throws -> ConnectionSettings {
        let script = try schema.withLock { known in
            if let known { return known }
            let first = try makeDatabase()
            try migrate(first)
            let script = try dump(of: first)
            known = script
            return script
        }
        let settings = try makeDatabase()
        var connection = try Connection(settings)
        try connection.executeScript(script)
        return settings
    }

    /// The statements that create a database's tables and rows.
    private func dump(of settings: ConnectionSettings) throws -> String {
        let dump = try Command(
            "/usr/bin/mariadb-dump",
            [
                "--no-defaults", "--socket=\(socketPath)", "--user=root", "--hex-blob", "--skip-add-drop-table",
                "--skip-add-locks", "--skip-disable-keys", "--skip-comments", settings.database ?? "",
            ])
        guard dump.status == 0 else { throw Failure(description: "mariadb-dump failed: \(dump.output.suffix(2000))") }
        return dump.output
    }

    /// Settings of the administrator account, whose password is empty.
    public func settings(database: String?) -> ConnectionSettings {
        ConnectionSettings(address: .unixSocket(path: socketPath), user: "root", password: "", database: database)
    }

    /// Stops the server cleanly and keeps its data.
    public func stop() throws { try supervisor.withLock { try $0.take()?.stop() } }

    /// Starts the server again after ``stop()``, and waits until it answers.
    public func start() throws {
        let arguments =
            [
                "--no-defaults", "--datadir=\(folder)/data", "--tmpdir=\(folder)/tmp", "--socket=\(socketPath)",
                "--pid-file=\(folder)/db.pid",
                "--skip-networking", "--skip-log-bin", "--innodb-flush-log-at-trx-commit=0",
                "--innodb-flush-method=nosync", "--innodb-doublewrite=0", "--innodb-buffer-pool-size=64M",
                "--innodb-log-file-size=32M", "--sync-frm=OFF", "--skip-name-resolve", "--performance-schema=OFF",
                "--log-error=\(folder)/error.log",
            ] + Self.userArguments + options
        let supervisor = try Supervisor(folder: folder, program: "/usr/sbin/mariadbd", arguments: arguments)
        self.supervisor.withLock { $0 = supervisor }
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            do {
                _ = try Connection(settings(database: nil))
                return
            } catch {
                guard ContinuousClock.now < deadline, supervisor.isRunning else {
                    throw Failure(
                        description:
                            "mariadbd does not answer (\(String(reflecting: error))): \(endOfFile(folder + "/error.log"))"
                    )
                }
                usleep(20_000)
            }
        }
    }

    /// Freezes the server: it accepts connections but does not reply until ``thaw()``.
    public func freeze() { serverProcess?.freeze() }

    /// Ends ``freeze()``.
    public func thaw() { serverProcess?.thaw() }

    private var serverProcess: StackProcess? {
        let text = (try? String(contentsOfFile: folder + "/db.pid", encoding: .utf8)) ?? ""
        guard let pid = pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)), pid > 1 else { return nil }
        return StackProcess(pid)
    }

    /// To run the server as root, the option must request it explicitly.
    private static var userArguments: [String] { getuid() == 0 ? ["--user=root"] : [] }
}

/// The shell that runs the server, and the pipe that keeps both alive.
private final class Supervisor: Sendable {
    private let shell: ChildProcess
    private let leash: FileHandle

    init(folder: String, program: String, arguments: [String]) throws {
        // A line means: stop cleanly and keep the data. The end of the pipe means: the server is no longer needed.
        let script = """
            folder=$1; shift
            "$@" </dev/null >>"$folder/output.log" 2>&1 &
            server=$!
            if read -r word; then
                kill -TERM $server; wait $server
            else
                kill -KILL $server; wait $server; rm -rf "$folder"
            fi
            """
        let input = Pipe()
        defer { try? input.fileHandleForReading.close() }
        leash = input.fileHandleForWriting
        shell = try ChildProcess(
            ["/bin/bash", "-c", script, "bash", folder, program] + arguments,
            input: input.fileHandleForReading.fileDescriptor, hasOwnGroup: true)
    }

    var isRunning: Bool { shell.isRunning }

    func stop() throws {
        leash.write(Data("stop\n".utf8))
        try shell.wait()
    }
}

/// The last 2,000 characters of a text file.
private func endOfFile(_ path: String) -> String {
    String(((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").suffix(2000))
}
