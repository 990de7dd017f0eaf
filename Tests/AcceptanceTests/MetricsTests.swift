import Foundation
import TestSupport
import Testing

@Suite("Metrics and health for the host's monitoring")
struct MetricsTests {
    let server: TestServer
    let metrics: MetricsPages

    init() throws {
        server = try TestServer.shared()
        metrics = try MetricsPages(server)
    }

    @Test("The pages are available on loopback in the Prometheus format, and are not cacheable")
    func pages() throws {
        for path in ["/live", "/ready", "/metrics"] {
            let reply = try metrics.get(path)
            #expect(reply.status == 200, "\(path)")
            #expect(reply.values(of: "cache-control") == ["no-store"])
        }
        #expect(try metrics.get("/metrics").values(of: "content-type") == ["text/plain; version=0.0.4; charset=utf-8"])
        #expect(try metrics.get("/HealthCheck").status == 404)
        #expect(try metrics.address.perform(HTTPCall("POST", "/metrics", body: [])).status == 403)
    }

    @Test("The pages cannot be reached through the public address, with any headers or parameters")
    func notPublic() throws {
        for path in ["/metrics", "/live", "/ready", "/metrics/"] {
            for headers in [[], [(name: "SYNCD_PAGE", value: "metrics"), (name: "Syncd-Page", value: "metrics")]] {
                let reply = try server.address.perform(HTTPCall("GET", path, headers: headers))
                #expect(reply.status == 404, "\(path)")
            }
        }
        let reply = try server.address.perform(
            HTTPCall("GET", "/HealthCheck?SYNCD_PAGE=metrics", headers: [(name: "SYNCD_PAGE", value: "metrics")]))
        #expect(reply.json?.serverUptime != nil)
    }

    @Test("Requests of all processes are counted by endpoint and status; commits and conflicts are counted separately")
    func requests() async throws {
        let before = try metrics.samples()
        let alice = try server.signUpOwningUser()
        for _ in 0..<5 { expectJSON(try server.call("GET", "HealthCheck")) }
        expectError(try server.call("GET", "NoSuchEndpoint"), 404)
        expectJSON(try alice.commit(masterVersion: 0))
        expectJSON(try alice.commit(masterVersion: 77))
        let batch = TestBatch(of: 1)
        #expect(
            try alice.upload(TestFile(), masterVersion: 1, overriding: batch.parameters).committedMasterVersion == 2)

