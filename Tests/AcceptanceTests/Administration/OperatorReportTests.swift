import Foundation
import Posix
import TestSupport
import Testing

@Suite("syncctl report")
struct OperatorReportTests {
    private let server: TestServer
    private let folder: ScratchFolder

    init() throws {
        server = try TestServer.shared()
        folder = try ScratchFolder("report")
    }

    /// Runs the command with the stack's paths.
    fileprivate static func report(
        on server: TestServer, metrics: String = "/metrics", _ arguments: String...
    ) throws -> Command {
        try OperatorTool(server).run(
            [
                "report", "--metrics", try server.environment.value("METRICS_URL") + metrics, "--nginx",
                try server.environment.value("STACK_DIR") + "/nginx",
            ] + arguments)
    }

    fileprivate static func json(_ command: Command) throws -> JSONValue {
        try #require(JSONValue(Array(command.output.utf8)), "\(command.output)")
    }

    private func page(_ name: String) throws -> String {
        try String(contentsOf: folder.url.appending(path: name), encoding: .utf8)
    }

    @Test("JSON contains requests, errors by code, transfers, users, storage, and the certificate's remaining days")
    func figures() async throws {
        let figures: [@Sendable (JSONValue) -> Int64?] = [
            { $0.metrics?.errors?.endpoint_unknown?.integer }, { $0.metrics?.uploadedBytes?.integer },
            { $0.database?.counts?.users?.Google?.integer }, { $0.database?.counts?.fileBytes?.integer },
            { $0.database?.users?.points?.array?.last?.count?.integer },
            { $0.database?.files?.points?.array?.last?.madeInAll?.integer },
        ]
        let first = try Self.report(on: server, "--json")
        let before = try Self.json(first)
        let alice = try server.signUpOwningUser(name: "Reported \(UUID().uuidString)")
        try alice.publish(TestFile(randomBytes: 100_000), masterVersion: 0)
        for _ in 0..<3 { expectError(try server.call("GET", "NoSuchEndpoint"), 404) }

        #expect(first.status == 0, "\(first.output)")
        // A request is counted after its reply; other tests also send requests, and some delete users.
        try await eventually("everything is counted") {
            let now = try Self.json(Self.report(on: server, "--json"))
            return zip(figures, [3, 100_000, 1, 100_000, 1, 1]).allSatisfy { figure, least in
                (figure(now) ?? 0) - (figure(before) ?? 0) >= least
            }
        }
        #expect((before.certificates?.validities?.array?.first?.daysLeft?.integer ?? 0) > 300)
        #expect(before.sandbox?.bool == true && before.gaps?.array?.isEmpty == true)
    }

    @Test("The page is written to the named file or to standard output, without names of users and groups")
    func page() throws {
        let name = "Eve <script>\(UUID().uuidString)"
        let eve = try server.signUpOwningUser(name: name, groupName: name)
        try eve.publish(TestFile(randomBytes: 1_000), masterVersion: 0)
        let path = folder.path + "/report.html"

        let written = try Self.report(on: server, "--html", path)
        let shown = try Self.report(on: server, "--html", "-")

        #expect(written.status == 0 && written.output.isEmpty, "\(written.output)")
        for page in [try page("report.html"), shown.output] {
            #expect(page.hasPrefix("<!DOCTYPE html>") && page.hasSuffix("</html>\n"))
            #expect(page.components(separatedBy: "<svg ").count > 9)
            #expect(!page.contains("Eve") && !page.contains("<script"))
        }
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o640)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["report.html"])
    }

    @Test("Missing information is reported at the top, the rest is complete, and the status is 1")
    func gaps() throws {
        let path = folder.path + "/report.html"

        let elsewhere = try Self.report(on: server, metrics: "/none", "--html", path)
        let text = try Self.report(on: server, metrics: "/none", "--certificate", folder.path + "/none.pem")
        let json = try Self.json(Self.report(on: server, metrics: "/live", "--json"))

        #expect(elsewhere.status == 1 && elsewhere.output.contains("/none: status 404"), "\(elsewhere.output)")
        #expect(try page("report.html").contains("/none: status 404"))
        #expect(try page("report.html").contains("<section id=\"storage\">"))
        #expect(text.status == 1, "\(text.output)")
        #expect(
            text.output.contains("MISSING: certificates: \(folder.path)/none.pem")
                && text.output.contains("STORAGE BY PROVIDER"))
        #expect(json.gaps?.array?.map { $0.source?.text } == ["metrics"])
        #expect(json.metrics == nil && json.database != nil)
    }

    @Test("Without metrics or without the database, the report contains everything else")
    func configurations() throws {
        func report(_ change: (inout [String: Any]) -> Void) throws -> Command {
            let configuration = try server.changedConfiguration(in: folder) { change(&$0) }
            return try OperatorTool(server).runPlain(
                "report", "--json", "--config", configuration, "--nginx",
                try server.environment.value("STACK_DIR") + "/nginx", "--metrics",
                try server.environment.value("METRICS_URL") + "/metrics")
        }

        let withoutMetrics = try report { $0["metrics"] = nil }
        let withoutDatabase = try report { settings in
            var database = settings["database"] as? [String: Any] ?? [:]
            database["socket"] = "/nonexistent.sock"
            settings["database"] = database
        }

        #expect(withoutMetrics.status == 1 && withoutDatabase.status == 1)
        let first = try Self.json(withoutMetrics)
        #expect(first.gaps?.array?.first?.reason?.text == "this server records none: metrics.directory is not set")
        #expect(first.database != nil && first.metrics == nil)
        let second = try Self.json(withoutDatabase)
        #expect(second.gaps?.array?.map { $0.source?.text } == ["database"])
        #expect(second.database == nil && second.metrics?.endpoints != nil)
    }

    @Test("A page that cannot be written fails immediately, as does a missing configuration")
    func refused() throws {
        let missing = try Self.report(on: server, "--html", folder.path + "/none/report.html")
        let folderItself = try Self.report(on: server, "--html", folder.path)
        let both = try Self.report(on: server, "--html", folder.path + "/a.html", "--json")
        let unconfigured = try OperatorTool(server).runPlain("report", "--config", folder.path + "/none.json")

        #expect(
            missing.status == 1 && missing.output.contains("/none/report.html cannot be written"), "\(missing.output)")
        #expect(folderItself.status == 1 && folderItself.output.contains("is not a regular file"))
        #expect(both.status == 64)
        #expect(unconfigured.status == 78)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }
}

extension PrivateStackTests {
    /// Runs on the stack whose processes tests may kill.
    @Suite("syncctl report during an outage")
    struct ReportDuringOutageTests {
        @Test("Without the database, the report states this at the top, and contains the server's metrics")
        func database() throws {
            let server = try TestServer.toBreak()
            for process in try server.processes("mariadb") { process.send(SIGKILL) }
            defer { try? server.stack?.restore() }

            let report = try OperatorReportTests.report(on: server)

            #expect(report.status == 1)
            #expect(
                report.output.split(separator: "\n").dropFirst().prefix(2).contains {
                    $0.hasPrefix("MISSING: the database's figures: ")
                }, "\(report.output)")
            #expect(report.output.contains("LATENCIES"))
        }
    }
}
