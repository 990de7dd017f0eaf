import Foundation
import Posix
import SyncProtocol
import TestSupport
import Testing

/// A host for `syncctl doctor`: the syncd and the database of a stack, behind an nginx of its own, with certificates of its
/// own. It is healthy until a test breaks it.
///
/// systemd does not run where the tests do, so a script says what systemctl(1) would say; Tests/HostTests has the real one.
final class ExaminedHost {
    /// What nginx is told; ``writeSite()`` writes it.
    struct Site {
        var names = "localhost"
        var certificate = "server"
        var apiSocket: String
        var locations = "include syncd/syncd-locations.conf;"
        var workerConnections = 4_096
        var extra = ""
        /// Whom nginx's processes run as.
        var user = "root"
    }

    let server: TestServer
    let folder: ScratchFolder
    var site: Site
    /// Of doctor, beside those that every run has.
    var arguments: [String] = []
    /// A program and its arguments that run doctor.
    var wrapper: [String] = []
    /// The configuration file.
    private(set) var configuration: String
    var apiSocket: String
    private let transferSocket: String
    let port: UInt16
    /// The page of the metrics.
    var metrics: String
    private var nginx: ChildProcess?
    private let faketime: String

    /// Prepares everything, and starts nothing.
    init(_ server: TestServer) throws {
        self.server = server
        folder = try ScratchFolder("doctor")
        apiSocket = try server.environment.value("API_SOCKET")
        transferSocket = try server.environment.value("TRANSFER_SOCKET")
        site = Site(apiSocket: apiSocket)
        configuration = try server.environment.value("CONFIG_FILE")
        metrics = try server.environment.value("METRICS_URL") + "/metrics"
        port = try FreePort.find()
        let libraries = try FileManager.default.contentsOfDirectory(atPath: "/usr/lib")
        faketime =
            libraries.map { "/usr/lib/\($0)/faketime/libfaketimeMT.so.1" }.first(where: RegularFile.exists) ?? ""
        for name in ["nginx", "bin", "backups", "notes"] {
            try FileManager.default.createDirectory(at: place(name), withIntermediateDirectories: false)
        }
        let stack = try server.environment.value("STACK_DIR")
        for name in ["syncd", "syncd-version.conf", "syncd-exempt.conf"] {
            try FileManager.default.createSymbolicLink(
                atPath: place("nginx/\(name)").path, withDestinationPath: "\(stack)/nginx/\(name)")
        }
        try makeCertificate("server")
        try setUnits(Self.units)
        for kind in ["made", "copied"] { try noteBackup(kind) }
    }

    deinit { stopNginx() }

    func place(_ name: String) -> URL { folder.url.appending(path: name) }

