import Foundation
import Posix
import TestSupport
import Testing

extension PrivateStackTests {
    /// Runs on a stack whose tests do not count requests that break a provider's rules.
    @Suite("syncctl doctor")
    struct DoctorTests {
        let server: TestServer
        private let host: ExaminedHost

        init() throws {
            server = try TestServer.ofStrangers()
            host = try ExaminedHost(server)
            host.arguments = ["--ignore", "sandboxInUse", "--ca-file", host.place("authorities.pem").path]
            // In front, since some tests remove the last arguments.
            if ExaminedHost.hasFullDisk {
                host.arguments = ["--ignore", "diskFilling", "--ignore", "diskFull"] + host.arguments
            }
        }

        /// Breaks a host whose nginx is running.
        typealias Damage = @Sendable (ExaminedHost) throws -> Void

        private func expectFindings(
            _ codes: Set<String>, notes: Set<String>? = nil, at location: SourceLocation = #_sourceLocation
        ) throws {
            let report = try host.doctor()
            #expect(report.findings == codes, "\(report.output)", sourceLocation: location)
            #expect(report.status == (codes.isEmpty ? 0 : 1), sourceLocation: location)
            if let notes { #expect(report.notes == notes, "\(report.output)", sourceLocation: location) }
            for code in codes { #expect(report.texts[code]?.fix != nil, "\(code)", sourceLocation: location) }
        }

        @Test("On a healthy host, doctor finds nothing and exits with status 0")
        func healthy() async throws {
            _ = try server.signUpOwningUser()
            try await host.startNginx()

            try expectFindings([], notes: [])
        }

        @Test("A mistake in the configuration is the only finding", arguments: Self.configurations.keys.sorted())
        func configuration(code: String) async throws {
            try await host.startNginx()
            try Self.configurations[code]?(host)

            try expectFindings([code])
        }

        private static let configurations: [String: Damage] = [
            "configurationInvalid": { try $0.configure { $0["apiThraeds"] = 3 } },
            "configurationWarning": { host in
                try host.configure { settings in
                    let file = try #require(settings.removeValue(forKey: "FacebookClientSecretFile") as? String)
                    settings["FacebookClientSecret"] = try String(contentsOfFile: file, encoding: .utf8)
                        .trimmingCharacters(in: .newlines)
                }
            },
            "sandboxInUse": { host in
                let code = try #require(host.arguments.firstIndex(of: "sandboxInUse"))
                host.arguments.removeSubrange(code - 1...code)
            },
            "databaseUnavailable": { try $0.configure("database") { $0["socket"] = "/nowhere/mysqld.sock" } },
            "databaseDenied": { host in
                try host.write("wrong\n", to: "password")
                try host.configure("database") { $0["passwordFile"] = host.place("password").path }
            },
            "roleAccountUnusable": { host in
                try host.write("wrong\n", to: "password")
                try host.configure("database") { database in
                    var roles = database["roles"] as? [String: [String: Any]] ?? [:]
                    roles["jobs"]?["passwordFile"] = host.place("password").path
                    database["roles"] = roles
                }
            },
            "uploadLimitTooSmall": { try $0.configure { $0["maximumUploadBytes"] = 5_368_709_121 } },
            "secretRefused": { host in
                try host.configure { settings in
                    settings["GoogleServerClientSecretFile"] = host.place("secret").path
                }
                try host.write("wrong\n", to: "secret")
            },
        ]

        // MARK: The public address

        /// Adds another nginx server in front, with these directives, and configures its address as the public one.
        private func putBehindProxy(_ directives: String, path: String = "") async throws {
            let port = try LocalHTTPServer { _ in }.port
            host.site.extra = """
                server {
                        listen 127.0.0.1:\(port) ssl http2;
                        ssl_certificate \(host.place("server.pem").path);
                        ssl_certificate_key \(host.place("server.key").path);
                        location / { proxy_pass https://127.0.0.1:\(host.port); }
                        \(directives)
                    }
                """
            try await host.startNginx()
            try host.configure { $0["publicURL"] = "https://localhost:\(port)\(path)" }
        }

        @Test(
            "Doctor finds a proxy's changes to requests by calling the public address",
            arguments: [
                ("underscores_in_headers on; large_client_header_buffers 4 80k;", "", []),
                (
                    "underscores_in_headers off; large_client_header_buffers 4 80k;", "",
                    ["publicAddressDropsUnderscores"]
                ),
                (
                    "proxy_set_header access-token \"\"; underscores_in_headers off; large_client_header_buffers 4 80k;",
                    "", ["publicAddressDropsHeaders"]
                ),
                ("underscores_in_headers on; large_client_header_buffers 4 8k;", "", ["publicAddressLimitsRequests"]),
                ("large_client_header_buffers 4 80k;", "/elsewhere", ["publicAddressElsewhere"]),
            ] as [(String, String, Set<String>)])
        func publicAddress(directives: String, path: String, codes: Set<String>) async throws {
            try await putBehindProxy(directives, path: path)

            try expectFindings(codes, notes: [])
        }

        @Test("A public address that does not answer this host is only noted, since it may answer others")
        func publicAddressUnreached() async throws {
            try await host.startNginx()
            try host.configure { $0["publicURL"] = "https://localhost:\(try LocalHTTPServer { _ in }.port)" }

            try expectFindings([], notes: ["publicAddressUnreached"])
        }

        @Test("A database account shared by all roles is noted, and not a finding")
        func sharedAccount() async throws {
            try await host.startNginx()
            try host.configure("database") { $0["roles"] = nil }

            try expectFindings([], notes: ["rightsShared"])
        }

        // MARK: nginx

        @Test(
            "A mistake in nginx's configuration is found before nginx loads it", arguments: Self.sites.keys.sorted()
        )
        func site(code: String) async throws {
            try host.makeCertificate("other")
            try await host.startNginx()
            try Self.sites[code]?(host)
            try host.writeSite()

            let consequences: Set<String> = ["certificateUnreadable", "keyMismatch"]
            try expectFindings(consequences.contains(code) ? [code, "nginxInvalid"] : [code])
        }

        private static let sites: [String: Damage] = [
            "nginxInvalid": { $0.site.extra = "no_such_directive on;" },
            "siteMissing": { $0.site.locations = "location / { return 404; }" },
            "certificateUnreadable": { try $0.write("nothing", to: "server.pem") },
            "keyMismatch": { try $0.replaceCertificate(by: "server", keyOf: "other") },
            "certificateNotLoaded": { try $0.replaceCertificate(by: "other") },
        ]

        @Test("Snippets that nginx does not include, and other servers' certificates, are ignored")
        func notIncluded() async throws {
            try host.makeCertificate("snakeoil", for: "elsewhere", days: 1)
            host.site.extra = """
                server {
                        listen 127.0.0.1:\(try LocalHTTPServer { _ in }.port) ssl;
                        ssl_certificate \(host.place("snakeoil.pem").path);
                        ssl_certificate_key \(host.place("snakeoil.key").path);
                    }
                """
            try host.write("ssl_certificate /nowhere; server_name nowhere.invalid;", to: "nginx/snippet.conf")
            try await host.startNginx()

            try expectFindings([], notes: [])
        }

        @Test("A missing nginx, and one with few connections, are noted")
        func noted() async throws {
            host.site.workerConnections = 768
            try await host.startNginx()
            try expectFindings([], notes: ["connectionsFew"])

            host.arguments += ["--nginx", "/nowhere"]
            try expectFindings([], notes: ["nginxUnread"])
        }

        @Test(
            "A problem with the certificate is the only finding",
            arguments: [
                ("certificateExpired", "localhost", 30, 60), ("certificateExpiring", "localhost", 10, 0),
                ("certificateForOtherName", "other.example", 60, 0),
            ])
        func certificate(code: String, name: String, days: Int, ago: Int) async throws {
            try host.makeCertificate("server", for: name, days: days, ago: ago)
            try await host.startNginx()

            try expectFindings([code])
        }

        @Test("A certificate from this host's own authority is noted, since the host is a trial")
        func trial() async throws {
            let name = "var/lib/syncd/authority/localhost/server"
            try FileManager.default.createDirectory(
                at: host.place(name).deletingLastPathComponent(), withIntermediateDirectories: true)
            for ending in ["pem", "key"] {
                let copy = host.place("\(name).\(ending)")
                try FileManager.default.copyItem(at: host.place("server.\(ending)"), to: copy)
            }
            host.site.certificate = name
            try await host.startNginx()

            try expectFindings([], notes: ["certificateOfTrial"])
        }

        @Test("An expired certificate that nginx still serves is found, although the file contains a new one")
        func expiredServed() async throws {
            try host.makeCertificate("new")
            try host.makeCertificate("server", days: 30, ago: 60)
            try await host.startNginx()
            try host.replaceCertificate(by: "new")

            try expectFindings(["expiredCertificateServed"])
        }

        @Test("A certificate from an unknown authority is a finding unless --ca-file names the authority")
        func untrusted() async throws {
            try await host.startNginx()
            let authority = host.arguments
            host.arguments.removeLast(2)
            try expectFindings(["certificateUntrusted"])

            host.arguments = authority
            try expectFindings([])
        }

        @Test("Doctor distinguishes a stopped nginx, one with another site, and one without a responder")
        func frontDoor() async throws {
            try host.writeSite()
            try expectFindings(["frontDoorClosed"])

            host.site.locations = "location / { return 404; }"
            try await host.startNginx()
            host.site.locations = "include syncd/syncd-locations.conf;"
            try host.writeSite()
            try expectFindings(["otherServerAnswers"])

            host.stopNginx()
            host.site.apiSocket = "/nowhere/api.sock"
            try await host.startNginx()
            try expectFindings(["frontDoorUnhealthy"])

            host.apiSocket = "/nowhere/api.sock"
            try expectFindings(["frontDoorUnhealthy", "responderSilent"])
        }

        @Test("If the certificate could not be obtained yet, the fix is to run setup again")
        func onlyChallenges() async throws {
            host.site.locations = "location /.well-known/acme-challenge/ { root /var/www/html; }"
            try await host.startNginx()

            try expectFindings(["certificateMissing"])
            #expect(try host.doctor().texts["certificateMissing"]?.fix?.hasPrefix("syncctl setup") == true)
        }

        @Test("If nginx does not listen on an address of the host name, that is found even if the other family answers")
        func addressFamilies() async throws {
            try host.makeCertificate("server", for: "doctor.invalid")
            host.site.names = "doctor.invalid"
            try await host.startNginx()
            try host.write(
                "127.0.0.1 doctor.invalid\n::1 doctor.invalid\n127.0.0.1 localhost\n", to: "hosts", permissions: 0o644)
            host.wrapper = ExaminedHost.inNamespace("mount --bind \(host.place("hosts").path) /etc/hosts")
            guard HostFacts.ownAddresses().contains("::1") else { return }

            try expectFindings(["frontDoorClosed"])
            #expect(try host.doctor().first?.contains("[::1]:\(host.port)") == true)
        }

        @Test("Metrics that do not answer or omit a role are found")
        func metrics() async throws {
            try await host.startNginx()
            let page = host.metrics
            host.metrics = "http://127.0.0.1:\(try LocalHTTPServer { _ in }.port)/metrics"
            try expectFindings(["metricsUnanswered"])

            let partial = try LocalHTTPServer { peer in
                _ = peer.readRequest()
                peer.respond(body: "syncd_processes{role=\"api\"} 2\nsyncd_processes{role=\"jobs\"} 1\n")
            }
            host.metrics = "http://127.0.0.1:\(partial.port)/metrics"
            try expectFindings(["countersMissing"])

            host.metrics = page
            try expectFindings([])
        }

        @Test("A publisher of signals about changes that does not answer is found")
        func signals() async throws {
            try await host.startNginx()
            try host.configure("changeSignal") { $0["socket"] = "/run/syncd/no-publisher.sock" }
            try expectFindings(["signalsSilent"])
        }

        @Test("With --json, errors are JSON; at a terminal, problems have a colour unless NO_COLOR is set")
        func forms() async throws {
            try await host.startNginx()
            let tool = try OperatorTool(server)
            let unread = try tool.runPlain("status", "--json", "--config", "/nowhere.json")
            let error = try #require(JSONValue(Array(unread.output.utf8))?.error)
            #expect(error.exitStatus?.integer == Int64(unread.status))
            #expect(error.message?.text?.contains("/nowhere.json") == true)
            let wrong = try tool.runPlain("users", "--json", "--nonsense")
            #expect(JSONValue(Array(wrong.output.utf8))?.error?.code?.text == "usage", "\(wrong.output)")

            let command = try tool.commandLine(
                "maintenance", "on", "Colours", "--this-host", "--maintenance-folder", host.place("closed").path)
            func shown(_ environment: String) throws -> String {
                try Command(
                    "/usr/bin/env",
                    ["-u", "NO_COLOR", "TERM=xterm", environment, "script", "-qec", command, "/dev/null"]
                ).output
            }
            let (coloured, plain) = (try shown("X="), try shown("NO_COLOR=1"))
            #expect(coloured.contains("\u{1B}[1;31mCLOSED"), "\(coloured)")
            #expect(!plain.contains("\u{1B}["), "\(plain)")
        }

        @Test("Without the openssl program, doctor notes that it did not examine the front door")
        func withoutOpenSSL() async throws {
            try await host.startNginx()
            try FileManager.default.createSymbolicLink(
                atPath: host.place("bin/nginx").path, withDestinationPath: "/usr/sbin/nginx")
            try FileManager.default.createSymbolicLink(
                atPath: host.place("bin/sh").path, withDestinationPath: "/bin/sh")
            host.wrapper = ["PATH=\(host.place("bin").path)"]

            try expectFindings([], notes: ["frontDoorUnread"])
        }

        // MARK: systemd

        @Test(
            "Doctor finds units that failed, stopped or are disabled, as systemd reports them",
            arguments: [
                ("unitFailed", "syncd-api@1.service", "loaded failed failed static"),
                ("unitFailed", "syncd-jobs@1.service", "loaded activating auto-restart static"),
                ("unitNotReady", "syncd-transfer@1.service", "loaded activating start static"),
                ("unitRestarting", "syncd-api@1.service", "loaded active running static @4000000000 44 @now"),
                ("unitStopped", "nginx.service", "loaded inactive dead enabled"),
                ("unitStopped", "syncd-jobs@1.service", "loaded inactive dead static"),
                ("unitStopped", "mariadb.service", "masked inactive dead masked"),
                ("unitDisabled", "syncd.target", "loaded active active disabled"),
            ])
        func units(code: String, unit: String, state: String) async throws {
            try await host.startNginx()
            let state = state.replacing("@now", with: "@\(WallClock.secondsSince1970())")
            try host.setUnits(ExaminedHost.units.merging([unit: state]) { $1 })

            let report = try host.doctor()
            #expect(report.findings == [code], "\(report.output)")
            #expect(report.texts[code]?.fix?.contains(unit) == true)
        }

        @Test("A configuration or secret changed after the processes started is found")
        func unreadFiles() async throws {
            try await host.startNginx()
            try host.configure { _ in }
            let now = Int64(WallClock.secondsSince1970())
            for (started, findings) in [(now + 60, []), (1_000_000_000, ["configurationNotLoaded"])] {
                try host.setUnits(
                    ExaminedHost.units.merging(["syncd-api@1.service": "loaded active running static @\(started)"]) {
                        $1
                    })

                let report = try host.doctor()
                #expect(report.findings == Set(findings), "\(report.output)")
                for code in findings { #expect(report.texts[code]?.fix == "systemctl reload syncd") }
            }
        }

        @Test("A configuration restored with its former modification time is found")
        func fileFromBefore() async throws {
            try await host.startNginx()
            // The secrets belong to the stack, which started earlier than that.
            let started = Int64(WallClock.secondsSince1970()) - 1
            try host.setUnits(
                ExaminedHost.units.merging(["syncd-api@1.service": "loaded active running static @\(started)"]) { $1 })
            try host.configure { _ in }
            // Like `mv syncd.json.previous syncd.json` and `cp --preserve`.
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1_500_000_000)], ofItemAtPath: host.configuration)

            try expectFindings(["configurationNotLoaded"])
        }

