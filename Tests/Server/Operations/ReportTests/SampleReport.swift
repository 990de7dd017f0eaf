import SyncProtocol
import Testing

@testable import Operations

/// A report of a small, healthy server, without a database; each test changes the part that it examines.
enum SampleReport {
    static let now = WireDate("2026-11-25 12:00:00")!

    static let scrape = #"""
        # HELP syncd_build_info The version of the server that answered this scrape; always 1.
        # TYPE syncd_build_info gauge
        syncd_build_info{version="1.2.3"} 1
        syncd_processes{role="api"} 2
        syncd_processes{role="jobs"} 0
        syncd_counters_start_time_seconds 1795000000
        syncd_requests_total{endpoint="Index",status="200"} 90
        syncd_requests_total{endpoint="Index",status="304"} 6
        syncd_requests_total{endpoint="Index",status="409"} 4
        syncd_requests_total{endpoint="UploadFile",status="200"} 1
        syncd_requests_total{endpoint="UploadFile",status="502"} 2
        syncd_errors_total{code="permission_too_low"} 4
        syncd_errors_total{code="cloud_unavailable"} 2
        syncd_request_duration_seconds_bucket{endpoint="Index",le="0.01"} 50
        syncd_request_duration_seconds_bucket{endpoint="Index",le="0.1"} 100
        syncd_request_duration_seconds_bucket{endpoint="Index",le="+Inf"} 100
        syncd_request_duration_seconds_sum{endpoint="Index"} 2
        syncd_request_duration_seconds_bucket{endpoint="UploadFile",le="0.01"} 0
        syncd_request_duration_seconds_bucket{endpoint="UploadFile",le="0.1"} 1
        syncd_request_duration_seconds_bucket{endpoint="UploadFile",le="+Inf"} 3
        syncd_request_duration_seconds_sum{endpoint="UploadFile"} 10
        syncd_provider_requests_total{provider="google",operation="upload",outcome="ok"} 1
        syncd_provider_requests_total{provider="google",operation="upload",outcome="failed"} 2
        syncd_provider_requests_total{provider="google",operation="identity",outcome="ok"} 7
        syncd_quota_refusals_total{quota="groups"} 3
        syncd_quota_refusals_total{quota="devices"} 0
        syncd_transfer_bytes_total{direction="upload"} 2048
        syncd_last_backup_timestamp_seconds 0
        """#

    static func metrics(_ more: String = "") throws -> MetricFigures {
        try #require(MetricFigures(scrape: scrape + "\n" + more))
    }

    /// Figures with some data of each kind.
    static func database(files: Int = 3) -> DatabaseFigures {
        func curve(_ made: [(day: Int, count: Int, madeInAll: Int)]) -> GrowthCurve {
            var curve = GrowthCurve()
            for made in made { curve.add(made.count, madeInAll: made.madeInAll, onDay: made.day) }
            return curve
        }
        let today = GrowthCurve.day(of: now)
        return DatabaseFigures(
            counts: StoreOverview(
                users: ["Google": 2, "Facebook": 1], groups: 1, deletedGroups: 1, files: files, deletedFiles: 1,
                fileBytes: 4_096, stagedChanges: 0, openInvitations: 0,
                outbox: OutboxOverview(rows: 2, due: 1, leased: 0, failing: 1, longestDueSeconds: 90),
                databaseBytes: 1 << 20, databaseVersion: "10.11.19-MariaDB"),
            storage: [
                .init(storageType: .google, files: files, bytes: 4_096, filesOfUnknownSize: 0, deletedFiles: 1)
            ],
            users: curve([(today - 400, 1, 1), (today - 9, 2, 2)]),
            groups: curve([(today - 400, 0, 1), (today, 1, 1)]),
            files: curve([(today - 40, files, files + 1)]),
            outbox: [.init(kind: "deleteObject", rows: 2, due: 1, leased: 0, failing: 1, oldestSeconds: 7_200)],
            quotas: [
                .init(quota: "devices", limit: 1_000, highest: 850, usersNear: 1, usersAtLimit: 0),
                .init(quota: "stagedBytes", limit: 1 << 26, highest: 0, usersNear: 0, usersAtLimit: 0),
            ])
    }

    static func report(
        database: DatabaseFigures? = database(), metrics: MetricFigures? = nil, gaps: [ServerReport.Gap] = []
    ) -> ServerReport {
        ServerReport(
            madeAt: now, version: "1.2.3", sandbox: false, database: database, metrics: metrics,
            certificates: CertificateFigures(paths: []), gaps: gaps)
    }
}