        try await grow(
            since: before,
            [
                #"syncd_requests_total{endpoint="HealthCheck",status="200"}"#: 5,
                #"syncd_requests_total{endpoint="AddUser",status="200"}"#: 1,
                #"syncd_requests_total{endpoint="unknown",status="404"}"#: 1,
                #"syncd_errors_total{code="endpoint_unknown"}"#: 1,
                #"syncd_request_duration_seconds_count{endpoint="HealthCheck"}"#: 5,
                #"syncd_master_version_checks_total{endpoint="DoneUploads",outcome="accepted"}"#: 1,
                #"syncd_master_version_checks_total{endpoint="DoneUploads",outcome="stale"}"#: 1,
                #"syncd_commits_total{endpoint="DoneUploads"}"#: 1,
                #"syncd_commits_total{endpoint="UploadFile"}"#: 1,
                #"syncd_provider_requests_total{provider="google",operation="identity",outcome="ok"}"#: 1,
            ])
    }

    /// Waits until each of these series has grown by at least its value, since a request is counted after its reply.
    private func grow(since before: [String: Double], _ growth: [String: Double]) async throws {
        for (series, least) in growth {
            try await eventually("\(series) grows by \(least)") {
                try metrics.samples()[series, default: 0] - before[series, default: 0] >= least
            }
        }
    }

    @Test("File bytes are counted in both directions during the transfer")
    func bytes() async throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile(randomBytes: 300_000)
        let before = try metrics.samples()

        try alice.publish(file, masterVersion: 0)
        #expect(try alice.download(file, masterVersion: 1).body.count == 300_000)

        try await grow(
            since: before,
            [
                #"syncd_transfer_bytes_total{direction="upload"}"#: 300_000,
                #"syncd_transfer_bytes_total{direction="download"}"#: 300_000,
            ])
        #expect(
            try metrics.samples().keys.contains {
                $0.hasPrefix(#"syncd_provider_requests_total{provider="google",operation="upload""#)
            }
        )
    }

    @Test("The backlog in the database is reported: staged changes and work for the jobs role")
    func backlog() throws {
        let alice = try server.signUpOwningUser()
        try alice.stage(TestFile(), masterVersion: 0)

        let samples = try metrics.samples()

        #expect(samples["syncd_database_up"] == 1)
        #expect(samples["syncd_staged_changes", default: 0] >= 1)
        #expect(samples[#"syncd_outbox_items{kind="deleteObject"}"#] != nil)
        #expect(samples["syncd_outbox_due_items"] != nil && samples["syncd_outbox_longest_due_seconds"] != nil)
        for role in ["api", "transfer", "jobs"] {
            #expect(samples["syncd_processes{role=\"\(role)\"}", default: 0] >= 1, "\(role)")
            let started = try #require(samples["syncd_process_start_time_seconds{role=\"\(role)\",process=\"1\"}"])
            #expect(abs(started - Date().timeIntervalSince1970) < 86_400)
        }
    }

    @Test("A scrape contains all metrics of alerts, dashboard and documentation, and promtool accepts it")
    func names() throws {
        let alice = try server.signUpOwningUser()
        try alice.publish(TestFile(), masterVersion: 0)
        expectJSON(try alice.commit(masterVersion: 0))
        let text = String(decoding: try metrics.get("/metrics").body, as: UTF8.self)
        let families = Set(text.matches(of: /(?m)^# TYPE (\w+)/).map { String($0.1) })
        let series = Set(text.matches(of: /(?m)^(syncd_\w+)/).map { String($0.1) }).union(families)
        let root = PrivateStack.repository

        for (file, known) in [
            ("etc/prometheus/syncd.rules.yml", series), ("etc/prometheus/syncd.rules-test.yml", series),
            ("etc/grafana/syncd.json", series), ("docs/operations.md", series),
        ] {
            let contents = try String(contentsOf: root.appending(path: file), encoding: .utf8)
            let names = Set(contents.matches(of: /\bsyncd_[a-z_]+/).map { String($0.0) })
                .subtracting(["syncd_api", "syncd_transfer", "syncd_logged", "syncd_notes", "syncd_notes_api"])
            #expect(names.count >= 8, "\(file)")
            #expect(names.subtracting(known) == [], "\(file)")
            guard file.hasSuffix("syncd.json") || file.hasSuffix(".md") else { continue }
            let told = Set(names.map { String($0.replacing(/_(bucket|sum|count)$/, with: "")) })
            #expect(families.subtracting(told) == [], "\(file)")
        }

        let scrape = FileManager.default.temporaryDirectory.appending(path: "syncd-scrape-\(UUID().uuidString)")
        try Data(text.utf8).write(to: scrape)
        defer { try? FileManager.default.removeItem(at: scrape) }
        let judged = try Command("/bin/sh", ["-c", "promtool check metrics <\"$1\"", "sh", scrape.path])
        #expect(judged.status == 0 && judged.output.isEmpty, "\(judged.output)")
    }

    @Test("A scrape contains no token, identifier, name or path")
    func secrets() throws {
        let alice = try server.signUpOwningUser(name: "Alice Unmistakable", groupName: "Group Unmistakable")
        let file = TestFile()
        try alice.stage(file, masterVersion: 0)

        let text = String(decoding: try metrics.get("/metrics").body, as: UTF8.self)

        let secrets = alice.account.headers.map(\.value).filter { $0.count > 8 }
        for secret in secrets + [alice.group, file.uuid, "Unmistakable", server.environment.settings["DB_NAME"] ?? "?"]
        {
            #expect(!text.localizedCaseInsensitiveContains(secret), "\(secret)")
        }
    }
}