        @Test("A missing unit, and a host without systemd, are noted")
        func otherUnits() async throws {
            try await host.startNginx()
            try host.setUnits(ExaminedHost.units.merging(["mariadb.service": "not-found inactive dead"]) { $1 })
            try expectFindings([], notes: ["unitMissing"])

            try host.setSystemctl("echo 'System has not been booted with systemd as init system (PID 1).'; exit 1")
            try expectFindings([], notes: ["unitsUnread"])
        }

        // MARK: The database

        @Test("A database without the server's tables is reported as having a different schema")
        func schema() async throws {
            try await host.startNginx()
            let name = "doctor_\(UInt32.random(in: 0 ... .max))"
            let settings = try Data(contentsOf: URL(filePath: host.configuration))
            let user = try #require(JSONValue(Array(settings))?.database?.user?.text)
            _ = try server.askDatabase("CREATE DATABASE \(name); GRANT ALL ON \(name).* TO \(user)@localhost")
            defer { _ = try? server.askDatabase("DROP DATABASE \(name)") }
            try host.configure("database") { $0["name"] = name }

            try expectFindings(["schemaDiffers"])
        }

        @Test("A column whose collation differs from the release is found and named")
        func columns() async throws {
            try await host.startNginx()
            func column(_ collation: String) -> String {
                "ALTER TABLE schema_lease MODIFY COLUMN owner VARCHAR(64) COLLATE \(collation) NULL"
            }
            _ = try server.askDatabase(column("utf8mb4_general_ci"))
            defer { _ = try? server.askDatabase(column("utf8mb4_general_nopad_ci")) }

            try expectFindings(["columnsDiffer"])
        }

