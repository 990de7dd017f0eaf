import Foundation
import OpenSSLCrypto
import SyncProtocol
import TestSupport
import Testing

@testable import Operations

@Suite("The page of a report, and its text")
struct ReportPageTests {
    private static func page(_ report: ServerReport) -> String { String(decoding: report.page, as: UTF8.self) }

    /// The part of a page about one subject.
    private static func section(_ id: String, of page: String) throws -> String {
        let parts = page.components(separatedBy: "<section id=\"\(id)\">")
        try #require(parts.count == 2)
        return parts[1].components(separatedBy: "</section>")[0]
    }

    @Test("The page has a chart for every subject, each with a title, a description and a table")
    func complete() throws {
        let page = Self.page(SampleReport.report(metrics: try SampleReport.metrics()))

        for id in [
            "requests", "errors", "latencies", "providers", "storage", "users", "groups", "files", "outbox", "quotas",
        ] {
            let section = try Self.section(id, of: page)
            #expect(section.contains("<svg role=\"img\"") && section.contains("class=\"mark "), "\(id)")
            #expect(
                section.contains("<title id=\"\(id)-title\">") && section.contains("<desc id=\"\(id)-description\">"))
            #expect(section.contains("<tbody>\n<tr>"), "\(id)")
        }
        #expect(page.hasPrefix("<!DOCTYPE html>") && page.hasSuffix("</html>\n"))
        #expect(!page.contains("role=\"alert\""))
    }

    @Test("Errors are listed by the protocol's codes, with their status and meaning")
    func errors() throws {
        let section = try Self.section(
            "errors",
            of: Self.page(
                SampleReport.report(metrics: try SampleReport.metrics(#"syncd_errors_total{code="client_gone"} 1"#))))

        #expect(section.contains("permission_too_low: 4. cloud_unavailable: 2. client_gone: 1."))
        #expect(section.contains("<td>502</td><td class=\"words\">\(ErrorCode.cloudUnavailable.sentence)</td>"))
        #expect(section.contains("<td>–</td><td>–</td>"), "an interrupted connection has no status")
        #expect(section.components(separatedBy: "class=\"mark bad\"").count == 2, "only 5xx are failures")
    }

    @Test("The page refers to nothing outside it, and its policy allows only its own style sheet, by digest")
    func alone() throws {
        let page = Self.page(SampleReport.report(metrics: try SampleReport.metrics()))
        let style = try #require(
            page.components(separatedBy: "<style>").last?.components(separatedBy: "</style>").first)
        let digest = Data(IncrementalDigest.digest(of: Array(style.utf8), .sha256)).base64EncodedString()

        #expect(
            page.replacing("&#39;", with: "'").contains(
                "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                    + "style-src 'sha256-\(digest)'; base-uri 'none'; form-action 'none'\">"))
        for reference in [
            "<script", "<link", "<img", "<a ", "href", "src=", "url(", "@import", "http:", "https:", " style=", " on",
        ] {
            let found = page.replacing("http-equiv", with: "").components(separatedBy: reference).dropFirst()
            #expect(
                found.allSatisfy { reference == " on" && !$0.hasPrefix("click") && !$0.hasPrefix("load") },
                "\(reference)")
        }
    }

    @Test("Metrics always appear as text: on the page, on a terminal, and in JSON")
    func hostile() throws {
        let name = #"\u{1b}[2J<script>alert(1)</script>"'& --><b>"#.replacing(#"\u{1b}"#, with: "\u{1b}")
        let label = name.replacing("\"", with: "\\\"")
        var metrics = try SampleReport.metrics(
            """
            syncd_requests_total{endpoint="\(label)",status="\(label)"} 1000
            syncd_request_duration_seconds_bucket{endpoint="\(label)",le="+Inf"} 1
            syncd_provider_requests_total{provider="\(label)",operation="x",outcome="\(label)"} 1000
            syncd_errors_total{code="\(label)"} 1000
            syncd_processes{role="\(label)"} 1
            """)
        metrics.serverVersion = name
        var database = SampleReport.database()
        database.outbox[0].kind = name
        database.quotas[0].quota = name
        database.counts.databaseVersion = name
        let gap = ServerReport.Gap(.certificates, name, fix: name)
        let report = SampleReport.report(database: database, metrics: metrics, gaps: [gap])
        let page = Self.page(report)

        #expect(!page.contains("<script") && !page.contains("<b>\"") && !page.contains("\u{1b}"))
        #expect(page.components(separatedBy: "&lt;script&gt;").count > 12)
        #expect(!report.text.contains("\u{1b}"))
        #expect(report.text.contains("<script>"))
        #expect(try !report.json().contains("\u{1b}"))
    }

    @Test("Missing data is listed at the top with its remedy, and noted at its section; everything else is shown")
    func gaps() throws {
        let gaps = [
            ServerReport.Gap(.metrics, "this server keeps none", fix: "syncctl setup sets it"),
            ServerReport.Gap(.certificates, "nginx names none", fix: "run as root"),
        ]
        let report = SampleReport.report(gaps: gaps)
        let page = Self.page(report)
        let top = try #require(page.components(separatedBy: "<main>").first)

        #expect(
            top.contains("role=\"alert\"")
                && top.contains("this server keeps none. <span class=\"fix\">syncctl setup sets it"))
        #expect(try Self.section("requests", of: page).contains("The top of the page shows the reason."))
        #expect(try Self.section("storage", of: page).contains("<svg"))
        #expect(!report.isGood)
        #expect(
            report.lines.dropFirst().prefix(2) == [
                "MISSING: the server's metrics: this server keeps none", "          do: syncctl setup sets it",
            ])
    }

    @Test("The page of an unused server states this instead of drawing empty charts")
    func empty() throws {
        var database = SampleReport.database(files: 0)
        database.storage[0].bytes = 0
        database.users = GrowthCurve()
        database.outbox = []
        database.quotas[0].highest = 0
        let report = SampleReport.report(
            database: database,
            metrics: MetricFigures(scrape: "syncd_build_info 1\nsyncd_counters_start_time_seconds 1795000000"))
        let page = Self.page(report)

        for (id, sentence) in [
            ("requests", "There were no requests."), ("errors", "There were no errors."),
            ("latencies", "There were no requests."), ("providers", "No provider was called."),
            ("users", "There are none."), ("outbox", "Nothing is pending."),
            ("storage", "Nothing to show yet: all numbers are 0."),
            ("quotas", "Nothing to show yet: all numbers are 0."),
        ] {
            let section = try Self.section(id, of: page)
            #expect(section.contains(sentence) && !section.contains("<svg"), "\(id)")
        }
        #expect(try Self.section("quotas", of: page).contains("<details open>"), "the limits are shown nevertheless")
        // One deleted file.
        #expect(try Self.section("files", of: page).components(separatedBy: "class=\"mark ").count == 2)
    }

    @Test("Only certificates that expire soon, failures and late work are marked")
    func marked() throws {
        let folder = try ScratchFolder("report")
        let file = folder.url.appending(path: "server.pem")
        let made = try Command(
            "/usr/bin/env",
            [
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-days",
                "11", "-subj", "/CN=localhost", "-keyout", file.path + ".key", "-out", file.path,
            ])
        try #require(made.status == 0, "\(made.output)")
        let noCertificate = folder.url.appending(path: "server.txt")
        try Data("no certificate".utf8).write(to: noCertificate)
        var database = SampleReport.database()
        database.counts.outbox.longestDueSeconds = 700
        var report = SampleReport.report(database: database, metrics: try SampleReport.metrics())
        report.certificates = CertificateFigures(
            paths: [file.path, file.path, noCertificate.path, folder.path + "/missing.pem"])

        #expect(report.certificates.validities.map(\.path) == [file.path])
        let daysLeft = try #require(report.certificates.validities.first).daysLeft
        #expect((10...11).contains(daysLeft))
        #expect(report.certificates.unread.map { $0.contains("not in PEM") } == [false, true])
        let bad = ReportTile.all(of: report).filter(\.isBad)
        #expect(bad.map(\.name) == ["Due work", "Failed requests", "Certificate"])
        #expect(bad.map(\.figure) == ["1", "2", "\(daysLeft) days"])
        #expect(bad[1].remark == "1.94 %")
        #expect(try Self.section("certificates", of: Self.page(report)).contains("class=\"mark warning\""))
    }

    @Test("The text has every table, and JSON every figure, under the names in docs/operations.md")
    func otherForms() throws {
        let report = SampleReport.report(metrics: try SampleReport.metrics())
        let json = try #require(try JSONSerialization.jsonObject(with: Data(report.json().utf8)) as? [String: Any])

        #expect(report.lines.contains("  deleteObject     2    1       0       1  2 h 0 min"))
        #expect(report.lines.contains { $0.hasPrefix("  permission_too_low       4     409  the member") })
        #expect(
            Set(json.keys) == ["madeAt", "version", "sandbox", "database", "metrics", "certificates", "gaps"])
        let database = try #require(json["database"] as? [String: Any])
        let files = try #require(database["files"] as? [String: [[String: Any]]])
        #expect(Set(database.keys) == ["counts", "storage", "users", "groups", "files", "outbox", "quotas"])
        #expect(files["points"]?.first?["date"] as? String == "2026-10-16")
        #expect(
            (json["metrics"] as? [String: Any])?["errors"] as? [String: Int] == [
                "permission_too_low": 4, "cloud_unavailable": 2,
            ])
    }
}
