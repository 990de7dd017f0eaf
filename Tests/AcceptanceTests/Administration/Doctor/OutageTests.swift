import Foundation
import MariaDB
import Posix
import TestSupport
import Testing

extension PrivateStackTests {
    /// A database connection that is never closed.
    private final class HeldConnection {
        private let connection: Connection

        init(_ settings: ConnectionSettings) throws { connection = try Connection(settings) }
    }

    /// Runs on the stack whose processes tests may kill.
    @Suite("syncctl doctor during an outage")
    struct OutageTests {
        private let server: TestServer
        private let host: ExaminedHost

        init() async throws {
            server = try TestServer.toBreak()
            host = try ExaminedHost(server)
            host.arguments = ["--ignore", "sandboxInUse", "--ca-file", host.place("authorities.pem").path]
            try await host.startNginx()
        }

        /// Settings of the administrator account, for connections that lock what the server needs.
        private var administrator: ConnectionSettings {
            get throws {
                var settings = ConnectionSettings(
                    address: .unixSocket(path: try server.environment.value("DB_SOCKET")), user: "root", password: "",
                    database: try server.environment.value("DB_NAME"))
                settings.readTimeout = .seconds(60)
                return settings
            }
        }

        /// The id with which `KILL` ends a connection.
        private static func number(of connection: inout Connection) throws -> Int64 {
            var number: Int64 = 0
            try connection.query("SELECT CONNECTION_ID()") { row throws(MariaDBError) in number = try row.int(0) }
            return number
        }

        @Test("Without the database, doctor names it first, then the responders that need it")
        func database() async throws {
            for process in try server.processes("mariadb") { process.send(SIGKILL) }
            defer { try? server.stack?.restore() }

            try await eventually("the responders have noticed the outage") {
                let report = try host.doctor()
                return report.findings.isSuperset(of: [
                    "databaseUnavailable", "responderUnhealthy", "frontDoorUnhealthy",
                ])
                    && report.codes.first == "databaseUnavailable"
            }
        }

        @Test("If the database's disk is full, doctor names the disk, even once the database no longer answers")
        func databaseDisk() async throws {
            let folder = try server.askDatabase("SELECT @@datadir").trimmingCharacters(in: .whitespacesAndNewlines)
            #expect(try host.doctor().findings.isEmpty)
            for process in try server.processes("mariadb") { process.send(SIGKILL) }
            defer { try? server.stack?.restore() }

            host.wrapper = ExaminedHost.inNamespace(
                "mount -t tmpfs -o size=200m none \(folder); head -c 199M /dev/zero >\(folder)/ibdata1")
            try await eventually("doctor names the disk") { try host.doctor().codes.first == "diskFull" }
            let report = try host.doctor()
            #expect(report.findings.contains("databaseUnavailable"), "\(report.output)")
            #expect(report.texts["diskFull"]?.fix?.contains("mount -o remount,size=") == true, "\(report.output)")
        }

        @Test("If the counters' memory file system is full, the server keeps working, and the suggested fix works")
        func countersDisk() async throws {
            let counters = try server.environment.value("STACK_DIR") + "/counters"
            try FileManager.default.createDirectory(atPath: counters, withIntermediateDirectories: true)
            try host.configure("metrics") { $0["directory"] = counters }
            let full =
                "mount -t tmpfs -o size=400k none \(counters); "
                + "head -c 500k /dev/zero >\(counters)/x 2>/dev/null || true"
            host.wrapper = ExaminedHost.inNamespace(full)

            let report = try host.doctor()
            #expect(report.findings == ["diskFull"], "\(report.output)")
            #expect(report.texts["diskFull"]?.effect?.hasPrefix("nothing; processes that start now") == true)
            let fix = try #require(report.texts["diskFull"]?.fix)
            #expect(!fix.contains("journalctl"))
            let command = try #require(fix.split(separator: ": ").last?.split(separator: " makes it larger").first)

            host.wrapper = ExaminedHost.inNamespace("\(full); \(command)")
            #expect(try host.doctor().findings.isEmpty)
        }

