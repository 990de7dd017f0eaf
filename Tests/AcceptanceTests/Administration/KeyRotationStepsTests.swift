import Foundation
import TestSupport
import Testing

extension PrivateStackTests {
    @Suite("Steps of a sealing-key rotation")
    struct KeyRotationStepsTests {
        private let stack: PrivateStack
        private let server: TestServer
        private let tool: OperatorTool

        init() throws {
            // Each test has its own stack; the previous one stops in the background.
            stack = try PrivateStack("keys\(Int.random(in: 0..<10_000))", responders: 1)
            server = try TestServer(stack)
            tool = try OperatorTool(server)
        }

        private var configuration: URL {
            get throws { URL(filePath: try server.environment.value("CONFIG_FILE")) }
        }

        private func sealing() throws -> [String: Any] {
            let file = try JSONSerialization.jsonObject(with: Data(contentsOf: configuration)) as? [String: Any]
            return try #require(file?["sealing"] as? [String: Any])
        }

        private func mode(_ path: String) throws -> Int {
            try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
        }

        /// Restarts all processes with the configured keys; returns when they serve requests.
        private func reload() throws {
            let overrides = try JSONSerialization.data(withJSONObject: ["sealing": try sealing()])
            try overrides.write(to: stack.folder.appending(path: "syncd-overrides.json"))
            try stack.restore()
        }

        private func waiting() throws -> [JSONValue] {
            try tool.json("keys", "rotate", "status").waitingFor?.array ?? []
        }

        /// Waits until the processes have reported their keys.
        private func processesAreKnown() async throws {
            try await eventually("each process has reported its keys") {
                try server.askDatabase("SELECT COUNT(DISTINCT role) FROM key_holders").hasPrefix("3")
            }
        }

        @Test("Begin, switch and finish are rejected too early; no user signs in again, and every start works")
        func steps() async throws {
            let users = try (0..<3).map { try server.signUpOwningUser(name: "Owner \($0)") }
            let present = try #require(try sealing()["keyFile"] as? String)
            try await processesAreKnown()

            #expect(try tool.run("keys", "rotate", "switch").status == 1)
            #expect(try tool.run("keys", "rotate", "finish").status == 1)
            let begun = try tool.json("keys", "rotate", "begin")
            let keyFile = try #require(begun.keyFile?.text)
            let again = try tool.json("keys", "rotate", "begin")
            let early = try tool.json("keys", "rotate", "switch", status: 1)

            #expect(begun.phase?.text == "begun")
            #expect(try sealing()["keyFile"] as? String == present)
            #expect(try sealing()["nextKeyFile"] as? String == keyFile)
            #expect(try mode(keyFile) == (try mode(present)))
            #expect(again.nextKey == begun.nextKey)
            #expect(early.waitingFor?.array?.count ?? 0 >= 3, "\(early)")

            // After a crash before the reload, everything starts. A killed process counts as running for two minutes;
            // the test changes `seen_at` instead of waiting.
            for process in try server.processes("syncd_api") {
                process.send(SIGKILL)
                _ = try server.askDatabase(
                    "UPDATE key_holders SET seen_at = seen_at - INTERVAL 3 MINUTE WHERE process_id = \(process.id)")
            }
            try reload()
            try await eventually("all processes open with the new key") { try waiting().isEmpty }
            #expect(try tool.run("keys", "rotate", "finish").output.contains("keys rotate switch"))
            // A host that the operator forgot to reload.
            let elsewhere = """
                INSERT INTO key_holders VALUES ('11111111-0000-4000-8000-000000000000', 'elsewhere', 'jobs', 7,
                       '\(try #require(begun.sealingKey?.text))', '', UTC_TIMESTAMP())
                """
            _ = try server.askDatabase(elsewhere)
            let forgotten = try tool.run("keys", "rotate", "switch")
            #expect(forgotten.status == 1)
            #expect(forgotten.output.contains("jobs, process 7 on elsewhere"))
            _ = try server.askDatabase("DELETE FROM key_holders WHERE host_name = 'elsewhere'")

            let switched = try tool.json("keys", "rotate", "switch")
            let tooEarly = try tool.json("keys", "rotate", "finish", status: 1)
            #expect(switched.sealingKey == begun.nextKey)
            #expect(try sealing()["keyFile"] as? String == keyFile)
            #expect(try sealing()["formerKeyFiles"] as? [String] == [present])
            #expect(tooEarly.isRefused?.bool == true)
            // The operation may have resealed half of the records before it is interrupted.
            let half = try users[0].index().masterVersion ?? 0
            try users[0].publish(TestFile("between the keys"), masterVersion: half)

            try reload()
            try await eventually("all processes seal with the new key") { try waiting().isEmpty }
            let finished = try tool.json("keys", "rotate", "finish")
            #expect(finished.resealing?.resealed?.integer ?? 0 >= 3)
            #expect(finished.phase?.text == "none")
            #expect(try sealing()["keyFile"] as? String == keyFile)
            #expect(try sealing().count == 1)
            #expect(FileManager.default.fileExists(atPath: present))
            #expect(try tool.run("keys", "rotate", "finish").status == 1)

            try reload()
            #expect(try tool.run("fsck").status == 0)
            for user in users {
                let version = try user.index().masterVersion ?? 0
                try user.publish(TestFile("with the new key alone"), masterVersion: version)
            }
            for row in try server.askDatabase("SELECT HEX(credentials) FROM users").split(separator: "\n") {
                // The second to fifth bytes identify the key.
                #expect(row.dropFirst(2).prefix(8).lowercased() == begun.nextKey?.text)
            }
        }

