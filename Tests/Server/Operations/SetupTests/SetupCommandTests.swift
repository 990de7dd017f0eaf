import Foundation
import MariaDB
import OpenSSLCrypto
import TestSupport
import Testing

@Suite("syncctl setup")
struct SetupCommandTests {
    private let scratch: ScratchFolder
    private var root: URL { scratch.url }
    private let database: ScratchDatabase
    /// Of the database and of its user.
    private let name = "setup_" + UUID().uuidString.replacing("-", with: "").lowercased()

    init() throws {
        database = try ScratchDatabase.shared()
        scratch = try ScratchFolder("setup")
        let template = PrivateStack.repository.appending(path: "nginx/syncd.conf")
        try put(try String(contentsOf: template, encoding: .utf8), "/usr/share/syncserver/nginx/syncd.conf")
        try put("id of nobody's certificate", "/etc/ssl/sync.pem")
        try put("key", "/etc/ssl/private/sync.key")
        try put("very secret of google\n", "/root/google")
    }

    /// Beside the tests, where the package manager puts all programs.
    private static let program = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        .deletingLastPathComponent().appending(path: "syncctl")

    private func put(_ text: String, _ path: String) throws {
        let file = root.appending(path: path)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
    }

    private func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    private func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: root.appending(path: path).path)
        return (attributes[.posixPermissions] as? NSNumber)?.intValue ?? -1
    }

    /// Path, contents or link, mode and time of change of everything below the root.
    private func everything() throws -> [String] {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: root.path).sorted()
        return try paths.map { path in
            let file = root.appending(path: path).path
            let attributes = try FileManager.default.attributesOfItem(atPath: file)
            let contents = FileManager.default.contents(atPath: file).map { "\($0.hashValue)" } ?? "-"
            let changed = (attributes[.modificationDate] as? Date)?.timeIntervalSince1970 ?? 0
            return "\(path) \(contents) \(attributes[.posixPermissions] ?? "") \(changed)"
        }
    }

    private func setUp(_ arguments: [String] = [], account: String? = "google") throws -> Command {
        var all = [
            "setup", "--unattended", "--root", root.path, "--host", "sync.example.org",
            "--database-socket", database.socketPath, "--database-name", name, "--database-user", name,
        ]
        if account != nil {
            all += [
                "--google-client-id", "1-x", "--google-client-secret-file", root.appending(path: "/root/google").path,
            ]
        }
        if !arguments.contains("--certificate") {
            all += ["--certificate", "/etc/ssl/sync.pem", "--key", "/etc/ssl/private/sync.key"]
        }
        return try Command(Self.program.path, all + arguments)
    }

    /// Options for all push services, with keys that can be used, below the root.
    private func pushOptions() throws -> [String] {
        try put(try PrivateKey(generating: .es256).pem, "/root/apns.p8")
        let account = [
            "project_id": "p", "client_email": "e@example.org", "private_key": try PrivateKey(generating: .rs256).pem,
        ]
        try put(String(decoding: try JSONSerialization.data(withJSONObject: account), as: UTF8.self), "/root/fcm.json")
        try put("very secret of amazon\n", "/root/aws")
        return [
            "--apns-team-id", "TEAM567890", "--apns-key-id", "KEY4567890", "--apns-topic", "com.example.app",
            "--apns-private-key-file", root.appending(path: "/root/apns.p8").path,
            "--fcm-service-account-file", root.appending(path: "/root/fcm.json").path,
            "--sns-access-key-id", "AKIA", "--sns-secret-key-file", root.appending(path: "/root/aws").path,
            "--sns-region", "us-west-2",
            "--sns-platform-application-arn", "arn:aws:sns:us-west-2:123456789012:app/APNS/MyApp",
        ]
    }

    private func atDatabase(_ sql: String) throws {
        var connection = try Connection(database.settings(database: nil))
        try connection.executeScript(sql)
    }

    @Test("A host is set up, with nothing readable by others, and no secret on command lines")
    func fresh() throws {
        let run = try setUp()

        #expect(run.status == 0, "\(run.output)")
        #expect(try mode("/etc/syncd") == 0o755)
        #expect(try mode("/etc/syncd/secrets") == 0o700)
        for secret in ["database-password", "sealing-key", "google-client-secret"] {
            let path = "/etc/syncd/secrets/" + secret
            #expect(try mode(path) == 0o600)
            let value = try text(path).trimmingCharacters(in: .newlines)
            #expect(!value.isEmpty && !run.output.contains(value))
        }
        #expect(try text("/etc/syncd/secrets/google-client-secret") == "very secret of google\n")
        #expect(try mode("/etc/syncd/syncd.json") == 0o644)
        #expect(try text("/etc/nginx/sites-available/syncd.conf").contains("server_name sync.example.org;"))
        #expect(
            try FileManager.default.destinationOfSymbolicLink(
                atPath: root.appending(path: "/etc/nginx/sites-enabled/syncd.conf").path)
                == "../sites-available/syncd.conf")
        #expect(run.output.contains("applied initial"))
        #expect(run.output.contains("skipped  start syncd.target"))
        #expect(run.output.contains("Keep a copy of /etc/syncd/secrets/sealing-key"))
        let check = try Command(
            Self.program.path, ["check-config", "--config", root.appending(path: "/etc/syncd/syncd.json").path])
        #expect(check.status == 0 && !check.output.contains("warning"), "\(check.output)")
    }

    @Test("The server's account may do everything in its database, and nothing elsewhere")
    func rights() throws {
        #expect(try setUp().status == 0)
        var settings = database.settings(database: name)
        settings.user = name
        settings.password = try text("/etc/syncd/secrets/database-password").trimmingCharacters(in: .newlines)
        var connection = try Connection(settings)

        try connection.executeScript("CREATE TABLE t (a INT); DROP TABLE t")
        #expect(throws: MariaDBError.self) { try connection.executeScript("SELECT 1 FROM mysql.user") }
        #expect(throws: MariaDBError.self) { try connection.executeScript("CREATE DATABASE \(name)x") }
    }

    @Test("Each role's account has exactly its privileges; doctor reports differences, migrate repairs them")
    func roleAccounts() throws {
        #expect(try setUp().status == 0)
        let configuration = ["--config", root.appending(path: "/etc/syncd/syncd.json").path]
        var settings = database.settings(database: name)
        settings.user = name + "_jobs"
        settings.password = try text("/etc/syncd/secrets/database-password-jobs").trimmingCharacters(in: .newlines)
        var jobs = try Connection(settings)
        var administrator = try Connection(database.settings(database: name))
        let doctor = { try Command(Self.program.path, ["doctor"] + configuration).output }

        try jobs.executeScript("DELETE FROM invitations")
        #expect(throws: MariaDBError.self) { try jobs.executeScript("UPDATE invitations SET permission = 'admin'") }
        for role in ["api", "transfer", "jobs"] {
            #expect(try doctor().contains("\(name)_\(role)@localhost may do what its role needs, and no more"))
        }

        try administrator.executeScript(
            "REVOKE DELETE ON invitations FROM \(name)_jobs@localhost; GRANT UPDATE ON invitations TO \(name)_jobs@localhost"
        )
        #expect(try doctor().contains("\(name)_jobs@localhost lacks rights: DELETE on invitations"))
        let check = try Command(Self.program.path, ["migrate", "--check"] + configuration)
        #expect(check.status == 78 && check.output.contains("DELETE on invitations"), "\(check.output)")
        let migrated = try Command(Self.program.path, ["migrate"] + configuration)
        #expect(migrated.output.contains("\(name)_jobs@localhost has the rights"), "\(migrated.output)")
        #expect(try Command(Self.program.path, ["migrate", "--check"] + configuration).status == 0)
        #expect(!(try doctor().contains("UPDATE on invitations")))
        try administrator.executeScript("GRANT SELECT ON `\(name)`.* TO \(name)_jobs@localhost")
        #expect(try doctor().contains("may do more than the role jobs needs: SELECT on the database"))
    }

    @Test("Run again, it changes nothing, not even what an administrator has changed")
    func again() throws {
        #expect(try setUp().status == 0)
        var configuration = try text("/etc/syncd/syncd.json")
        configuration.replace("\"sealing\"", with: "\"apiThreads\": 16,\n  \"sealing\"")
        try put(configuration, "/etc/syncd/syncd.json")
        try put("# mine\n", "/etc/nginx/sites-available/syncd.conf")
        let before = try everything()

        let run = try setUp()
        // Nor with fewer answers: those that count are in the configuration.
        let shorter = try Command(
            Self.program.path,
            [
                "setup", "--unattended", "--root", root.path, "--host", "sync.example.org",
                "--database-socket", database.socketPath,
            ])

        #expect(run.status == 0, "\(run.output)")
        #expect(shorter.status == 0, "\(shorter.output)")
        #expect(try everything() == before)
        #expect(run.output.contains("the tables are up to date"))
    }

    @Test("Push is set up with keys that only root reads, kept by the next run")
    func push() throws {
        let options = try pushOptions()

        let run = try setUp(options)

        #expect(run.status == 0, "\(run.output)")
        let sources = [
            "apns-private-key": "apns.p8", "fcm-service-account": "fcm.json", "aws-secret-key": "aws",
        ]
        for (secret, source) in sources {
            #expect(run.output.contains("done     put the secret into /etc/syncd/secrets/\(secret)\n"))
            #expect(try mode("/etc/syncd/secrets/" + secret) == 0o600)
            #expect(
                try text("/etc/syncd/secrets/" + secret).trimmingCharacters(in: .newlines)
                    == text("/root/" + source).trimmingCharacters(in: .newlines))
        }
        let check = try Command(
            Self.program.path, ["check-config", "--config", root.appending(path: "/etc/syncd/syncd.json").path])
        #expect(check.status == 0 && !check.output.contains("warning"), "\(check.output)")

        let before = try everything()
        try put("junk", "/root/apns.p8")
        let second = try setUp(options)
        #expect(second.status == 0 && !second.output.contains("For push"), "\(second.output)")
        #expect(try everything().filter { !$0.hasPrefix("root/") } == before.filter { !$0.hasPrefix("root/") })
    }

    @Test(
        "What the server could not use is refused with the reason, before anything is written",
        arguments: [
            ("apns.p8", "junk", "apns.privateKeyFile cannot be used: it must be a P-256 key"),
            ("fcm.json", "{}", "fcm.serviceAccountFile cannot be used: it must be JSON with project_id"),
            ("aws", "", "/root/aws, which is empty"),
        ])
    func unusable(file: String, contents: String, reason: String) throws {
        let options = try pushOptions()
        try put(contents, "/root/" + file)
        let before = try everything()

        let run = try setUp(options)
        let dry = try setUp(options + ["--dry-run"])

        #expect(run.status == 1 && run.output.contains(reason), "\(run.output)")
        #expect(dry.status == 1 && !run.output.contains("junk"))
        #expect(try everything() == before)
        #expect(throws: MariaDBError.self) { try atDatabase("USE \(name)") }
    }

    @Test("All problems are reported at once, including those of things that are not files")
    func wrongAnswers() throws {
        var options = try pushOptions()
        options[options.count - 1] = "arn:aws:sns:eu-west-1:123456789012:app/APNS/MyApp"
        let key = root.appending(path: "/root/apns.p8").path
        let run = try setUp(
            options + [
                "--apple-client-id", "com.example.app", "--apple-team-id", "T", "--apple-key-id", "K",
                "--apple-private-key-file", root.appending(path: "/root/aws").path,
            ])
        let missing = try setUp(["--fcm-service-account-file", key + ".none"])

        #expect(run.status == 1 && run.output.contains("is of the region eu-west-1"), "\(run.output)")
        #expect(run.output.contains("appleSignIn.privateKeyFile cannot be used"))
        #expect(missing.status == 1)
        let complaint = "--fcm-service-account-file (fcm.serviceAccount) names \(key).none, which cannot be read"
        #expect(missing.output.contains(complaint), "\(missing.output)")
    }

    @Test("A dry run reports what would be done, and changes nothing")
    func dryRun() throws {
        let before = try everything()

        let run = try setUp(["--dry-run"])

        #expect(run.status == 0, "\(run.output)")
        #expect(run.output.contains("would    make the database \(name)\n"))
        #expect(run.output.contains("would    write /etc/syncd/syncd.json\n"))
        #expect(try everything() == before)
        #expect(throws: MariaDBError.self) { try atDatabase("USE \(name)") }
    }

    @Test("With JSON output, programs read what was done, kept and skipped, and what remains")
    func json() throws {
        let run = try setUp(["--json"])

        let report = try #require(
            try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any], "\(run.output)")
        let steps = try #require(report["steps"] as? [[String: String]])
        #expect(Set(steps.compactMap { $0["outcome"] }) == ["done", "skipped"])
        #expect(steps.contains { $0["step"] == "write /etc/syncd/syncd.json" })
        #expect((report["remaining"] as? [String])?.count == 2)
    }

    @Test("A failing step is named, and the next run continues from there")
    func failure() throws {
        // There is already a link of that name to something else, where a folder is needed.
        try put("no folder", "/etc/nginx/sites-enabled")

        let run = try setUp()

        #expect(run.status == 1)
        #expect(run.output.contains("FAILED   link /etc/nginx/sites-enabled/syncd.conf"), "\(run.output)")
        try FileManager.default.removeItem(at: root.appending(path: "/etc/nginx/sites-enabled"))
        let password = try text("/etc/syncd/secrets/database-password")
        let second = try setUp()
        #expect(second.status == 0, "\(second.output)")
        #expect(try text("/etc/syncd/secrets/database-password") == password)
    }

    @Test("Without a certificate the run says how to get one, and the next one uses it")
    func letsEncrypt() throws {
        let arguments = [
            "setup", "--unattended", "--root", root.path, "--host", "sync.example.org", "--database-socket",
            database.socketPath, "--database-name", name, "--database-user", name, "--google-client-id", "1-x",
            "--google-client-secret-file", root.appending(path: "/root/google").path,
        ]
        let first = try Command(Self.program.path, arguments)
        #expect(first.status == 0, "\(first.output)")
        #expect(first.output.contains("certbot certonly --webroot"))
        #expect(try !text("/etc/nginx/sites-available/syncd.conf").contains("443"))

        try put("certificate", "/etc/letsencrypt/live/sync.example.org/fullchain.pem")
        try put("key", "/etc/letsencrypt/live/sync.example.org/privkey.pem")
        let second = try Command(Self.program.path, arguments)
        #expect(second.status == 0, "\(second.output)")
        #expect(try text("/etc/nginx/sites-available/syncd.conf").contains("listen 443 ssl http2;"))
    }

    @Test("Obstacles are reported before anything is changed")
    func obstacles() throws {
        let before = try everything()

        let unknown = try setUp(["--database-admin-user", "nobody"])
        let nothing = try setUp([], account: nil)
        try atDatabase("CREATE USER \(name)@localhost")
        let user = try setUp()

        #expect(unknown.status == 1 && unknown.output.contains("cannot be used as nobody"), "\(unknown.output)")
        #expect(nothing.status == 1 && nothing.output.contains("for storage"), "\(nothing.output)")
        #expect(user.status == 1 && user.output.contains("its password is not in"), "\(user.output)")
        #expect(try everything() == before)
    }

    @Test("The sandbox needs no answers")
    func sandbox() throws {
        try put("server {}", "/etc/nginx/sites-available/syncsandbox.conf")

        let run = try setUp(["--sandbox"], account: nil)

        #expect(run.status == 0, "\(run.output)")
        #expect(run.output.contains("SANDBOX"))
        #expect(try text("/etc/syncd/syncd.json").contains("\"connectTo\": \"127.0.0.1:9443\""))
        #expect(try text("/etc/syncd/secrets/dropbox-app-secret") == "sandbox-dropbox-secret\n")
    }

    @Test("Any setting of a provider may be given by its key, a secret as a file")
    func settings() throws {
        let run = try setUp(
            [
                "--set", "GoogleServerClientId=2-y=z", "--set", "googleClientIds=one two",
                "--set", "GoogleServerClientSecret=\(root.appending(path: "/root/google").path)",
            ], account: nil)

        #expect(run.status == 0, "\(run.output)")
        #expect(try text("/etc/syncd/secrets/google-client-secret") == "very secret of google\n")
        let configuration = try JSONSerialization.jsonObject(with: Data(text("/etc/syncd/syncd.json").utf8))
        let members = try #require(configuration as? [String: Any])
        #expect(members["GoogleServerClientId"] as? String == "2-y=z")
        #expect(members["googleClientIds"] as? [String] == ["one", "two"])

        try FileManager.default.removeItem(at: root.appending(path: "/etc/syncd/syncd.json"))
        let incomplete = try setUp(["--set", "appleSignIn.clientId=com.example.app"])
        #expect(
            incomplete.status == 1 && incomplete.output.contains("apple-private-key is missing"), "\(incomplete.output)"
        )
    }

    @Test("At a terminal it asks for what the options leave open, and does not show secrets")
    func questions() throws {
        let answers = [
            "sync.example.org", "/etc/ssl/sync.pem", "/etc/ssl/private/sync.key", "", "drop-key", "a typed secret", "",
            "123", "another secret", "", "", "", "", "TEAM567890", "KEY4567890",
            root.appending(path: "/root/apns.p8").path,
            "com.example.app", "AKIA", "a third secret", "us-west-2",
            "arn:aws:sns:us-west-2:123456789012:app/APNS/MyApp",
        ]
        _ = try pushOptions()
        // A terminal of its own; each question is answered when it is there, as a person does.
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
                if text.endswith(b": ") and answers:
                    os.write(terminal, answers.pop(0).encode() + b"\n")
            print(text.decode())
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            """#
        let arguments = [
            Self.program.path, "setup", "--root", root.path, "--database-socket", database.socketPath,
            "--database-name", name, "--database-user", name,
        ]

        let run = try Command(
            "/usr/bin/python3",
            ["-c", script, arguments.joined(separator: "\n"), answers.joined(separator: "\n")])

        #expect(run.status == 0, "\(run.output)")
        #expect(run.output.contains("drop-key") && !run.output.contains("a typed secret"))
        #expect(!run.output.contains("a third secret"))
        #expect(try text("/etc/syncd/secrets/aws-secret-key") == "a third secret\n")
        #expect(try text("/etc/syncd/syncd.json").contains("\"topic\": \"com.example.app\""))
        #expect(try text("/etc/syncd/secrets/dropbox-app-secret") == "a typed secret\n")
        #expect(try text("/etc/syncd/secrets/facebook-client-secret") == "another secret\n")
        #expect(try text("/etc/syncd/syncd.json").contains("\"DropboxAppKey\": \"drop-key\""))
    }

    @Test("Contradictory options, or questions without a terminal, are usage errors")
    func usage() throws {
        #expect(try setUp(["--sandbox"]).status == 64)
        #expect(try setUp(["--sandbox"] + pushOptions(), account: nil).status == 64)
        #expect(try setUp(["--apns-key-id", "K"]).status == 64)
        #expect(try setUp(["--sns-secret-key-file", "/root/aws"]).status == 64)
        #expect(try setUp(["--set", "FacebookClientID=1"]).status == 64)
        #expect(try setUp(["--sandbox", "--set", "FacebookClientId=1"], account: nil).status == 64)
        #expect(try Command(Self.program.path, ["setup", "--root", root.path]).status == 64)
        #expect(try Command(Self.program.path, ["setup", "--root", root.path, "--certificate", "/c"]).status == 64)
        let help = try Command(Self.program.path, ["setup", "--help"])
        for option in ["--host", "--certificate", "--sandbox", "--existing-database", "--unattended", "--dry-run"] {
            #expect(help.output.contains(option))
        }
    }
}