        @Test(
            "If another program holds all database connections, doctor names it, and the suggested command frees them"
        )
        func connections() async throws {
            let database = try server.environment.value("DB_NAME")
            let maximum = try server.askDatabase("SELECT @@max_connections").trimmingCharacters(
                in: .whitespacesAndNewlines)
            let account =
                "CREATE OR REPLACE USER blog@localhost IDENTIFIED BY 'x'; GRANT SELECT ON \(database).users TO blog@localhost"
            _ = try server.askDatabase(account)
            defer {
                _ = try? server.askDatabase(
                    "SET GLOBAL max_connections = \(maximum); DROP USER IF EXISTS blog@localhost")
            }
            _ = try server.askDatabase("SET GLOBAL max_connections = 60")
            let settings = ConnectionSettings(
                address: .unixSocket(path: try server.environment.value("DB_SOCKET")), user: "blog", password: "x",
                database: nil)
            var crowd: [HeldConnection] = []
            while crowd.count < 61, let one = try? HeldConnection(settings) { crowd.append(one) }

            let report = try host.doctor()
            withExtendedLifetime(crowd) {}

            #expect(report.codes.first == "databaseFull", "\(report.output)")
            #expect(report.first?.contains("blog has ") == true, "\(report.output)")
            let fix = try #require(report.texts["databaseFull"]?.fix)
            #expect(fix.hasPrefix(#"mariadb -e "KILL USER 'blog'" ends the connections of blog"#), "\(fix)")
            _ = try server.askDatabase("KILL USER 'blog'")
            try await eventually("the server is well again") { try host.doctor().findings.isEmpty }
        }

        @Test("A locked table is found, even if the server is only reading it at the moment")
        func lockedTable() async throws {
            var holder = try Connection(administrator)
            let number = try Self.number(of: &holder)
            try holder.executeScript("LOCK TABLES invitations WRITE")

            let report = try host.doctor()
            #expect(report.codes.first == "databaseLocked", "\(report.output)")
            #expect(report.first?.contains("changes of the table invitations") == true, "\(report.output)")
            let fix = report.texts["databaseLocked"]?.fix
            #expect(fix?.hasPrefix("mariadb -e 'KILL \(number)' ends it") == true, "\(report.output)")
            _ = try server.askDatabase("KILL \(number)")
            try await eventually("the server is well again") { try host.doctor().findings.isEmpty }
        }

        @Test("A suspended database is named within ten seconds")
        func frozenDatabase() async throws {
            for process in try server.processes("mariadb") { process.freeze() }
            defer { for process in (try? server.processes("mariadb")) ?? [] { process.thaw() } }

            let begin = ContinuousClock.now
            let report = try host.doctor()
            #expect(begin.duration(to: .now) < .seconds(10))
            #expect(report.codes.first == "databaseUnavailable", "\(report.output)")
        }

        @Test("A stopped sandbox is one finding, not one per provider")
        func sandbox() async throws {
            for process in try server.processes("sandbox") { process.freeze() }
            defer { for process in (try? server.processes("sandbox")) ?? [] { process.thaw() } }

            let report = try host.doctor()
            #expect(report.codes.first == "sandboxSilent", "\(report.output)")
            #expect(report.texts["sandboxSilent"]?.fix?.hasPrefix("systemctl start syncsandbox.socket") == true)
        }

        @Test("A rebuild from manifests is reported while it is in progress")
        func rebuild() throws {
            _ = try server.askDatabase(
                """
                INSERT INTO rebuilds (rebuild_id, begun_at, holds_everyone, first_new_user_id)
                VALUES (1, UTC_TIMESTAMP(), FALSE, 1000000)
                """)
            defer { _ = try? server.askDatabase("DELETE FROM rebuilds") }

            let report = try host.doctor()
            #expect(report.codes.contains("rebuildOn"), "\(report.output)")
            #expect(report.texts["rebuildOn"]?.fix?.hasPrefix("syncctl rebuild status") == true)
        }

        @Test("Maintenance is reported first, with the command that ends it")
        func maintenance() throws {
            let tool = try OperatorTool(server)
            let folder = host.place("maintenance").path
            host.arguments += ["--maintenance-folder", folder]
            _ = try tool.run("maintenance", "on", "Back at noon.")
            defer { _ = try? tool.run("maintenance", "off", "--maintenance-folder", folder) }

            let everywhere = try host.doctor()
            #expect(everywhere.findings == ["maintenanceOn"], "\(everywhere.output)")
            #expect(everywhere.first?.hasPrefix("all hosts have been closed for maintenance since ") == true)
            #expect(everywhere.first?.hasSuffix(": \"Back at noon.\"") == true)
            #expect(everywhere.texts["maintenanceOn"]?.fix == "syncctl maintenance off")

            _ = try tool.run("maintenance", "off", "--maintenance-folder", folder)
            _ = try tool.run("maintenance", "on", "Moving.", "--this-host", "--maintenance-folder", folder)
            let here = try host.doctor()
            #expect(here.first == "this host is closed for maintenance: \"Moving.\"", "\(here.output)")
            #expect(here.texts["maintenanceOn"]?.fix == "syncctl maintenance off --this-host")
            _ = try tool.run("maintenance", "off", "--this-host", "--maintenance-folder", folder)
            #expect(try host.doctor().findings.isEmpty)
        }

