import Foundation
import Posix
import TestSupport
import Testing

/// A person at a terminal, with a separate home directory.
final class TerminalUser: Sendable {
    let name: String
    let server: TestServer
    private let home: ScratchFolder
    /// The account with which this person signs in in a browser; nil for the sandbox's shortcut.
    private let account: SandboxAccount?

    /// The program next to this process's executable.
    static let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        .appending(path: "syncdir").path

    /// A person who has signed in at the sandbox's Google.
    init(_ name: String, _ server: TestServer, signsIn: Bool = true) throws {
        self.name = name
        self.server = server
        account = nil
        home = try ScratchFolder("terminal")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        if signsIn { try succeed("sign-in", "--server", address, "--sandbox", sandbox, "--sandbox-person", name) }
    }

    /// A person with a browser and an account at a provider where the program is registered.
    init(_ account: SandboxAccount, _ server: TestServer) throws {
        name = account.id
        self.server = server
        self.account = account
        home = try ScratchFolder("terminal")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let folder = home.url.appending(path: "config/syncdir")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // The sandbox's registrations (docs/sandbox.md).
        let configuration = """
            {
              "google": {
                "clientID": "1234567890-desktop.apps.googleusercontent.com",
                "clientSecret": "sandbox-google-desktop-secret",
                "serverClientID": "1234567890-server.apps.googleusercontent.com"
              },
              "dropbox": {"appKey": "sandboxdropboxkey", "ports": []},
              "microsoft": {"clientID": "5a0d31c6-0b7e-4f5d-9c1e-2f6a7b8c9d0e"}
            }
            """
        try Data(configuration.utf8).write(to: folder.appending(path: "config.json"))
    }

    /// Ada with a new group, and Bob, who has joined it; both have synchronised their directories.
    static func couple(
        _ server: TestServer, permission: String = "write"
    ) throws -> (ada: TerminalUser, bob: TerminalUser, group: String) {
        let (ada, bob) = (try TerminalUser("Ada", server), try TerminalUser("Bob", server))
        let group = try ada.succeed("create-group", "Notes of \(UUID().uuidString)")
        try bob.succeed("join", ada.succeed("invite", group, "--permission", permission))
        try ada.succeed("sync", ada.directory.path, "--group", group)
        try bob.succeed("sync", bob.directory.path, "--group", group)
        return (ada, bob, group)
    }

    /// The directory that the person synchronises.
    var directory: URL { home.url.appending(path: "shared") }
    /// For files that will be moved into the directory, on the same file system.
    var outside: URL { home.url }
    var address: String { "http://\(server.address.host):\(server.address.port)\(server.address.prefix)" }
    var sandbox: String { "http://\(server.sandbox.address.host):\(server.sandbox.address.port)" }

    private func commandLine(_ arguments: [String]) throws -> [String] {
        try browser + [
            "/usr/bin/env", "HOME=\(home.path)", "XDG_CONFIG_HOME=\(home.path)/config",
            "XDG_STATE_HOME=\(home.path)/state", Self.program,
        ] + arguments
    }

