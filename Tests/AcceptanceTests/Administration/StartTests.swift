import Foundation
import Posix
import TestSupport
import Testing

@Suite("Program versions and failing starts")
struct StartTests {
    let server: TestServer
    private let folder: ScratchFolder

    init() throws {
        server = try TestServer.shared()
        folder = try ScratchFolder("start")
    }

    @Test("syncctl prints the server's version")
    func version() throws {
        let told = try OperatorTool(server).runPlain("--version")

        #expect(told.status == 0)
        let replied = try server.call("GET", "HealthCheck").headers.first { $0.name == "syncserver-version" }?.value
        #expect(told.output == replied.map { $0 + "\n" })
    }

    private func configuration(_ change: (inout [String: Any]) throws -> Void) throws -> String {
        try server.changedConfiguration(in: folder, change)
    }

    @Test("Warnings of config check are also reported by doctor")
    func warnings() throws {
        let path = try configuration { settings in
            let file = try #require(settings.removeValue(forKey: "FacebookClientSecretFile") as? String)
            settings["FacebookClientSecret"] = try String(contentsOfFile: file, encoding: .utf8)
                .trimmingCharacters(in: .newlines)
        }

        let told = try OperatorTool(server).runPlain("doctor", "--config", path).output

        #expect(told.contains("WARNING line 1, column "))
        #expect(told.contains("FacebookClientSecret is a secret: move it to a separate file"))
    }