        @Test("HealthCheck stays 200 and, like the metrics, distinguishes a read-only server from a closed one")
        func availability() async throws {
            let metrics = try MetricsPages(server)
            let tool = try OperatorTool(server)
            let alice = try server.signUpOwningUser()
            func isHealthy(_ availability: String, _ sample: String? = nil) throws -> Bool {
                let reply = try server.call("GET", "HealthCheck")
                let isCounted = try sample.map { try metrics.samples()[$0] == 1 } ?? true
                return reply.status == 200 && reply.json?.availability?.text == availability && isCounted
            }
            try await eventually("the server accepts everything") { try isHealthy("full") }

            _ = try server.askDatabase("SET GLOBAL read_only = 1")
            defer { _ = try? server.askDatabase("SET GLOBAL read_only = 0") }
            try await eventually("the server is read-only") { try isHealthy("readOnly", "syncd_database_read_only") }
            #expect(try alice.upload(TestFile("no"), masterVersion: 0).status == 503)
            try await eventually("the rejected change is counted") {
                try metrics.samples()[#"syncd_refused_writes_total{role="transfer"}"#] ?? 0 > 0
            }
            _ = try server.askDatabase("SET GLOBAL read_only = 0")
            try await eventually("the server accepts everything again") { try isHealthy("full") }

            _ = try tool.run("maintenance", "on", "Back at noon.")
            defer { _ = try? tool.run("maintenance", "off") }
            try await eventually("the server is closed") { try isHealthy("maintenance", "syncd_maintenance") }
            #expect(try tool.json("maintenance", "status").allHosts?["text"]?.text == "Back at noon.")
            _ = try tool.run("maintenance", "off")
            try await eventually("the server is open") { try isHealthy("full") }

            let folder = try server.environment.value("STACK_DIR") + "/maintenance"
            let here = ["--this-host", "--maintenance-folder", folder]
            _ = try tool.run(["maintenance", "on", "Moving."] + here)
            defer { _ = try? tool.run(["maintenance", "off"] + here) }
            try await eventually("this host is closed") { try isHealthy("maintenance", "syncd_maintenance_this_host") }
            #expect(try tool.run(["maintenance", "status"] + here).output == "CLOSED    on this host: Moving.\n")
            _ = try tool.run(["maintenance", "off"] + here)
            try await eventually("the server is open") { try isHealthy("full") }
        }

        @Test("A read-only database is named, and accepts changes after the suggested fix")
        func readOnly() throws {
            _ = try server.askDatabase("SET GLOBAL read_only = 1")
            defer { _ = try? server.askDatabase("SET GLOBAL read_only = 0") }

            let report = try host.doctor()

            #expect(report.findings == ["databaseReadOnly"], "\(report.output)")
            #expect(report.first?.contains("read-only") == true)
            #expect(report.texts["databaseReadOnly"]?.fix?.contains("mariadb -e 'SET GLOBAL read_only = 0'") == true)
            _ = try server.askDatabase("SET GLOBAL read_only = 0")
            #expect(try host.doctor().findings.isEmpty)
        }

        @Test("If other programs hold all database connections, doctor reports it; the server recovers once some end")
        func full() async throws {
            let most = try #require(Int64(server.askDatabase("SELECT @@max_connections")))
            var free: Int64 = 0
            var holder = try Connection(administrator)
            try holder.executeScript(
                """
                SET GLOBAL max_connections = GREATEST(10, (
                    SELECT CAST(VARIABLE_VALUE AS INT) FROM information_schema.GLOBAL_STATUS
                     WHERE VARIABLE_NAME = 'THREADS_CONNECTED'))
                """)
            defer { try? holder.executeScript("SET GLOBAL max_connections = \(most)") }
            try holder.query(
                """
                SELECT @@max_connections - CAST(VARIABLE_VALUE AS INT) FROM information_schema.GLOBAL_STATUS
                 WHERE VARIABLE_NAME = 'THREADS_CONNECTED'
                """
            ) { row throws(MariaDBError) in free = try row.int(0) }
            do {
                let others = try (0..<max(0, Int(free))).map { _ in try HeldConnection(administrator) }
                let report = try host.doctor()
                #expect(report.findings.contains("databaseFull"), "\(report.output)")
                #expect(report.first?.contains("max_connections") == true, "\(report.output)")
                withExtendedLifetime(others) {}
            }
            try holder.executeScript("SET GLOBAL max_connections = \(most)")
            try await eventually("the server is well again") { try host.doctor().findings.isEmpty }
        }

        @Test("If nginx's user may not connect to a socket, doctor names the socket before the 502")
        func denied() async throws {
            host.stopNginx()
            host.site.user = "www-data"
            try await host.startNginx()
            let files = FileManager.default
            try letOthersEnter()
            let mode = try #require(files.attributesOfItem(atPath: host.apiSocket)[.posixPermissions])
            try files.setAttributes([.posixPermissions: 0o600], ofItemAtPath: host.apiSocket)
            defer { try? files.setAttributes([.posixPermissions: mode], ofItemAtPath: host.apiSocket) }

            let report = try host.doctor()

            #expect(report.findings.isSuperset(of: ["socketDenied", "frontDoorUnhealthy"]), "\(report.output)")
            #expect(report.first?.contains("nginx, as www-data, may not connect to it") == true, "\(report.output)")
            #expect(
                report.texts["socketDenied"]?.fix?.hasPrefix("systemctl restart syncd-api.socket") == true,
                "\(report.output)")
        }