    /// The beginning of the command line of a person with a browser.
    private var browser: [String] {
        get throws {
            guard let account else { return [] }
            let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "person.py").path
            return [
                "/usr/bin/python3", script, try server.environment.value("SANDBOX_TLS_PORT"),
                server.certificateAuthorityFile, sandbox, account.provider.rawValue, account.id,
            ]
        }
    }

    /// Runs a command to completion.
    func run(_ arguments: String...) throws -> Command { try run(arguments) }

    func run(_ arguments: [String]) throws -> Command {
        let line = try commandLine(arguments)
        return try Command(line[0], Array(line.dropFirst()))
    }

    /// Runs a command to completion on a terminal.
    func runOnTerminal(_ arguments: [String]) throws -> Command {
        let script = PrivateStack.repository.appending(path: "Tests/Programs/AlbumStackTests/terminal.py").path
        return try Command("/usr/bin/python3", [script, ""] + commandLine(arguments))
    }

    /// Runs a command that must succeed, and returns its output.
    @discardableResult
    func succeed(_ arguments: String...) throws -> String {
        let command = try run(arguments)
        guard command.status == 0 else {
            throw StackError.scriptFailed("syncdir \(arguments) ended with \(command.status): \(command.output)")
        }
        return command.output.trimmingCharacters(in: .newlines)
    }

    /// Runs a command that must succeed, and returns its JSON.
    func json(_ arguments: String...) throws -> JSONValue {
        let command = try run(arguments + ["--json"])
        guard command.status == 0, let json = JSONValue(Array(command.output.utf8)) else {
            throw StackError.scriptFailed("syncdir \(arguments) ended with \(command.status): \(command.output)")
        }
        return json
    }

    /// Starts `syncdir watch` on the person's directory.
    func watch(group: String) throws -> WatchProcess {
        let log = home.url.appending(path: "watch.log")
        if !FileManager.default.fileExists(atPath: log.path) { try Data().write(to: log) }
        return try WatchProcess(
            try commandLine(["watch", directory.path, "--group", group, "--interval", "0.3", "--json"]), log: log)
    }

    /// Starts a command that runs in parallel to the test.
    func start(_ arguments: [String]) throws -> WatchProcess {
        let log = home.url.appending(path: "command.log")
        try Data().write(to: log)
        return try WatchProcess(try commandLine(arguments), log: log)
    }

    private var accountURL: URL { home.url.appending(path: "state/syncdir/accounts/default/account.json") }

    /// The file that describes the signed-in account.
    func accountFile() throws -> Data { try Data(contentsOf: accountURL) }

    /// Replaces the signed-in account.
    func replaceAccountFile(_ contents: Data) throws { try contents.write(to: accountURL) }

    /// The account in the sandbox.
    func sandboxAccount() throws -> SandboxAccount {
        let file = try #require(JSONValue(Array(try accountFile())))
        return try server.sandbox.account(try #require(file.sandboxAccount?.text))
    }

    /// Signs in again with the same account.
    func signInAgain() throws {
        let id = try sandboxAccount().id
        try succeed("sign-in", "--server", address, "--sandbox", sandbox, "--sandbox-account", id)
    }

    /// The permissions of the file with the account's tokens; nil if it does not exist.
    var credentialsMode: Int? {
        let file = home.url.appending(path: "state/syncdir/accounts/default/credentials.json")
        let attributes = try? FileManager.default.attributesOfItem(atPath: file.path)
        return (attributes?[.posixPermissions] as? NSNumber)?.intValue
    }

    /// Points the account at an unreachable server, or back at the real one.
    func pointAccount(at server: String) throws {
        let file = accountURL
        var account = try #require(
            try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any])
        account["server"] = server
        try JSONSerialization.data(withJSONObject: account).write(to: file)
    }

    /// The output of `syncdir status` for the person's directory.
    func status() throws -> JSONValue { try json("status", directory.path) }

    func write(_ path: String, _ text: String) throws {
        let file = directory.appending(path: path)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
    }

    /// All regular files of the directory with their contents, except the program's own.
    func files() throws -> [String: String] {
        var files: [String: String] = [:]
        let names = FileManager.default.enumerator(atPath: directory.path)
        while let name = names?.nextObject() as? String {
            if name == ".syncdir" {
                names?.skipDescendants()
                continue
            }
            guard names?.fileAttributes?[.type] as? FileAttributeType == .typeRegular else { continue }
            // The file may have disappeared since it was listed.
            guard let contents = try? Data(contentsOf: directory.appending(path: name)) else { continue }
            files[name] = String(decoding: contents, as: UTF8.self)
        }
        return files
    }
}

/// A running `syncdir watch`.
final class WatchProcess: Sendable {
    private let process: ChildProcess
    private let log: URL
    /// The offset of its output in the shared log.
    private let begin: Int

    init(_ arguments: [String], log: URL) throws {
        let output = try FileHandle(forWritingTo: log)
        begin = Int(try output.seekToEnd())
        self.log = log
        process = try ChildProcess(arguments, output: output.fileDescriptor)
        try output.close()
    }

    deinit { process.send(SIGKILL) }

    var isRunning: Bool { process.isRunning }

    /// Its complete output.
    var text: String {
        let bytes = (try? Data(contentsOf: log)) ?? Data()
        return String(decoding: bytes.dropFirst(begin), as: UTF8.self)
    }

    /// The end of its output; after a crash, the beginning of the runtime's report.
    var lastWords: Substring {
        let text = text
        let crash = ["Fatal error", "*** Signal", "*** Program crashed"].compactMap { text.range(of: $0)?.lowerBound }
            .min()
        return crash.map { text[$0...].prefix(6_000) } ?? text.suffix(2_000)
    }

    /// Its events, in order.
    var events: [JSONValue] {
        text.split(separator: "\n").compactMap { JSONValue(Array($0.utf8)) }
    }

    /// The number of times it reported being idle.
    var idleCount: Int { events.filter { $0.event?.text == "idle" }.count }

    /// Waits until it is idle.
    /// - Throws: ``StackError`` with its output, if it ends or takes too long.
    func becomesIdle(_ name: String) async throws {
        do {
            try await eventually("\(name)'s watch is idle or has ended", within: .seconds(90)) {
                idleCount > 0 || !isRunning
            }
        } catch {
            throw StackError.scriptFailed("\(error); it runs: \(isRunning), and wrote: \(text)")
        }
        guard idleCount > 0 else { throw StackError.scriptFailed("\(name)'s watch has ended; its output: \(text)") }
    }

    /// Sends a signal, waits for its end, and returns the exit status.
    @discardableResult
    func end(_ signal: Int32) throws -> Int32 {
        process.send(signal)
        return try process.wait()
    }
}
