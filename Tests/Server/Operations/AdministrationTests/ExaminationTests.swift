import Foundation
import MariaDB
import Posix
import Providers
import Synchronization
import TestSupport
import Testing

@testable import Operations
@testable import Store

@Suite("Checks of doctor")
struct ExaminationTests {
    @Test("Work that has been due for minutes means that no jobs process runs")
    func jobs() {
        func outbox(due: Int, seconds: Int64, failing: Int = 0) -> OutboxOverview {
            OutboxOverview(rows: due, due: due, leased: 0, failing: failing, longestDueSeconds: seconds)
        }

        #expect(JobsCheck.judge(outbox(due: 3, seconds: 301)).code == .jobsStandStill)
        #expect(JobsCheck.judge(outbox(due: 3, seconds: 300)).code == nil)
        #expect(JobsCheck.judge(outbox(due: 0, seconds: 0, failing: 2)).finding.contains("2 jobs failed before"))
        var refused = outbox(due: 0, seconds: 0, failing: 2)
        (refused.refusedPushes, refused.pushRefusal) = (2, "misconfigured: DeviceTokenNotForTopic")
        #expect(JobsCheck.judge(refused).code == .pushRefused)
        var late = outbox(due: 0, seconds: 0, failing: 1)
        late.oldestManifestSeconds = 86_400
        #expect(!JobsCheck.judge(late).finding.contains("manifest"))
        late.oldestManifestSeconds = 3 * 86_400
        #expect(JobsCheck.judge(late).finding.contains("the oldest manifest has waited for 3 d"))
        #expect(JobsCheck.judge(refused).finding == "2 notifications refused: misconfigured: DeviceTokenNotForTopic")
    }

    @Test("The database's clock may differ by two seconds, and the clocks of all providers by half a minute")
    func clock() {
        #expect(ClockCheck.database(ownMilliseconds: 10_000, databaseMilliseconds: 12_000).code == nil)
        #expect(ClockCheck.database(ownMilliseconds: 10_000, databaseMilliseconds: 7_999).code == .databaseClockDiffers)
        #expect(ClockCheck.providers(offsets: [-3_600, 30]).code == nil)
        #expect(ClockCheck.providers(offsets: [-3_600, -31]).finding.contains("31 s behind"))
        #expect(ClockCheck.providers(offsets: [31]).code == .clockOff)
        #expect(ClockCheck.providers(offsets: []).code == .clockUnread)
    }

    @Test("Certificates and disks cause a warning before they fail")
    func thresholds() {
        func disk(_ bytes: Int64, _ files: Int64, of total: Int64 = 100) -> DiagnosisCode? {
            DiskCheck.judge(
                HostFacts.FileSystem(
                    device: 1, freeBytes: bytes << 30, totalBytes: total << 30, freeFiles: files, totalFiles: 100),
                [DiskCheck.Place("/", .everything)]
            ).code
        }
        #expect(CertificateCheck.validity("c", secondsLeft: 86_400 * 30).code == nil)
        #expect(CertificateCheck.validity("c", secondsLeft: 86_400 * 20).code == .certificateExpiring)
        #expect(CertificateCheck.validity("c", secondsLeft: -1).code == .certificateExpired)
        #expect(disk(50, 50) == nil)
        #expect(disk(5, 50) == .diskFilling)
        #expect(disk(50, 5) == .diskFilling)
        #expect(disk(1, 50) == .diskFull)
        #expect(disk(50, 1) == .diskFull)
        #expect(disk(22, 50, of: 252) == nil)
        #expect(disk(7, 50, of: 1_000) == .diskFilling)
    }