        /// Lets others enter the folder of the stack's sockets, as on a package's host, and connect to the other
        /// socket.
        private func letOthersEnter() throws {
            let folder = URL(filePath: host.apiSocket).deletingLastPathComponent()
            let transfer = try server.environment.value("TRANSFER_SOCKET")
            for (path, mode) in [(folder.path, 0o711), (transfer, 0o666)] {
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            }
        }

        @Test("If nginx's user may not enter the socket's folder, the suggested fix lets it in")
        func deniedFolder() async throws {
            host.stopNginx()
            host.site.user = "www-data"
            let files = FileManager.default
            try letOthersEnter()
            let socket = host.apiSocket
            let folder = URL(filePath: socket).deletingLastPathComponent().appending(path: "denied").path
            try files.createDirectory(
                atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
            defer { try? files.removeItem(atPath: folder) }
            let mode = try #require(files.attributesOfItem(atPath: socket)[.posixPermissions])
            try files.setAttributes([.posixPermissions: 0o666], ofItemAtPath: socket)
            defer { try? files.setAttributes([.posixPermissions: mode], ofItemAtPath: socket) }
            // The same socket under another path.
            try files.linkItem(atPath: socket, toPath: folder + "/api.sock")
            host.apiSocket = folder + "/api.sock"
            host.site.apiSocket = host.apiSocket
            try await host.startNginx()
            #expect(try host.doctor().findings.isEmpty)

            try files.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder)
            let report = try host.doctor()
            #expect(report.codes.first == "socketDenied", "\(report.output)")
            let fix = try #require(report.texts["socketDenied"]?.fix)
            #expect(fix == "chmod a+x \(folder)")
            #expect(try Command("/bin/sh", ["-c", fix]).status == 0)
            try await eventually("the server is well again") { try host.doctor().findings.isEmpty }
        }

        @Test(
            "Doctor names a connection that locks what the server needs, and the server recovers once it ends",
            arguments: ["FLUSH TABLES WITH READ LOCK", "SELECT COUNT(*) FROM sharing_groups FOR UPDATE"])
        func locks(statement: String) async throws {
            var holder = try Connection(administrator)
            let number = try Self.number(of: &holder)
            try holder.begin()
            try holder.executeScript(statement)

            try await eventually("doctor names the connection") {
                let report = try host.doctor()
                return report.findings == ["databaseLocked"]
                    && report.texts["databaseLocked"]?.fix?.hasPrefix("mariadb -e 'KILL \(number)' ends it") == true
            }
            _ = try server.askDatabase("KILL \(number)")
            try await eventually("the server is well again") { try host.doctor().findings.isEmpty }
        }
    }
}
