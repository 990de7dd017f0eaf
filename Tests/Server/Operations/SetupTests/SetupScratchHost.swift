import Foundation
import MariaDB
import OpenSSLCrypto
import TestSupport

/// A folder that represents the root of a host, and a database on the shared server for setup.
struct SetupScratchHost {
    static let name = "sync.example.org"
    private static let certificate = ["--certificate", "/etc/ssl/sync.pem", "--key", "/etc/ssl/private/sync.key"]

    private let scratch: ScratchFolder
    var root: URL { scratch.url }
    let database: ScratchDatabase
    /// The name of the database and of its user.
    let databaseName = "setup_" + UUID().uuidString.replacing("-", with: "").lowercased()

    init() throws {
        database = try ScratchDatabase.shared()
        scratch = try ScratchFolder("setup")
        let template = PrivateStack.repository.appending(path: "nginx/syncd.conf")
        try put(try String(contentsOf: template, encoding: .utf8), "/usr/share/syncserver/nginx/syncd.conf")
        try makeCertificate("/etc/ssl/sync.pem", key: "/etc/ssl/private/sync.key", for: Self.name)
        try put("very secret of google\n", "/root/google")
    }

    /// Next to the tests, where the package manager puts all programs.
    static let program = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        .deletingLastPathComponent().appending(path: "syncctl")

    // MARK: Files

    func path(_ inside: String) -> String { root.appending(path: inside).path }

    func put(_ text: String, _ path: String) throws {
        let file = root.appending(path: path)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
    }

    /// Creates a self-signed certificate.
    func makeCertificate(_ certificate: String, key: String, for host: String) throws {
        try put("", certificate)
        try put("", key)
        let made = try Command(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "90",
                "-subj", "/CN=\(host)", "-addext", "subjectAltName=DNS:\(host)", "-keyout", path(key), "-out",
                path(certificate),
            ])
        precondition(made.status == 0, made.output)
    }

    /// Creates an expired certificate like another one.
    func makeExpiredCertificate(_ certificate: String, like other: String, key: String) throws {
        try put("", certificate)
        let made = try Command(
            "openssl", ["x509", "-in", path(other), "-signkey", path(key), "-days", "-1", "-out", path(certificate)])
        precondition(made.status == 0, made.output)
    }

    func text(_ path: String) throws -> String { try String(contentsOf: root.appending(path: path), encoding: .utf8) }

    func exists(_ inside: String) -> Bool { FileManager.default.fileExists(atPath: path(inside)) }

    func mode(_ inside: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path(inside))
        return (attributes[.posixPermissions] as? NSNumber)?.intValue ?? -1
    }

    /// Path, contents or link target, mode and modification time of everything below the root.
    func everything() throws -> [String] {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: root.path).sorted()
        return try paths.map { path in
            let file = root.appending(path: path).path
            let attributes = try FileManager.default.attributesOfItem(atPath: file)
            let contents = FileManager.default.contents(atPath: file).map { "\($0.hashValue)" } ?? "-"
            let changed = (attributes[.modificationDate] as? Date)?.timeIntervalSince1970 ?? 0
            return "\(path) \(contents) \(attributes[.posixPermissions] ?? "") \(changed)"
        }
    }

    func members(_ path: String = "/etc/syncd/syncd.json") throws -> [String: Any] {
        try JSONSerialization.jsonObject(with: Data(text(path).utf8)) as? [String: Any] ?? [:]
    }

    // MARK: Running setup

    private var common: [String] {
        [
            "setup", "--root", root.path, "--database-socket", database.socketPath, "--database-name", databaseName,
            "--database-user", databaseName,
        ]
    }

    static let google = "1-x.apps.googleusercontent.com"

    /// Runs setup with all options that a new host needs.
    func setUp(_ arguments: [String] = [], account: String? = google) throws -> Command {
        var all = ["--host", Self.name]
        if let account {
            all += ["--google-client-id", account, "--google-client-secret-file", path("/root/google")]
        }
        if !arguments.contains("--certificate") { all += Self.certificate }
        return try run(all + arguments)
    }

    /// Runs setup with only these options, and no questions.
    func run(_ arguments: [String]) throws -> Command {
        try Command(Self.program.path, common + ["--unattended"] + arguments)
    }

    /// Runs setup at its own terminal, and answers each question when it appears, as a person does.
    func answer(_ answers: [String], _ arguments: [String] = []) throws -> Command {
        let script = #"""
            import os, pty, sys
            program, *arguments = sys.argv[1].split("\n")
            answers = sys.argv[2].split("\n")
            pid, terminal = pty.fork()
            if pid == 0:
                os.execv(program, [program, *arguments])
            text = b""
            while True:
                try:
                    part = os.read(terminal, 4096)
                except OSError:
                    break
                text += part
                if text.endswith(b": ") and not text.endswith(b"\n"):
                    # With no answer left the input ends.
                    os.write(terminal, answers.pop(0).encode() + b"\n" if answers else b"\x04")
            print(text.decode())
            if answers:
                sys.exit(f"not asked for: {answers}")
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            """#
        return try Command(
            "/usr/bin/python3",
            [
                "-c", script, ([Self.program.path] + common + arguments).joined(separator: "\n"),
                answers.joined(separator: "\n"),
            ])
    }

    /// Options for all push services, with usable keys below the root.
    func pushOptions() throws -> [String] {
        try put(try PrivateKey(generating: .es256).pem, "/root/apns.p8")
        let account = [
            "project_id": "p", "client_email": "e@example.org", "private_key": try PrivateKey(generating: .rs256).pem,
        ]
        try put(String(decoding: try JSONSerialization.data(withJSONObject: account), as: UTF8.self), "/root/fcm.json")
        try put("very secret of amazon\n", "/root/aws")
        return [
            "--apns-team-id", "TEAM567890", "--apns-key-id", "KEY4567890", "--apns-topic", "com.example.app",
            "--apns-private-key-file", path("/root/apns.p8"), "--fcm-service-account-file", path("/root/fcm.json"),
            "--sns-access-key-id", "AKIAIOSFODNN7EXAMPLE", "--sns-secret-key-file", path("/root/aws"),
            "--sns-region", "us-west-2",
            "--sns-platform-application-arn", "arn:aws:sns:us-west-2:123456789012:app/APNS/MyApp",
        ]
    }

    func atDatabase(_ sql: String) throws {
        var connection = try Connection(database.settings(database: nil))
        try connection.executeScript(sql)
    }

    func checkConfiguration() throws -> Command {
        try Command(Self.program.path, ["config", "check", "--config", path("/etc/syncd/syncd.json")])
    }
}