    @Test("The remedy and the effect of a full disk depend on the data stored there")
    func disks() throws {
        func full(_ places: [DiskCheck.Place], isInMemory: Bool = false) -> Diagnosis {
            var system = HostFacts.FileSystem(
                device: 1, freeBytes: 0, totalBytes: 400 << 10, freeFiles: 10, totalFiles: 100)
            (system.isInMemory, system.mountPoint) = (isInMemory, "/run")
            return DiskCheck.judge(system, places)
        }
        let counters = full(
            [DiskCheck.Place("/run/syncd/metrics", .counters), .init("/run", .running)], isInMemory: true)
        #expect(counters.code == .diskFull)
        #expect(counters.effect?.hasPrefix("nothing until something restarts") == true)
        #expect(counters.fix?.contains("mount -o remount,size=3M /run") == true, "\(counters.fix ?? "")")
        #expect(counters.fix?.contains("journalctl") == false)
        let database = full([DiskCheck.Place("/var/lib/mysql", .database), .init("/", .everything)])
        #expect(database.effect == DiagnosisCode.diskFull.effect)
        #expect(database.fix?.hasSuffix("then systemctl start mariadb, unless it is running") == true)
        #expect(full([DiskCheck.Place("/var/log", .logs)]).fix?.contains("journalctl --vacuum-size") == true)
        #expect(try HostFacts.fileSystem(at: "/proc/self").mountPoint == "/proc")
        #expect(try HostFacts.fileSystem(at: "/dev/shm").isInMemory)
    }