        @Test("A role's account with too few or too many rights is found")
        func rights() async throws {
            try await host.startNginx()
            let account = try server.askDatabase(
                "SELECT CONCAT(user, '@', host) FROM mysql.user WHERE user LIKE '%jobs'"
            )
            .trimmingCharacters(in: .whitespacesAndNewlines)
            let tool = try OperatorTool(server)
            defer { _ = try? tool.run("migrate") }
            _ = try server.askDatabase("GRANT UPDATE ON invitations TO \(account)")
            try expectFindings(["rightsSurplus"])

            _ = try server.askDatabase("REVOKE DELETE ON invitations FROM \(account)")
            try expectFindings(["rightsMissing"])
        }

        @Test("A sealing key that opens no tokens is found, as are tokens that no key opens")
        func sealingKey() async throws {
            let alice = try server.signUpOwningUser()
            try await host.startNginx()
            let key = try OperatorTool(server).runPlain("keys", "generate")
            try host.write(key.output, to: "key")
            try host.configure("sealing") { $0["keyFile"] = host.place("key").path }
            try expectFindings(["sealingKeyUnknown"])

            try host.configure { _ in }
            func change(_ contents: String) -> String {
                "UPDATE users SET credentials = \(contents) WHERE user_id = \(alice.userID)"
            }
            _ = try server.askDatabase(change("CONCAT(credentials, X'00')"))
            defer { _ = try? server.askDatabase(change("LEFT(credentials, LENGTH(credentials) - 1)")) }
            try expectFindings(["tokensDamaged"])
        }

