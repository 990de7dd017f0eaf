import SyncProtocol
import Testing

@testable import Operations

@Suite("The report's figures from the server's metrics")
struct MetricFiguresTests {
    @Test("Requests, errors, calls and bytes are summed, the most frequent first, without zeros")
    func sums() throws {
        let figures = try SampleReport.metrics()

        #expect(figures.endpoints.map(\.endpoint) == ["Index", "UploadFile"])
        #expect(figures.endpoints.map(\.requests) == [100, 3])
        #expect(figures.requests == 103 && figures.statuses == ["200": 91, "304": 6, "409": 4, "502": 2])
        #expect(figures.errors == ["permission_too_low": 4, "cloud_unavailable": 2])
        #expect(figures.providers.map(\.outcomes) == [["ok": 8, "failed": 2]])
        #expect(figures.quotaRefusals == ["groups": 3])
        #expect(figures.uploadedBytes == 2_048 && figures.downloadedBytes == 0)
        #expect(figures.serverVersion == "1.2.3" && figures.countedSince == WireDate(secondsSince1970: 1_795_000_000))
        #expect(figures.lastBackup == nil)
    }

    @Test("Latencies are estimated within their bucket, and those above the highest bound are reported as longer")
    func latencies() throws {
        let figures = try SampleReport.metrics()
        let index = try #require(figures.endpoints[0].latency)
        let upload = try #require(figures.endpoints[1].latency)

        #expect(abs(index.mean - 0.02) < 1e-9 && abs(index.median - 0.01) < 1e-9)
        #expect(abs(index.percentile95 - 0.091) < 1e-9 && index.exceeded == nil)
        #expect(upload.percentile95 == 0.1 && upload.exceeded == 0.1)
        // 101 of 103 are below 0.1 s.
        #expect(try #require(figures.latency).exceeded == 0.1)
    }

    @Test("A server without requests has no latencies, and one of an earlier release no errors by code")
    func nothing() throws {
        let idle = try #require(MetricFigures(scrape: "syncd_build_info{version=\"1\"} 1\n"))
        let fresh = try #require(
            MetricFigures(scrape: "syncd_build_info 1\nsyncd_counters_start_time_seconds 1795000000"))

        #expect(idle.endpoints.isEmpty && idle.latency == nil && idle.errors == nil && idle.countedSince == nil)
        #expect(fresh.errors == [:])
    }

    @Test("A page from another program is rejected", arguments: ["", "<html>", "go_info{version=\"go1\"} 1\n"])
    func foreign(text: String) { #expect(MetricFigures(scrape: text) == nil) }

    @Test(
        "Impossible values do no harm",
        arguments: ["NaN", "+Inf", "-Inf", "1e300", "9.2e18", "-5", "1e14", "", "word", "0x1p1000"])
    func absurd(value: String) throws {
        let figures = try SampleReport.metrics(
            [
                #"syncd_requests_total{endpoint="Odd",status="200"}"#,
                #"syncd_requests_total{endpoint="Odd",status="500"}"#,
                #"syncd_request_duration_seconds_bucket{endpoint="Odd",le="0.01"}"#,
                #"syncd_request_duration_seconds_bucket{endpoint="Odd",le="+Inf"}"#,
                #"syncd_request_duration_seconds_sum{endpoint="Odd"}"#,
                #"syncd_request_duration_seconds_sum{endpoint="Index"}"#,
                #"syncd_provider_requests_total{provider="odd",operation="x",outcome="ok"}"#,
                #"syncd_errors_total{code="odd"}"#, #"syncd_transfer_bytes_total{direction="download"}"#,
                "syncd_last_backup_timestamp_seconds", #"syncd_processes{role="odd"}"#,
                #"syncd_quota_refusals_total{quota="odd"}"#,
            ].map { "\($0) \(value)" }.joined(separator: "\n"))
        let report = SampleReport.report(metrics: figures)

        #expect(figures.requests == 103 && figures.errors?["odd"] == nil)
        #expect(try report.json().contains("Index"))
        #expect(!report.page.isEmpty && !report.text.isEmpty)
    }

    @Test("As many of the largest values as a scrape may contain are added without an overflow")
    func many() throws {
        let lines = (0..<100_010).map {
            "syncd_requests_total{endpoint=\"E\($0 % 9)\",status=\"\($0)\"} 10000000000000"
        }
        let figures = try #require(
            MetricFigures(scrape: "syncd_build_info 1\n" + lines.joined(separator: "\n")))

        #expect(figures.requests == 99_999 * 10_000_000_000_000)
        #expect(try !SampleReport.report(metrics: figures).json().isEmpty)
    }

    @Test("Labels are read with their escapes, in any order, and invalid lines are skipped")
    func labels() {
        let samples = MetricSamples(
            #"""
            a{b="x\"y\\z\n",c="1"} 5 1795000000
            a{c="2"} 6
            a{c="3} 7
            a{c=4} 8
            a 9
            a{
            {c="5"} 10
            """#)

        #expect(
            samples["a"] == [
                .init(labels: ["b": "x\"y\\z\n", "c": "1"], value: 5), .init(labels: ["c": "2"], value: 6),
                .init(labels: [:], value: 9),
            ])
    }
}