    @Test("A changed file counts as loaded if an instance has loaded the same text, regardless of the file's time")
    func loadedFiles() throws {
        let folder = try ScratchFolder("loaded")
        func write(_ text: String, _ name: String) throws -> String {
            let file = folder.url.appending(path: name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
            return file.path
        }
        let files = [try write("{}", "syncd.json"), try write("secret", "secrets/key")]
        func unit(_ name: String, _ started: Int64) -> [String: String] {
            ["Id": name, "ActiveState": "active", "ExecMainStartTimestamp": "@\(started)"]
        }
        func outdated(_ units: [[String: String]]) -> [String] {
            LoadedFilesCheck.outdated(files, units, copies: folder.path + "/run").units
        }
        let early = unit("syncd-api@1.service", 1_000_000_000)
        #expect(outdated([early]) == ["syncd-api@1.service"])
        #expect(outdated([unit("syncd-api@1.service", WallClock.secondsSince1970() + 60)]) == [])

        _ = try write("{}", "run/syncd-api@1.service/configuration")
        _ = try write("secret", "run/syncd-api@1.service/secret_key")
        #expect(outdated([early]) == [])
        _ = try write("another", "run/syncd-api@1.service/secret_key")
        #expect(outdated([early]) == ["syncd-api@1.service"])

        // A role that does not receive this secret has no copy of it.
        _ = try write("{}", "run/syncd-jobs@1.service/configuration")
        #expect(outdated([unit("syncd-jobs@1.service", 1_000_000_000)]) == [])
    }

    @Test("If no name resolves, the single finding blames the name servers; one unresolved name is its own finding")
    func nameServers() {
        let hosts = ["a.example", "b.example"]
        let all = NamesCheck.judge(hosts, missing: hosts, servers: ["192.0.2.1"])
        #expect(all.map(\.code) == [.hostUnresolved])
        #expect(all.first?.finding.contains("asked: 192.0.2.1; tried: a.example, b.example") == true)
        let one = NamesCheck.judge(hosts, missing: ["b.example"], servers: [])
        #expect(one.map(\.code) == [nil, .hostUnresolved])
        #expect(one.last?.finding == "b.example has no address")
    }

    @Test("Names are resolved in parallel: several that hang take as long as one")
    func lookups() {
        let never = DispatchSemaphore(value: 0)
        let begin = ContinuousClock.now
        let found = NamesCheck.addresses(of: ["a", "b", "c", "good"], within: .seconds(1)) { name in
            if name == "good" { return ["192.0.2.1"] }
            never.wait()
            return []
        }
        #expect(begin.duration(to: .now) < .seconds(2))
        #expect(found == ["a": [], "b": [], "c": [], "good": ["192.0.2.1"]])
        for _ in 0..<3 { never.signal() }
    }

    @Test("Exhausted connections are reported by account and program, and the remedy spares our own connections")
    func connections() {
        let output = """
            Netid State  Recv-Q Send-Q Local Address:Port  Peer Address:Port Process
            u_str LISTEN 0      80     /run/mysqld/mysqld.sock 100 * 0 users:(("mariadbd",pid=9,fd=33))
            u_str ESTAB  0      0      /run/mysqld/mysqld.sock 101 * 102 users:(("mariadbd",pid=9,fd=34))
            u_str ESTAB  0      0      /run/mysqld/mysqld.sock 103 * 104 users:(("mariadbd",pid=9,fd=35))
            u_str ESTAB  0      0      /run/mysqld/mysqld.sock 105 * 106 users:(("mariadbd",pid=9,fd=36))
            u_str ESTAB  0      0      * 102 * 101 users:(("php-fpm8.2",pid=77,fd=9))
            u_str ESTAB  0      0      * 104 * 103 users:(("php-fpm8.2",pid=78,fd=9))
            u_str ESTAB  0      0      * 106 * 105 users:(("syncd",pid=80,fd=9))
            u_str ESTAB  0      0      * 200 * 201 users:(("other",pid=81,fd=9))
            """
        let programs = ConnectionsCheck.programs(output, at: "/run/mysqld/mysqld.sock")
        #expect(programs.map(\.name) == ["php-fpm8.2", "syncd"])
        #expect(programs.first?.identifiers == [77, 78])
        let check = ConnectionsCheck(ownUsers: ["syncd_api"], socket: nil, administrator: nil)
        func fix(_ accounts: [(user: String, count: Int)]) -> String? {
            check.judge(.init(accounts: accounts, maximum: 100, programs: programs)).fix
        }
        #expect(fix([("unauthenticated user", 90), ("syncd_api", 10)])?.hasPrefix("mariadb -e 'SET GLOBAL") == true)
        #expect(fix([("blog", 90), ("syncd_api", 10)])?.hasPrefix(#"mariadb -e "KILL USER 'blog'""#) == true)
        #expect(fix([("syncd_api", 90)])?.hasPrefix("mariadb -e 'SET GLOBAL max_connections = 200'") == true)
        // Without a list of accounts, or if the administrator's own account holds the connections.
        #expect(fix([])?.hasPrefix("kill 77 78 ends php-fpm8.2") == true)
        #expect(fix([("root", 100)])?.hasPrefix("kill 77 78 ends php-fpm8.2") == true)
    }

    @Test("The error's number distinguishes an account at its connection limit from a server at its limit")
    func accountConnections() throws {
        func shortage(_ code: UInt32, _ message: String = "") -> ConnectionsCheck.Shortage? {
            ConnectionsCheck.Shortage(.unavailable(code: code, message: message))
        }
        #expect(shortage(1_040) == .ofServer)
        #expect(shortage(1_203) == .ofAccount(option: "MAX_USER_CONNECTIONS 1000"))
        let perHour = "User 'max' has exceeded the 'max_connections_per_hour' resource (current value: 5)"
        #expect(shortage(1_226, perHour) == .ofAccount(option: "MAX_CONNECTIONS_PER_HOUR 0"))
        #expect(shortage(2_013) == nil)

        let settings = try ScratchDatabase.shared().makeDatabase()
        var connection = try Connection(settings)
        try connection.executeScript("CREATE USER few@localhost WITH MAX_USER_CONNECTIONS 1")
        defer { try? connection.executeScript("DROP USER few@localhost") }
        var few = settings
        (few.user, few.database) = ("few", nil)
        let first = try Connection(few)
        var refused: ConnectionsCheck.Shortage?
        do throws(MariaDBError) { _ = try Connection(few) } catch { refused = ConnectionsCheck.Shortage(error) }
        withExtendedLifetime(first) {}
        #expect(refused == .ofAccount(option: "MAX_USER_CONNECTIONS 0"))
        let diagnosis = ConnectionsCheck.limited(few, "MAX_USER_CONNECTIONS 0")
        #expect(diagnosis.finding.hasSuffix("few has reached its limit of connections (max_user_connections)"))
        #expect(
            diagnosis.fix?.hasPrefix("mariadb -e \"ALTER USER 'few'@'localhost' WITH MAX_USER_CONNECTIONS 0\"") == true)
    }