        @Test("Stalled jobs are found")
        func jobs() async throws {
            let alice = try server.signUpOwningUser()
            try await host.startNginx()
            let worker = try #require(try server.processes("syncd_jobs").first)
            defer { worker.thaw() }
            // A process that is stopped during a transaction keeps its locks.
            try await eventually("the worker is stopped and holds no locks") {
                worker.freeze()
                do {
                    _ = try server.askDatabase(
                        "SET innodb_lock_wait_timeout = 1; SELECT outbox_id FROM outbox FOR UPDATE")
                    return true
                } catch is TestServer.DatabaseComplaint {
                    worker.thaw()
                    return false
                }
            }
            let masterVersion = try #require(try alice.index().masterVersion)
            let file = TestFile("to be deleted")
            try alice.publish(file, masterVersion: masterVersion)
            try alice.deleteAndCommit(file, masterVersion: masterVersion + 1)
            _ = try server.askDatabase("UPDATE outbox SET available_at = NOW(3) - INTERVAL 1 HOUR")

            try expectFindings(["jobsStandStill"])

            worker.thaw()
            try await eventually("the work is done") { try host.doctor().findings.isEmpty }
        }

        @Test("Pushes that a service rejects because of our settings are found")
        func refusedPushes() async throws {
            try await host.startNginx()
            _ = try server.askDatabase(
                """
                INSERT INTO outbox (kind, user_id, available_at, created_at, attempts, last_error)
                VALUES ('sendPush', 0, NOW(3) + INTERVAL 1 HOUR, NOW(3), 3, 'misconfigured: DeviceTokenNotForTopic')
                """)
            try expectFindings(["pushRefused"])

            _ = try server.askDatabase("DELETE FROM outbox WHERE user_id = 0")
            try await eventually("nothing is found") { try host.doctor().findings.isEmpty }
        }