    @Test("An invalid sealing key is a configuration error for config check and for the server")
    func unusableSealingKey() throws {
        let key = folder.url.appending(path: "sealing-key")
        try Data("c2hvcnQ=\n".utf8).write(to: key)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key.path)
        let program = try #require(try server.processes("syncd_jobs").first).executable()
        let rule = "cannot be used: it must be 32 bytes in base64, as printed by syncctl keys generate"
        for (setting, value, named) in [
            ("keyFile", key.path as Any, "sealing.keyFile"),
            ("formerKeyFiles", [key.path], "sealing.formerKeyFiles, number 1,"),
        ] {
            let path = try configuration { settings in
                var sealing = settings["sealing"] as? [String: Any] ?? [:]
                sealing[setting] = value
                settings["sealing"] = sealing
            }

            let check = try OperatorTool(server).runPlain("config", "check", "--config", path)
            let start = try Command(program, ["--role", "jobs", "--config", path])

            for command in [check, start] {
                #expect(command.status == 78 && command.output.contains("\(named) \(rule)"), "\(command.output)")
            }
        }
    }

    @Test("config check --connect connects to the database as each role, and names the account that fails")
    func connectedCheck() throws {
        let tool = try OperatorTool(server)
        let good = try tool.run("config", "check", "--connect")
        #expect(good.status == 0, "\(good.output)")

        let nowhere = try configuration { settings in
            var database = settings["database"] as? [String: Any] ?? [:]
            database["socket"] = "/nowhere/socket"
            settings["database"] = database
        }
        let unreachable = try tool.runPlain("config", "check", "--connect", "--config", nowhere)
        #expect(unreachable.status == 69 && unreachable.output.contains("/nowhere/socket"), "\(unreachable.output)")
        #expect(try tool.runPlain("config", "check", "--config", nowhere).status == 0)

        let stranger = try configuration { settings in
            var database = settings["database"] as? [String: Any] ?? [:]
            var roles = database["roles"] as? [String: Any] ?? [:]
            var jobs = roles["jobs"] as? [String: Any] ?? [:]
            jobs["user"] = "somebody"
            roles["jobs"] = jobs
            database["roles"] = roles
            settings["database"] = database
        }
        let refused = try tool.runPlain("config", "check", "--connect", "--config", stranger)
        #expect(refused.status == 77 && refused.output.contains("the role jobs, "), "\(refused.output)")
        #expect(refused.output.contains(" as somebody: the database denies access"), "\(refused.output)")
    }

    @Test("An unreadable secret exits with status 77, and is not reported as a mistake in the configuration")
    func notPermitted() throws {
        let key = folder.url.appending(path: "hidden-key")
        try Data().write(to: key)
        try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: key.path)
        let path = try configuration { $0["sealing"] = ["keyFile": key.path] }
        let tool = try #require(try server.processes("syncd_api").first).executable()
            .replacing("syncd", with: "syncctl", maxReplacements: 1)
        // Root can read everything unless it lacks these capabilities.
        let less = "-dac_override,-dac_read_search"
        let prefix = geteuid() == 0 ? ["setpriv", "--bounding-set", less, "--inh-caps", less] : []

        for command in ["config check", "status", "fsck", "migrate", "doctor"] {
            // Ignores this machine's own nginx.
            let more = command == "doctor" ? ["--nginx", folder.url.path] : []
            let words = command.split(separator: " ").map(String.init)
            let told = try Command("/usr/bin/env", prefix + [tool] + words + ["--config", path] + more)

            if command == "doctor" {
                // It notes the unreadable secret and examines the rest.
                #expect(told.output.contains("do: run as root"), "\(told.output)")
            } else {
                #expect(told.status == 77, "\(command): \(told.output)")
                #expect(told.output.contains("run syncctl as root"), "\(told.output)")
            }
            #expect(told.output.contains("sealing.keyFile names \(key.path), which cannot be read"))
            #expect(!told.output.contains("mistake") && !told.output.contains("correct "), "\(told.output)")
        }
    }

    @Test(
        "For a misspelt word, syncctl suggests the nearest one",
        arguments: [
            (["doktor"], "Error: Unexpected argument 'doktor'. Did you mean 'doctor'?\n"),
            (["jobs", "retri"], "Error: Unexpected argument 'retri'. Did you mean 'retry'?\n"),
            (["nonsense"], "Error: Unexpected argument 'nonsense'\n"),
            (["maintenance", "of"], "Error: Unexpected argument 'of'. Did you mean 'off'?\n"),
            (["help", "doctr"], "Error: Unexpected argument 'doctr'. Did you mean 'doctor'?\n"),
            (["help", "jobs", "retri"], "Error: Unexpected argument 'retri'. Did you mean 'retry'?\n"),
            (["help", "nonsense"], "Error: Unexpected argument 'nonsense'\n"),
            (
                ["doctor", "--ignore", "certificatExpiring"],
                "Error: The value 'certificatExpiring' is invalid for '--ignore <finding>': certificatExpiring is not the code of "
                    + "a finding; did you mean certificateExpiring?\n"
            ),
            (
                ["try", "gogle"],
                "Error: The value 'gogle' is invalid for '<provider>': 'gogle' is not a provider: google, dropbox, microsoft, "
                    + "facebook, apple, webdav, s3. Did you mean 'google'?\n"
            ),
            (
                ["setup", "--unattended", "--set", "GoogleServerClientIdd=1"],
                "Error: --set GoogleServerClientIdd=1: there is no setting GoogleServerClientIdd; "
                    + "did you mean GoogleServerClientId?\n"
            ),
        ])
    func misspelt(arguments: [String], complaint: String) throws {
        let program = try #require(try server.processes("syncd_api").first).executable()
            .replacing("syncd", with: "syncctl", maxReplacements: 1)

        let told = try Command(program, arguments)

        #expect(told.status == 64 && told.output.hasPrefix(complaint), "\(told.output)")
    }

    @Test("A role starts without the secrets of other roles, but not without its own")
    func secretsOfOthers() throws {
        let path = try configuration { settings in
            var apns = settings["apns"] as? [String: Any] ?? [:]
            apns["privateKeyFile"] = "/nowhere/apns"
            settings["apns"] = apns
            var database = settings["database"] as? [String: Any] ?? [:]
            database["passwordFile"] = "/nowhere/password"
            settings["database"] = database
        }
        let program = try #require(try server.processes("syncd_api").first).executable()

        for role in ["api", "transfer"] {
            // Without a socket, it exits after it has read its configuration.
            let ended = try Command(
                "/bin/sh", ["-c", "exec \"$0\" \"$@\" </dev/null", program, "--role", role, "--config", path])
            #expect(ended.output.contains("no listening socket"), "\(ended.output)")
        }
        let jobs = try Command(program, ["--role", "jobs", "--config", path])
        #expect(jobs.status == 78)
        #expect(jobs.output.contains("apns.privateKeyFile names /nowhere/apns") && !jobs.output.contains("password"))
    }

    @Test("A log file that cannot be written is reported as a configuration error")
    func logFile() throws {
        let path = try configuration { $0["log"] = ["file": "/nowhere/syncd.log"] }
        let program = try #require(try server.processes("syncd_jobs").first).executable()

        let ended = try Command(program, ["--role", "jobs", "--config", path])

        #expect(ended.status == 78)
        let reason = "open: No such file or directory"
        #expect(ended.output == "syncd: log.file names /nowhere/syncd.log, which cannot be written: \(reason)\n")
    }

    @Test("After SIGUSR1, syncd writes to a new log file instead of the one that logrotate moved")
    func reopenedLog() async throws {
        let log = folder.url.appending(path: "syncd.log")
        let moved = folder.url.appending(path: "syncd.log.1")
        let path = try configuration { settings in
            // Without a database, it waits and does no work.
            var database = settings["database"] as? [String: Any] ?? [:]
            database["socket"] = "/nowhere/socket"
            settings["database"] = database
            settings["log"] = ["file": log.path]
        }
        let program = try #require(try server.processes("syncd_jobs").first).executable()
        let process = try ChildProcess([program, "--role", "jobs", "--config", path])
        defer { process.send(SIGKILL) }
        try await eventually("the process runs") { try String(contentsOf: log, encoding: .utf8).contains(#""Ready""#) }

        try FileManager.default.moveItem(at: log, to: moved)
        process.send(SIGUSR1)
        try await eventually("the new log file exists") { FileManager.default.fileExists(atPath: log.path) }
        process.send(SIGTERM)

        #expect(try process.wait() == 0)
        #expect(try String(contentsOf: log, encoding: .utf8).contains(#""Stopped""#))
        #expect(try !String(contentsOf: moved, encoding: .utf8).contains(#""Stopp"#))
    }

    @Test("A process whose database account is rejected logs the error once, waits, and stops on SIGTERM")
    func refusedByDatabase() async throws {
        let path = try configuration { settings in
            var database = settings["database"] as? [String: Any] ?? [:]
            database["user"] = "somebody else"
            database["roles"] = nil
            settings["database"] = database
        }
        let program = try #require(try server.processes("syncd_jobs").first).executable()
        let log = folder.url.appending(path: "log")
        try Data().write(to: log)
        let output = try FileHandle(forWritingTo: log)
        defer { try? output.close() }

        let waiting = try ChildProcess(
            [program, "--role", "jobs", "--config", path], output: output.fileDescriptor)
        defer { waiting.send(SIGKILL) }
        try await eventually("the process waits") { try String(contentsOf: log, encoding: .utf8).contains(#""Ready""#) }
        waiting.send(SIGTERM)

        #expect(try waiting.wait() == 0)
        let lines = try String(contentsOf: log, encoding: .utf8).split(separator: "\n")
        let complaints = lines.compactMap { JSONValue(Array($0.utf8)) }.filter { $0.level?.text == "error" }
        #expect(complaints.map { $0.message?.text } == ["Waiting for the database, which refuses this server"])
        #expect(complaints.first?.reason?.text?.contains("access denied: 10") == true)
    }
}