    @Test("The metrics page must come from this server and list processes of each role")
    func metrics() {
        func codes(_ page: Result<(status: Int, text: String), FrontDoorCheck.NoReply>) -> [DiagnosisCode?] {
            MetricsCheck.examine("http://x/metrics") { page }.map(\.code)
        }
        func text(_ jobs: Int) -> String {
            "syncd_processes{role=\"api\"} 2\nsyncd_processes{role=\"transfer\"} 2\nsyncd_processes{role=\"jobs\"} \(jobs)\n"
        }
        #expect(codes(.success((200, text(1)))) == [nil])
        #expect(codes(.success((200, text(0)))) == [.countersMissing])
        // The page of an added app.
        let named = text(1).replacing("{role", with: "{app=\"notes\",role")
        #expect(codes(.success((200, named))) == [nil])
        #expect(codes(.success((200, "hello"))) == [.metricsUnanswered])
        #expect(codes(.success((404, ""))) == [.metricsUnanswered])
        #expect(codes(.failure(.init("refused", isCertificate: false))) == [.metricsUnanswered])
    }

    @Test("A host name must resolve; an address of another host is noted")
    func dns() {
        #expect(NamesCheck.judge("x", addresses: [], own: ["10.0.0.1"]).code == .nameUnresolved)
        #expect(NamesCheck.judge("x", addresses: ["10.0.0.1"], own: ["10.0.0.1"]).code == nil)
        #expect(NamesCheck.judge("x", addresses: ["10.0.0.2"], own: ["10.0.0.1"]).code == .nameElsewhere)
    }

    @Test("A provider that rejects the server is distinguished from one that does not answer")
    func registration() throws {
        let google = try #require(Company.all.first { $0.name == "Google" })
        let refused = RegistrationCheck.judge(google, .misconfigured(detail: "invalid_client"))
        #expect(refused.code == .secretRefused)
        #expect(refused.fix?.contains("GoogleServerClientSecret") == true)
        #expect(RegistrationCheck.judge(google, .timedOut).code == .providerUnreachable)
        #expect(RegistrationCheck.judge(google, nil).code == nil)
    }