        // MARK: Backups

        @Test("Backups and copies that are too old are found; a host without backups is noted")
        func backups() async throws {
            try await host.startNginx()
            try host.noteBackup("copied", hoursAgo: 50)
            try expectFindings(["backupCopyOld"])
            try host.configure("backup") { $0["maximumAgeHours"] = 51 }
            try expectFindings([])
            try host.configure { _ in }
            try host.noteBackup("made", hoursAgo: 50)
            try expectFindings(["backupOld", "backupCopyOld"])

            try FileManager.default.removeItem(at: host.place("backups"))
            try expectFindings(["backupOld"])
            try host.setUnits(ExaminedHost.units.filter { $0.key != "syncd-backup.timer" })
            try expectFindings([], notes: ["backupMissing"])
        }

        // MARK: Time, names, disks

        @Test("A wrong clock is found by comparison with the database and with the providers")
        func clock() async throws {
            try await host.startNginx()
            host.wrapper = host.clock("+90s")

            let report = try host.doctor()
            #expect(report.findings.isSuperset(of: ["clockOff", "databaseClockDiffers"]), "\(report.output)")
            #expect(report.findings.isSubset(of: ["clockOff", "databaseClockDiffers", "secretRefused"]))
        }

        @Test("A host name that does not resolve is found, and one that resolves to another host is noted")
        func names() async throws {
            try host.makeCertificate("server", for: "doctor.invalid")
            host.site.names = "doctor.invalid"
            try await host.startNginx()
            try expectFindings(["nameUnresolved"])

            try host.write("192.0.2.1 doctor.invalid\n127.0.0.1 localhost\n", to: "hosts", permissions: 0o644)
            host.wrapper = ExaminedHost.inNamespace("mount --bind \(host.place("hosts").path) /etc/hosts")
            try expectFindings([], notes: ["nameElsewhere"])
        }

