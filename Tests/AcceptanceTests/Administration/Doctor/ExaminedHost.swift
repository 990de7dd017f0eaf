import Foundation
import Posix
import SyncProtocol
import TestSupport
import Testing

/// A host for `syncctl doctor`: a stack's syncd and database behind a separate nginx with separate certificates. It is
/// healthy until a test breaks it.
///
/// systemd is not available to these tests, so a script imitates systemctl(1); Tests/HostTests uses the real one.
final class ExaminedHost {
    /// The settings of nginx; ``writeSite()`` writes them.
    struct Site {
        var names = "localhost"
        var certificate = "server"
        var apiSocket: String
        var locations = "include syncd/syncd-locations.conf;"
        var workerConnections = 4_096
        var extra = ""
        /// The user that nginx's processes run as.
        var user = "root"
    }

    let server: TestServer
    let folder: ScratchFolder
    var site: Site
    /// Arguments of doctor, in addition to those of every run.
    var arguments: [String] = []
    /// A program that runs doctor, with its arguments.
    var wrapper: [String] = []
    /// The configuration file.
    private(set) var configuration: String
    var apiSocket: String
    private let transferSocket: String
    let port: UInt16
    /// The address of the metrics page.
    var metrics: String
    private var nginx: ChildProcess?
    private let faketime: String

    /// Prepares the host without starting nginx.
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

    /// Writes a file, by default readable only by root.
    func write(_ text: String, to name: String, permissions: Int = 0o600) throws {
        try Data(text.utf8).write(to: place(name))
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: place(name).path)
    }

    // MARK: Parts

    /// Creates a certificate and its key, `NAME.pem` and `NAME.key`, and trusts the certificate.
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

    /// Replaces the certificate and key files that nginx reads.
    func replaceCertificate(by name: String, keyOf other: String? = nil) throws {
        for (ending, source) in [("pem", name), ("key", other ?? name)] {
            let file = place("\(site.certificate).\(ending)")
            try Data(contentsOf: place("\(source).\(ending)")).write(to: file)
        }
    }

    /// The environment variables that shift a program's clock.
    func clock(_ offset: String) -> [String] {
        ["LD_PRELOAD=\(faketime)", "FAKETIME=\(offset)", "FAKETIME_DONT_FAKE_MONOTONIC=1", "FAKETIME_SHARED=none none"]
    }

    /// Changes the server's settings as doctor reads them; the running server keeps its settings.
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

    /// Replaces systemctl(1) with a script that knows these units. Optional further words: the fifth is the time when
    /// the unit's process started, such as `@1700000000`, the sixth is the number of restarts, and the seventh is the
    /// time when it became active.
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

    /// Records a good backup (`made`) or a good copy (`copied`) from `hoursAgo` hours ago.
    func noteBackup(_ kind: String, hoursAgo: Int64 = 1) throws {
        let takenAt = WireDate(secondsSince1970: WallClock.secondsSince1970() - hoursAgo * 3_600)
        try write(#"{"name": "b", "takenAt": "\#(takenAt)"}"#, to: "backups/\(kind).json", permissions: 0o644)
    }

    // MARK: nginx

    /// Writes nginx's configuration; a running nginx keeps the one it has read.
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

    /// Whether this machine's own disk is full enough for doctor to report it, independent of any test.
    static let hasFullDisk: Bool = {
        let values = try? FileManager.default.attributesOfFileSystem(forPath: "/")
        guard let free = values?[.systemFreeSize] as? NSNumber, let size = values?[.systemSize] as? NSNumber else {
            return false
        }
        // Doctor reports less than 10 % and 8 GiB; the margin allows for files that tests and builds write meanwhile.
        return free.doubleValue < min(0.15 * size.doubleValue, Double(16 << 30))
    }()

    func stopNginx() {
        nginx?.send(SIGTERM)
        _ = try? nginx?.wait()
        nginx = nil
    }

    // MARK: Doctor

    /// Runs doctor in its own mount namespace (unshare(1)), which requires root.
    static func inNamespace(_ preparation: String) -> [String] {
        ["unshare", "--mount", "/bin/sh", "-c", "set -e; \(preparation); exec \"$@\"", "sh"]
    }

    /// The result of doctor.
    struct Report {
        var status: Int32
        var output: String
        /// Codes of the findings that require action.
        var findings: Set<String>
        /// The codes of the findings in the order of the report.
        var codes: [String]
        /// The text of the first finding.
        var first: String?
        /// Codes of notes.
        var notes: Set<String>
        /// The effect and the fix of each finding, by code.
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

/// A port of this machine that nobody listens on.
private enum FreePort {
    static func find() throws -> UInt16 {
        // The listener closes when the value is destroyed.
        try LocalHTTPServer { _ in }.port
    }
}