    @Test("A socket without a listener is an error with a remedy")
    func socket() throws {
        let diagnosis = try #require(
            RespondersCheck.examine("apiSocket", "/nonexistent.sock", asUser: nil, within: .seconds(1)).first)
        #expect(diagnosis.code == .responderSilent)
        #expect(diagnosis.fix != nil)
        #expect(RespondersCheck.obstacle(on: "/run/syncd/api.sock") { $0 != "/run/syncd" } == "/run/syncd")
        #expect(RespondersCheck.obstacle(on: "/run/syncd/api.sock") { !$0.hasPrefix("/run") } == "/run")
        #expect(RespondersCheck.obstacle(on: "/run/syncd/api.sock") { _ in true } == nil)
        #expect(ResponderProbe.status(in: Array("Status: 503 Service Unavailable\r\n\r\n".utf8)) == 503)
        #expect(ResponderProbe.status(in: Array("Content-Type: x\r\n\r\n".utf8)) == 200)
        #expect(ResponderProbe.status(in: []) == nil)
    }

    @Test("Units of a stopped target are not reported separately, unless they failed or are not ready")
    func units() throws {
        let states = UnitsCheck.paragraphs(
            """
            Id=syncd.target
            ActiveState=inactive
            SubState=dead
            UnitFileState=disabled

            Id=syncd-api@1.service
            ActiveState=inactive
            SubState=dead

            Id=syncd-jobs@1.service
            ActiveState=failed
            SubState=failed

            Id=syncd-transfer@1.service
            ActiveState=activating
            SubState=start
            NRestarts=3

            """
        ).map { UnitState($0) }

        let diagnoses = UnitsCheck.judge(states, at: 1_000)

        #expect(diagnoses.map(\.code) == [.unitStopped, .unitDisabled, .unitFailed, .unitNotReady])
        #expect(diagnoses[2].finding.contains("syncd-jobs@1.service"))
        #expect(diagnoses[3].finding.hasSuffix("(activating, start; restarted 3 times)"))
        let others = UnitsCheck.judge(
            UnitsCheck.paragraphs(
                """
                Id=syncd-api@1.service
                ActiveState=active
                NRestarts=44
                ActiveEnterTimestamp=@997

                Id=syncd-transfer@1.service
                ActiveState=activating
                SubState=start
                DropInPaths=/lib/systemd/system/x.conf /etc/systemd/system/syncd-transfer@1.service.d/override.conf

                """
            ).map { UnitState($0) }, at: 1_000)
        #expect(others.map(\.code) == [.unitRestarting, .unitNotReady])
        #expect(others[0].finding.hasSuffix("restarted it 44 times, last 3 s ago"))
        let override = "/etc/systemd/system/syncd-transfer@1.service.d/override.conf"
        // Files that syncctl apps creates for an added app belong to the unit; changed ones count as the
        // administrator's.
        let scratch = try ScratchFolder("units")
        let made = "/etc/systemd/system/syncd-notes-@.service.d/common.conf"
        let file = scratch.url.appending(path: String(made.dropFirst()))
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        let text = SignedText(by: "syncctl apps").sign("[Service]\nUser=syncd-notes\n")
        func changes(_ text: String) throws -> [String] {
            try Data(text.utf8).write(to: file)
            return UnitState(["Id": "syncd-notes-api@1.service", "DropInPaths": made], root: scratch.path).changes
        }
        #expect(try changes(text) == [])
        #expect(try changes(text + "NoNewPrivileges=no\n") == [made])
        #expect(
            others[1].fix?.contains("mv \(override) \(override).off; systemctl daemon-reload; systemctl restart")
                == true)
    }

    @Test("The certificate, and the reason why it is not trusted, are read from openssl's output")
    func servedCertificate() {
        func output(_ verdict: String) -> String {
            """
            depth=0 CN = localhost
            verify error:num=18:self-signed certificate
            -----BEGIN CERTIFICATE-----
            AAAA
            -----END CERTIFICATE-----
            Verify return code: \(verdict)
            """
        }
        #expect(ServedCertificate(output: output("0 (ok)"))?.distrust == nil)
        let served = ServedCertificate(output: output("18 (self-signed certificate)"))
        #expect(served?.distrust == "self-signed certificate")
        #expect(served?.pem == "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        #expect(ServedCertificate(output: "connect:errno=111") == nil)
    }

    @Test("Checks run in parallel, and a hanging check is abandoned")
    func sideBySide() {
        let never = DispatchSemaphore(value: 0)
        let (first, second) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let diagnoses = HostCheck.run(
            [
                HostCheck("hangs") {
                    never.wait()
                    return []
                },
                // Each waits for the other one.
                HostCheck("first") {
                    first.signal()
                    second.wait()
                    return [.good("first", "")]
                },
                HostCheck("second") {
                    second.signal()
                    first.wait()
                    return [.good("second", "")]
                },
            ], within: .seconds(1))

        #expect(diagnoses.map(\.check) == ["doctor", "first", "second"])
        #expect(diagnoses.first?.code == .checkTimedOut)
        #expect(diagnoses.first?.finding == "hangs: no result in time")
        never.signal()
    }

    @Test("A finding that the operator ignores is reported, but does not count")
    func ignored() {
        let report = DoctorReport(
            [Diagnosis(.sandboxInUse, "it is", fix: nil), .good("disk", "free")], ignoring: [.sandboxInUse])
        #expect(report.isGood)
        #expect(report.lines.first == "ignored it is")
        #expect(DoctorReport(report.diagnoses).lines.last == "THIS HOST NEEDS ATTENTION: sandboxInUse")
    }

    @Test(
        "Consequences and repetitions of a finding are listed below it; --quiet reports only problems"
    )
    func consequences() {
        let hosts = (1...5).map { Diagnosis(.hostUnresolved, "host \($0) has no address", fix: "look") }
        let report = DoctorReport(
            [
                .good("disk", "free"), Diagnosis(.frontDoorUnhealthy, "nginx answers 502", fix: "see"),
                Diagnosis(.databaseUnavailable, "no database", fix: "start it"),
                Diagnosis(.responderUnhealthy, "api has none", fix: "see"),
            ] + hosts, isQuiet: true)

        #expect(
            report.lines == [
                "BAD     no database", "          users: every request fails (503)", "          do: start it",
                "          therefore: nginx answers 502", "          therefore: api has none",
                "BAD     host 1 has no address",
                "          users: sign-ins, uploads and downloads fail (502); push notifications are late",
                "          do: look",
            ] + (2...5).map { "          therefore: host \($0) has no address" } + [
                "THIS HOST NEEDS ATTENTION: databaseUnavailable, hostUnresolved, frontDoorUnhealthy, responderUnhealthy"
            ])
        #expect(DoctorReport(Array(hosts[..<3])).lines.count == 10)
    }

    @Test("The cause is listed before its consequences, regardless of their severity and of the checks that found them")
    func causes() {
        func first(_ diagnoses: Diagnosis...) -> [DiagnosisCode?] {
            let report = DoctorReport(
                [Diagnosis(.sandboxInUse, "sandbox", fix: nil)] + diagnoses + [.good("dns", "good")])
            return report.diagnoses.map(\.code).prefix(1) + [report.diagnoses.last?.code]
                + [nil].prefix(report.lines.count { $0.hasPrefix("BAD") } == 1 ? 0 : 1)
        }
        func unit(_ code: DiagnosisCode, _ name: String) -> Diagnosis { Diagnosis(code, name, fix: nil, about: name) }
        func disk(_ purpose: DiskCheck.Purpose) -> Diagnosis {
            Diagnosis(.diskFull, "full", fix: nil, about: "\(purpose.rawValue) logs")
        }
        let unavailable = Diagnosis(.databaseUnavailable, "no database", fix: nil)
        let unhealthy = Diagnosis(.responderUnhealthy, "api has none", fix: nil)
        let closed = Diagnosis(.frontDoorClosed, "closed", fix: nil)
        let bad = Diagnosis(.frontDoorUnhealthy, "502", fix: nil)
        let uncounted = Diagnosis(.countersMissing, "none counts", fix: nil, about: "api")

        #expect(
            first(unit(.unitFailed, "mariadb.service"), unavailable, unhealthy, bad, disk(.database)) == [
                .diskFull, nil,
            ])
        #expect(first(unavailable, unhealthy, unit(.unitStopped, "mariadb.service")) == [.unitStopped, nil])
        #expect(first(closed, unit(.unitStopped, "nginx.service")) == [.unitStopped, nil])
        #expect(
            first(bad, Diagnosis(.responderSilent, "nobody", fix: nil), unit(.unitStopped, "syncd.target")) == [
                .unitStopped, nil,
            ])
        #expect(first(uncounted, disk(.counters)) == [.diskFull, nil])
        #expect(first(bad, unavailable, Diagnosis(.databaseLocked, "locked", fix: nil)) == [.databaseLocked, nil])
        #expect(first(bad, Diagnosis(.socketDenied, "denied", fix: nil)) == [.socketDenied, nil])
        let silent = Diagnosis(.responderSilent, "nobody", fix: nil)
        let transfer = Diagnosis(.responderSilent, "nobody", fix: nil, check: "transferSocket")
        #expect(first(transfer, unit(.unitFailed, "syncd-transfer@1.service")) == [.unitFailed, nil])
        #expect(first(bad, silent, uncounted, unit(.unitFailed, "syncd-notes-api@2.service")) == [.unitFailed, nil])
        // Unrelated findings.
        #expect(first(unavailable, disk(.logs)).count == 3)
        for code: DiagnosisCode in [.databaseDenied, .databaseFull, .databaseLocked] {
            #expect(first(disk(.database), Diagnosis(code, "another reason", fix: nil)).count == 3, "\(code)")
        }
        #expect(first(silent, unit(.unitFailed, "syncd-transfer@1.service")).count == 3)
        #expect(first(bad, unit(.unitFailed, "syncd-transfer@1.service")).count == 3)
        let warnings = DoctorReport([uncounted, unit(.unitFailed, "syncd-backup.service")]).lines
        #expect(!warnings.contains { $0.contains("and so: none counts") })
    }

    @Test("docs/operations.md explains every finding, in the program's order and words")
    func documented() throws {
        let file = PrivateStack.repository.appending(path: "docs/operations.md")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        let begin = try #require(lines.firstIndex { $0.hasPrefix("| Finding | Check | Severity |") })
        let rows = lines[(begin + 2)...].prefix { $0.hasPrefix("|") }.map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let severities = ["bad": "error", "warning": "warning", "unknown": "note"]

        #expect(rows.map { $0[0] } == DiagnosisCode.allCases.map { "`\($0.rawValue)`" })
        for (row, code) in zip(rows, DiagnosisCode.allCases) {
            #expect(row.count == 6, "\(code)")
            #expect(row[1] == "`\(code.check)`", "\(code)")
            #expect(row[2] == severities[code.verdict.rawValue], "\(code)")
            #expect(row[4] == code.effect ?? "–", "\(code)")
        }
    }

    // MARK: The public address

    /// The findings of doctor behind a proxy.
    private func publicFindings(
        _ proxy: @escaping @Sendable (PublicAddressCheck.Question) -> PublicAddressCheck.Reply?
    ) -> [DiagnosisCode?] {
        PublicAddressCheck("https://sync.example.com", ownVersion: "1.2.3") { question in
            proxy(question).map { .success($0) } ?? .failure(FrontDoorCheck.NoReply("refused", isCertificate: false))
        }.examine().map(\.code)
    }

    @Test(
        "The check of the public address detects another server, and headers that the proxy drops")
    func publicAddress() {
        /// This server behind a proxy that drops headers.
        @Sendable func server(_ question: PublicAddressCheck.Question, without dropped: [String] = [])
            -> PublicAddressCheck.Reply
        {
            if question.path.hasPrefix("/HealthCheck") { return .init(status: 200, version: "1.2.3", errorCode: nil) }
            let hasToken = question.headers.contains { $0.name.hasPrefix("access") && !dropped.contains($0.name) }
            return .init(
                status: 401, version: "1.2.3", errorCode: hasToken ? "sign_in_type_not_allowed" : "credentials_missing")
        }
        #expect(publicFindings { server($0) } == [nil])
        #expect(publicFindings { server($0, without: ["access_token"]) } == [.publicAddressDropsUnderscores])
        #expect(
            publicFindings { server($0, without: ["access_token", "access-token"]) } == [.publicAddressDropsHeaders])
        for reply in [
            PublicAddressCheck.Reply(status: 414, version: nil, errorCode: nil), nil,
        ] {
            #expect(
                publicFindings { $0.path.utf8.count > 50_000 ? reply : server($0) } == [.publicAddressLimitsRequests])
        }
        #expect(publicFindings { _ in nil } == [.publicAddressUnreached])
        for reply in [
            PublicAddressCheck.Reply(status: 200, version: nil, errorCode: nil),
            .init(status: 200, version: "1.2.2", errorCode: nil),
            .init(status: 404, version: "1.2.3", errorCode: "not_found"),
        ] { #expect(publicFindings { _ in reply } == [.publicAddressElsewhere]) }
        // The address fails during the check, like that of a reloading nginx.
        let left = Mutex(3)
        #expect(
            publicFindings { question in
                left.withLock { left in
                    left -= 1
                    return left >= 0 ? server(question) : nil
                }
            }.isEmpty)
        // The address is right, even if the server is unhealthy.
        let outage = PublicAddressCheck.Reply(status: 503, version: "1.2.3", errorCode: "database_unavailable")
        #expect(publicFindings { _ in outage }.isEmpty)
    }
}
