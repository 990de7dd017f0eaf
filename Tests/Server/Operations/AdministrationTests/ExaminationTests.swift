import Foundation
import TestSupport
import Testing

@testable import Operations
@testable import Store

@Suite("doctor")
struct ExaminationTests {
    @Test("Work that has been due for minutes means that no jobs process runs")
    func jobs() {
        func outbox(due: Int, seconds: Int64, failing: Int = 0) -> OutboxOverview {
            OutboxOverview(rows: due, due: due, leased: 0, failing: failing, longestDueSeconds: seconds)
        }

        #expect(Examination.jobs(outbox(due: 3, seconds: 301)).verdict == .bad)
        #expect(Examination.jobs(outbox(due: 3, seconds: 300)).verdict == .good)
        #expect(Examination.jobs(outbox(due: 0, seconds: 0, failing: 2)).finding.contains("2 jobs failed before"))
    }

    @Test("Clocks may differ by two seconds")
    func clock() {
        #expect(Examination.clock(ownMilliseconds: 10_000, databaseMilliseconds: 12_000).verdict == .good)
        #expect(Examination.clock(ownMilliseconds: 10_000, databaseMilliseconds: 7_999).verdict == .bad)
    }

    @Test("nginx's limit at UploadFile is used, not that of other locations")
    func uploadLimit() {
        let text = """
            server {
                server_name sync.example.org www.example.org; # not this.example.org
                ssl_certificate /etc/letsencrypt/live/x/fullchain.pem;
                client_max_body_size 1k;
                location / { client_max_body_size 64k; }
                location ~ ^/UploadFile/?$ {
                    # client_max_body_size 7;
                    client_max_body_size 5g;   # maximumUploadBytes
                }
                location ~ ^/DownloadFile/?$ { client_max_body_size 64k; }
            }
            """
        let site = NginxSite(text)

        #expect(site.uploadLimitBytes == 5 << 30)
        #expect(site.serverNames == ["sync.example.org", "www.example.org"])
        #expect(site.certificates == ["/etc/letsencrypt/live/x/fullchain.pem"])
        #expect(Examination.uploadLimit(site, maximumUploadBytes: 5 << 30).verdict == .good)
        #expect(Examination.uploadLimit(site, maximumUploadBytes: 5 << 30 + 1).verdict == .bad)
        #expect(Examination.uploadLimit(NginxSite(""), maximumUploadBytes: 1).verdict == .unknown)
    }

    @Test("The number of connections of Debian's nginx is too low", arguments: [("768", "warning"), ("4096", "good")])
    func connections(number: String, verdict: String) {
        let text = """
            worker_processes auto;
            events { worker_connections \(number); }
            http {
                # worker_connections 1;
            }
            """
        #expect(Examination.connections(NginxSite(text), least: 4_096).verdict.rawValue == verdict)
        let onLines = "events {\n\tworker_connections \(number);\n\t# multi_accept on;\n}"
        #expect(Examination.connections(NginxSite(onLines), least: 4_096).verdict.rawValue == verdict)
        #expect(Examination.connections(NginxSite(""), least: 4_096).verdict == .unknown)
    }

    /// What is read of a host's folder of nginx, below a root of its own.
    private func site(_ files: [String: String]) throws -> NginxSite {
        let scratch = try ScratchFolder("nginx")
        let folder = scratch.url.appending(path: "etc/nginx")
        for (name, text) in files {
            let file = folder.appending(path: name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        return withExtendedLifetime(scratch) { NginxSite.read(folder: folder.path) }
    }

    @Test("The site that we ship is understood")
    func shippedSite() throws {
        let locations = try String(contentsOfFile: "nginx/syncd-locations.conf", encoding: .utf8)
        let site = try site([
            "nginx.conf": "http {\n include /etc/nginx/sites-enabled/*;\n}",
            "sites-enabled/syncserver": "server {\n include syncd/syncd-locations.conf;\n}",
            "syncd/syncd-locations.conf": locations,
        ])
        #expect(site.uploadLimitBytes == 5_368_709_120)
    }

    @Test("Files that nginx does not include are ignored: copies, disabled sites, hidden files")
    func notIncluded() throws {
        let site = try site([
            "nginx.conf": "events { worker_connections 4096; }\nhttp { include conf.d/*.conf; # include old;\n}",
            "nginx.conf.dpkg-old": "events { worker_connections 1; }", "old": "events { worker_connections 2; }",
            "conf.d/a.conf": "server { server_name a.example.org; include conf.d/a.conf; }",
            "conf.d/b.conf.dpkg-dist": "server { server_name b.example.org; }",
            "conf.d/.c.conf": "server { server_name c.example.org; }",
            "sites-available/d": "server { server_name d.example.org; }",
        ])
        #expect(site.workerConnections == 4_096)
        #expect(Set(site.serverNames) == ["a.example.org"])
    }

    @Test("Certificates and disks warn before they fail")
    func thresholds() {
        #expect(Examination.certificate("c", secondsLeft: 86_400 * 30).verdict == .good)
        #expect(Examination.certificate("c", secondsLeft: 86_400 * 20).verdict == .warning)
        #expect(Examination.certificate("c", secondsLeft: -1).verdict == .bad)
        #expect(Examination.certificate("c", secondsLeft: nil).verdict == .bad)
        #expect(Examination.disk("/", free: 50 << 30, total: 100 << 30).verdict == .good)
        #expect(Examination.disk("/", free: 5 << 30, total: 100 << 30).verdict == .warning)
        #expect(Examination.disk("/", free: 1 << 30, total: 100 << 30).verdict == .bad)
    }

    @Test("A host name must resolve; an address of another host is a warning")
    func dns() {
        #expect(Examination.dns("x", addresses: [], own: ["10.0.0.1"]).verdict == .bad)
        #expect(Examination.dns("x", addresses: ["10.0.0.1"], own: ["10.0.0.1"]).verdict == .good)
        #expect(Examination.dns("x", addresses: ["10.0.0.2"], own: ["10.0.0.1"]).verdict == .unknown)
    }

    @Test("A socket without a listener is an error that says what to do")
    func socket() {
        let diagnosis = Examination.socket("apiSocket", "/nonexistent.sock")
        #expect(diagnosis.verdict == .bad)
        #expect(diagnosis.fix != nil)
        #expect(ResponderProbe.status(in: Array("Status: 503 Service Unavailable\r\n\r\n".utf8)) == 503)
        #expect(ResponderProbe.status(in: Array("Content-Type: x\r\n\r\n".utf8)) == 200)
        #expect(ResponderProbe.status(in: []) == nil)
    }
}