        @Test("An unreachable name server is one finding that lists all names tried")
        func offline() async throws {
            try host.configure { $0["sandbox"] = nil }
            host.wrapper = ["unshare", "--net"]
            host.arguments += ["--nginx", "/nowhere"]

            let report = try host.doctor()
            #expect(
                report.findings == ["hostUnresolved", "providerUnreachable", "metricsUnanswered"], "\(report.output)")
            #expect(report.notes.contains("clockUnread"))
            #expect(report.codes.filter { $0 == "hostUnresolved" }.count == 1)
            #expect(report.codes.first == "hostUnresolved")
            #expect(report.output.contains("oauth2.googleapis.com"))
        }

        @Test(
            "A full, nearly full or read-only disk is found; one that cannot be examined is noted",
            .enabled(if: !ExaminedHost.hasFullDisk))
        func disks() async throws {
            try await host.startNginx()
            host.wrapper = ExaminedHost.inNamespace("mount -t tmpfs -o size=50m none /var/log")
            try expectFindings(["diskFull"])

            host.wrapper = ExaminedHost.inNamespace(
                "mount -t tmpfs -o size=1g,nr_inodes=100 none /var/log; for i in $(seq 93); do : >/var/log/$i; done")
            try expectFindings(["diskFilling"])

            host.wrapper = ExaminedHost.inNamespace("mount -t tmpfs -o ro none /var/log")
            try expectFindings(["diskReadOnly"])

            host.wrapper = []
            try host.configure("log") { $0["file"] = "/\(String(repeating: "a", count: 300))/syncd.log" }
            try expectFindings([], notes: ["diskUnread"])
        }

        // MARK: Checks that cannot run

        @Test("A check that does not end is noted, and the results of the others are reported")
        func timeout() async throws {
            try await host.startNginx()
            let fifo = host.place("fifo").path
            #expect(try Command("/usr/bin/mkfifo", [fifo]).status == 0)
            host.arguments += ["--certificate", fifo, "--patience", "8"]

            try expectFindings([], notes: ["checkTimedOut"])
        }

        @Test("Checks that require root are noted when doctor runs as another user")
        func permissions() async throws {
            try await host.startNginx()
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o600], ofItemAtPath: host.place("server.key").path)
            host.wrapper = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

            let report = try host.doctor()
            #expect(report.notes.contains("notPermitted"), "\(report.output)")
            #expect(report.output.contains("run as root"))
            #expect(report.findings.isEmpty, "\(report.output)")
            #expect(report.status == 0)
        }
    }
}