        @Test("A second host must use the first host's key, and cannot begin with its own")
        func secondHost() async throws {
            try await processesAreKnown()
            let made = try tool.runPlain("keys", "generate")
            let file = stack.folder.appending(path: "copied-key")
            try Data(made.output.utf8).write(to: file)
            _ = try server.askDatabase(
                """
                INSERT INTO key_holders SELECT '11111111-0000-4000-8000-000000000000', 'first', 'api', 7,
                       sealing_key, 'feedbeef', UTC_TIMESTAMP() FROM key_holders LIMIT 1
                """)

            let alone = try tool.run("keys", "rotate", "begin")
            #expect(alone.status == 1)
            #expect(alone.output.contains("the host first has another key"))
            _ = try server.askDatabase("DELETE FROM key_holders WHERE host_name = 'first'")

            let begun = try tool.json("keys", "rotate", "begin", "--key", file.path)
            let copy = try #require(begun.keyFile?.text)
            #expect(try String(contentsOfFile: copy, encoding: .utf8) == made.output)
        }
    }
}

@Suite("config check from the services' point of view")
struct ServicesViewTests {
    let server: TestServer
    private let folder: ScratchFolder
    private let tool: OperatorTool

    init() throws {
        server = try TestServer.shared()
        folder = try ScratchFolder("services-view")
        tool = try OperatorTool(server)
    }

    @Test(
        "A key that only root can find or read is a problem for the services", .enabled(if: getuid() == 0))
    func keys() throws {
        let path = try server.changedConfiguration(in: folder) { settings in
            settings["sealing"] = ["keyFile": "sealing-key-2026"]
        }
        let key = try tool.runPlain("keys", "generate").output
        try Data(key.utf8).write(to: URL(filePath: folder.path + "/sealing-key-2026"))

        let asRoot = try tool.runPlain("config", "check", "--config", path)
        let closed = try tool.runPlain("config", "check", "--config", path, "--user", "nobody")
        for (place, mode) in [(folder.path, 0o755), (path, 0o644)] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: place)
        }
        let open = try tool.runPlain("config", "check", "--config", path, "--user", "nobody")

        #expect(asRoot.status == 0, "\(asRoot.output)")
        #expect(closed.status == 78)
        #expect(closed.output.contains("run as nobody, cannot read \(path)"), "\(closed.output)")
        #expect(open.status == 78)
        #expect(open.output.contains("\(folder.path)/secrets/sealing-key-2026, which cannot be read"), "\(open.output)")
    }

    @Test("config check reports a key file without a valid key")
    func noKey() throws {
        let key = folder.path + "/no-key"
        try Data("not a key\n".utf8).write(to: URL(filePath: key))
        let path = try server.changedConfiguration(in: folder) { settings in settings["sealing"] = ["keyFile": key] }

        let checked = try tool.runPlain("config", "check", "--config", path)

        #expect(checked.status == 78)
        #expect(checked.output.contains("32 bytes in base64"), "\(checked.output)")
    }

    @Test("The services start without the next key, but config check reports it as unreadable")
    func comingKey() throws {
        let path = try server.changedConfiguration(in: folder) { settings in
            var sealing = settings["sealing"] as? [String: Any] ?? [:]
            sealing["nextKeyFile"] = "/nowhere/key"
            settings["sealing"] = sealing
        }
        let program = try #require(try server.processes("syncd_api").first).executable()

        let started = try Command(
            "/bin/sh", ["-c", "exec \"$0\" \"$@\" </dev/null", program, "--role", "api", "--config", path])
        let checked = try tool.runPlain("config", "check", "--config", path)

        #expect(started.output.contains("no listening socket"), "\(started.output)")
        #expect(checked.status == 78)
        #expect(checked.output.contains("sealing.nextKeyFile names /nowhere/key"))
    }
}