    /// Writes a file that only root can read, unless `permissions` say something else.
    func write(_ text: String, to name: String, permissions: Int = 0o600) throws {
        try Data(text.utf8).write(to: place(name))
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: place(name).path)
    }

    // MARK: Its parts

    /// A certificate and its key, `NAME.pem` and `NAME.key`; those of all are trusted.
    func makeCertificate(_ name: String, for host: String = "localhost", days: Int = 60, ago: Int = 0) throws {
        let made = try Command(
            "/usr/bin/env",
            (ago > 0 ? clock("-\(ago)d") : []) + [
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-days",
                "\(days)", "-subj", "/CN=\(host)", "-addext", "subjectAltName=DNS:\(host)", "-keyout",
                place("\(name).key").path, "-out", place("\(name).pem").path,
            ])
        guard made.status == 0 else { throw StackError.scriptFailed(made.output) }
        let bundle = place("authorities.pem")
        let known = (try? Data(contentsOf: bundle)) ?? Data()
        try (known + Data(contentsOf: place("\(name).pem"))).write(to: bundle)
    }

    /// Puts another certificate, and its key, into the files that nginx reads.
    func replaceCertificate(by name: String, keyOf other: String? = nil) throws {
        for (ending, source) in [("pem", name), ("key", other ?? name)] {
            let file = place("\(site.certificate).\(ending)")
            try Data(contentsOf: place("\(source).\(ending)")).write(to: file)
        }
    }

    /// The variables with which a program sees another time.
    func clock(_ offset: String) -> [String] {
        ["LD_PRELOAD=\(faketime)", "FAKETIME=\(offset)", "FAKETIME_DONT_FAKE_MONOTONIC=1", "FAKETIME_SHARED=none none"]
    }

    /// Changes the server's settings for doctor; the server that runs is as before.
    func configure(_ change: (inout [String: Any]) throws -> Void) throws {
        configuration = try server.changedConfiguration(in: folder, change)
    }

    /// Changes a section of the settings.
    func configure(_ section: String, _ change: (inout [String: Any]) -> Void) throws {
        try configure { settings in
            var values = settings[section] as? [String: Any] ?? [:]
            change(&values)
            settings[section] = values
        }
    }

    static let units = [
        "nginx.service": "loaded active running enabled", "mariadb.service": "loaded active running enabled",
        "syncd.target": "loaded active active enabled", "syncd-api.socket": "loaded active running static",
        "syncd-api@1.service": "loaded active running static", "syncd-jobs@1.service": "loaded active running static",
        "syncd.service": "loaded active exited static", "syncd-backup.timer": "loaded active waiting enabled",
    ]

    /// Replaces systemctl(1) by a script that knows these units; a fifth word is when the unit's process started, such as
    /// `@1700000000`, a sixth how often it was restarted, and a seventh when it has become active.
    func setUnits(_ units: [String: String]) throws {
        let wanted = units.keys.filter { $0.hasPrefix("syncd") && $0 != "syncd.target" }.sorted()
        let paragraphs = units.sorted { $0.key < $1.key }.map { name, state in
            let words = state.split(separator: " ")
            let properties = [
                "LoadState", "ActiveState", "SubState", "UnitFileState", "ExecMainStartTimestamp", "NRestarts",
                "ActiveEnterTimestamp",
            ]
            return zip(properties, words).map { "\($0)=\($1)\n" }.joined() + "Id=\(name)\n"
        }
        try setSystemctl(
            """
            case "$*" in
            *--property=Wants*) echo 'Wants=\(wanted.joined(separator: " "))' ;;
            *) echo '\(paragraphs.joined(separator: "\n"))' ;;
            esac
            """)
    }

    func setSystemctl(_ script: String) throws {
        try write("#!/bin/sh\n" + script + "\n", to: "bin/systemctl", permissions: 0o755)
    }

    /// Notes a good backup (`made`), or a good copy of one (`copied`), of so many hours ago.
    func noteBackup(_ kind: String, hoursAgo: Int64 = 1) throws {
        let takenAt = WireDate(secondsSince1970: WallClock.secondsSince1970() - hoursAgo * 3_600)
        try write(#"{"name": "b", "takenAt": "\#(takenAt)"}"#, to: "backups/\(kind).json", permissions: 0o644)
    }

    // MARK: nginx

    /// Writes nginx's configuration; an nginx that runs keeps what it has read.
    func writeSite() throws {
        let temporary = ["client_body", "fastcgi", "proxy", "scgi", "uwsgi"].map {
            "\($0)_temp_path \(folder.path)/temporary-\($0);"
        }
        try write(
            """
            user \(site.user);
            daemon off;
            pid \(folder.path)/nginx.pid;
            events { worker_connections \(site.workerConnections); }
            http {
                include syncd-version.conf;
                include syncd-exempt.conf;
                include syncd/syncd-http.conf;
                access_log off;
                \(temporary.joined(separator: "\n    "))
                upstream syncd_api { server unix:\(site.apiSocket); }
                upstream syncd_transfer { server unix:\(transferSocket); }
                server {
                    listen 127.0.0.1:\(port) ssl http2;
                    server_name \(site.names);
                    ssl_certificate \(folder.path)/\(site.certificate).pem;
                    ssl_certificate_key \(folder.path)/\(site.certificate).key;
                    include syncd/syncd-tls.conf;
                    \(site.locations)
                }
                \(site.extra)
            }

            """, to: "nginx/nginx.conf", permissions: 0o644)
    }

    /// Starts nginx with the site, and waits until it accepts connections.
    func startNginx() async throws {
        try writeSite()
        let path = place("nginx/nginx.conf").path
        nginx = try ChildProcess(["nginx", "-e", "\(folder.path)/error.log", "-c", path, "-p", place("nginx").path])
        try await eventually("nginx accepts connections") {
            (try? LoopbackConnection(port: self.port, timeout: .seconds(1))) != nil
        }
    }

    /// Whether this machine's own disk is so full that doctor says so, which is nothing that a test has caused.
    static let hasFullDisk: Bool = {
        let values = try? FileManager.default.attributesOfFileSystem(forPath: "/")
        guard let free = values?[.systemFreeSize] as? NSNumber, let size = values?[.systemSize] as? NSNumber else {
            return false
        }
        // doctor says so below 10 %; tests and builds write meanwhile.
        return free.doubleValue < 0.15 * size.doubleValue
    }()

    func stopNginx() {
        nginx?.send(SIGTERM)
        _ = try? nginx?.wait()
        nginx = nil
    }

    // MARK: Doctor

    /// In a mount namespace of its own (unshare(1)), which needs root.
    static func inNamespace(_ preparation: String) -> [String] {
        ["unshare", "--mount", "/bin/sh", "-c", "set -e; \(preparation); exec \"$@\"", "sh"]
    }

    /// What doctor finds.
    struct Report {
        var status: Int32
        var output: String
        /// Codes of what somebody has to do something about.
        var findings: Set<String>
        /// The same, in the order in which they are reported.
        var codes: [String]
        /// The sentence of the first of them.
        var first: String?
        /// Codes of notes.
        var notes: Set<String>
        /// The check, by code, with the effect and the remedy.
        var texts: [String: (effect: String?, fix: String?)] = [:]
    }

    /// Runs doctor on this host.
    func doctor() throws -> Report {
        let program = try #require(try server.processes("syncd_api").first).executable()
        let tool = URL(filePath: program).deletingLastPathComponent().appending(path: "syncctl").path
        let run = try Command(
            "/usr/bin/env",
            ["PATH=\(place("bin").path):/usr/sbin:/usr/bin:/sbin:/bin"] + wrapper + [
                tool, "doctor", "--json", "--config", configuration, "--nginx", place("nginx").path, "--api-socket",
                apiSocket, "--transfer-socket", transferSocket, "--backups", place("backups").path, "--notes",
                place("notes").path, "--metrics", metrics,
            ] + arguments)
        guard let json = JSONValue(Array(run.output.utf8)), let diagnoses = json.diagnoses?.array else {
            throw StackError.scriptFailed("doctor ended with \(run.status): \(run.output)")
        }
        var report = Report(status: run.status, output: run.output, findings: [], codes: [], notes: [])
        for diagnosis in diagnoses where diagnosis.ignored?.bool != true {
            guard let code = diagnosis.code?.text, let verdict = diagnosis.verdict?.text else { continue }
            if verdict == "unknown" { report.notes.insert(code) } else { report.findings.insert(code) }
            if verdict != "unknown" { report.codes.append(code) }
            if verdict != "unknown" { report.first = report.first ?? diagnosis.finding?.text }
            report.texts[code] = (diagnosis.effect?.text, diagnosis.fix?.text)
        }
        return report
    }
}

/// A port of this machine that nobody listens at.
private enum FreePort {
    static func find() throws -> UInt16 {
        // Its listener closes when the value goes.
        try LocalHTTPServer { _ in }.port
    }
}
