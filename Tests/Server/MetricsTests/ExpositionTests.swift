import Foundation
import HTTPTransport
import Providers
import SyncProtocol
import Testing

@testable import Metrics

@Suite("The Prometheus text format")
final class ExpositionTests {
    private let path = FileManager.default.temporaryDirectory
        .appending(path: "metrics-tests-\(UUID().uuidString)").path

    deinit { try? FileManager.default.removeItem(atPath: path) }

    private func metrics(_ role: ProcessRole = .api) throws -> ServerMetrics {
        try ServerMetrics(
            directory: path, role: role, processID: UUID().uuidString, startedAt: 1_800_000_000, version: "1.2.3")
    }

    @Test("All samples of an added app carry its name; those of the package's app carry none")
    func app() throws {
        func samples(_ app: String?) throws -> [Substring] {
            let metrics = try ServerMetrics(
                directory: path, role: .api, processID: UUID().uuidString, startedAt: 1_800_000_000, version: "1.2.3",
                app: app)
            return String(decoding: try metrics.exposition(nil), as: UTF8.self).split(separator: "\n")
                .filter { !$0.hasPrefix("#") }
        }
        let named = try samples("notes")
        #expect(named.count > 20)
        #expect(named.allSatisfy { $0.contains("{app=\"notes\",") || $0.contains("{app=\"notes\"} ") })
        #expect(named.contains("syncd_build_info{app=\"notes\",version=\"1.2.3\"} 1"))
        #expect(try !samples(nil).contains { $0.contains("app=") })
    }

    private func lines(_ metrics: ServerMetrics, _ prefix: String) throws -> [String] {
        String(decoding: try metrics.exposition(nil), as: UTF8.self).split(separator: "\n").map(String.init)
            .filter { $0.hasPrefix(prefix) }
    }

    @Test("Each metric has its own slot in the file")
    func layout() {
        let layout = ServerMetrics.layout
        #expect(Set(layout.keys).count == layout.count)
        #expect(layout.keys.count == layout.count)
        for (index, family) in layout.families.enumerated() {
            let counts = family.labels.map(\.values.count) + [1, 1, 1]
            var places: [Int] = []
            for first in 0..<counts[0] {
                for second in 0..<counts[1] {
                    for third in 0..<counts[2] { places.append(layout.index(index, first, second, third)) }
                }
            }
            let last = layout.bases[index] + (places.count - 1) * family.width
            #expect(
                places == Array(stride(from: layout.bases[index], through: last, by: family.width)), "\(family.name)")
        }
    }

    @Test("The times of the last backup and of its copy are exported, and are 0 without a backup")
    func backups() throws {
        let metrics = try metrics()
        func lines(_ backups: BackupReading) throws -> [String] {
            String(decoding: try metrics.exposition(nil, backups: backups), as: UTF8.self).split(separator: "\n")
                .map(String.init).filter { $0.hasPrefix("syncd_last_backup") }
        }
        #expect(
            try lines(BackupReading(made: nil, copied: nil)) == [
                "syncd_last_backup_timestamp_seconds 0", "syncd_last_backup_copy_timestamp_seconds 0",
            ])
        #expect(
            try lines(BackupReading(made: 1_800_000_000, copied: 1_700_000_000)) == [
                "syncd_last_backup_timestamp_seconds 1800000000", "syncd_last_backup_copy_timestamp_seconds 1700000000",
            ])
    }

    @Test("The start time of the counters is exported; a process that starts later does not change it")
    func start() throws {
        let metrics = try metrics()
        let name = "syncd_counters_start_time_seconds"
        let first = try #require(try lines(metrics, name).first)
        let made = try #require(Int64(first.dropFirst(name.count + 1)))
        #expect(abs(Date().timeIntervalSince1970 - Double(made)) < 3_600)

        let long: [FileAttributeKey: Any] = [.modificationDate: Date(timeIntervalSince1970: 1_700_000_000)]
        try FileManager.default.setAttributes(long, ofItemAtPath: path + "/lock")
        let other = try self.metrics(.transfer)
        other.requestBegan(.index)

        #expect(try lines(other, name) == ["\(name) 1700000000"])
    }

    @Test("A request is counted by endpoint and status, and in the duration histogram")
    func request() throws {
        let metrics = try metrics()
        metrics.requestBegan(.index)
        #expect(
            try lines(metrics, #"syncd_requests_in_flight{role="api"}"#) == [#"syncd_requests_in_flight{role="api"} 1"#]
        )
        metrics.requestEnded(.index, status: 200, isStale: false, took: .milliseconds(7))
        metrics.requestEnded(nil, status: 404, isStale: false, took: .microseconds(1))

        #expect(
            try lines(metrics, "syncd_requests_total") == [
                #"syncd_requests_total{endpoint="Index",status="200"} 1"#,
                #"syncd_requests_total{endpoint="unknown",status="404"} 1"#,
            ])
        let durations = try lines(metrics, #"syncd_request_duration_seconds_bucket{endpoint="Index""#)
        #expect(durations.count == ServerMetrics.bounds.count + 1)
        #expect(durations[2] == #"syncd_request_duration_seconds_bucket{endpoint="Index",le="0.005"} 0"#)
        #expect(durations[3] == #"syncd_request_duration_seconds_bucket{endpoint="Index",le="0.01"} 1"#)
        #expect(durations.last == #"syncd_request_duration_seconds_bucket{endpoint="Index",le="+Inf"} 1"#)
        #expect(
            try lines(metrics, #"syncd_request_duration_seconds_sum{endpoint="Index""#)
                == [#"syncd_request_duration_seconds_sum{endpoint="Index"} 0.007"#])
        #expect(
            try lines(metrics, #"syncd_requests_in_flight{role="api"}"#) == [#"syncd_requests_in_flight{role="api"} 0"#]
        )
    }

    @Test("Commits and conflicts are counted separately; a rejection counts as neither")
    func versions() throws {
        let metrics = try metrics()
        for (status, isStale) in [(200, false), (200, false), (200, true), (409, false)] {
            metrics.requestBegan(.doneUploads)
            metrics.requestEnded(.doneUploads, status: status, isStale: isStale, took: .zero)
        }
        #expect(
            try lines(metrics, "syncd_master_version_checks_total") == [
                #"syncd_master_version_checks_total{endpoint="DoneUploads",outcome="accepted"} 2"#,
                #"syncd_master_version_checks_total{endpoint="DoneUploads",outcome="stale"} 1"#,
            ])
    }

    @Test("Rejections are counted by quota, and exported from the start as zero")
    func quotas() throws {
        let metrics = try metrics()
        metrics.refused(for: .groups)
        metrics.refused(for: .groups)
        let shown = try lines(metrics, "syncd_quota_refusals_total")
        #expect(shown.count == Quota.allCases.count)
        #expect(shown.contains(#"syncd_quota_refusals_total{quota="groups"} 2"#))
        #expect(shown.contains(#"syncd_quota_refusals_total{quota="devices"} 0"#))
    }

    @Test("Errors are counted by code, and incomplete replies by reason; no error is lost")
    func errors() throws {
        let metrics = try metrics()
        for code in ErrorCode.allCases { metrics.failed(with: code.rawValue) }
        for code in ["upload_conflict", "client_gone", "reply_interrupted", "of another release"] {
            metrics.failed(with: code)
        }

        let shown = try lines(metrics, "syncd_errors_total")
        #expect(shown.count == ErrorCode.allCases.count + 3)
        #expect(shown.contains(#"syncd_errors_total{code="upload_conflict"} 2"#))
        #expect(shown.contains(#"syncd_errors_total{code="cloud_quota_exceeded"} 1"#))
        #expect(
            shown.suffix(3).map { String($0.dropFirst(18)) } == [
                #"{code="client_gone"} 1"#, #"{code="reply_interrupted"} 1"#, #"{code="other"} 1"#,
            ])
    }

    @Test("An unknown status is counted as \"other\"")
    func status() throws {
        let metrics = try metrics()
        metrics.requestEnded(.index, status: 418, isStale: false, took: .zero)
        #expect(
            try lines(metrics, "syncd_requests_total") == [#"syncd_requests_total{endpoint="Index",status="other"} 1"#])
    }

    @Test("Transfers, provider calls and connections are exported; processes are numbered within their role")
    func others() throws {
        let metrics = try metrics(.transfer)
        let second = try self.metrics(.transfer)
        metrics.requestBegan(.uploadFile)
        metrics.transferred(1_000, .upload)
        metrics.called(ProviderCall(.google, .refresh), .ok, took: .seconds(400))
        metrics.read(
            .init(leased: 1, idle: 2, made: 3, dropped: 4, waits: 5, waited: .milliseconds(1_500), timeouts: 0))

        #expect(
            try lines(metrics, "syncd_transfers_in_flight{") == [
                #"syncd_transfers_in_flight{direction="upload"} 1"#,
                #"syncd_transfers_in_flight{direction="download"} 0"#,
            ])
        #expect(
            try lines(second, #"syncd_transfer_bytes_total{direction="upload"}"#)
                == [#"syncd_transfer_bytes_total{direction="upload"} 1000"#])
        #expect(
            try lines(metrics, "syncd_provider_requests_total{")
                == [#"syncd_provider_requests_total{provider="google",operation="refresh",outcome="ok"} 1"#])
        #expect(
            try lines(metrics, #"syncd_database_lease_wait_seconds_total{role="transfer"}"#)
                == [#"syncd_database_lease_wait_seconds_total{role="transfer"} 1.5"#])
        #expect(
            try lines(metrics, "syncd_process_start_time_seconds{") == [
                #"syncd_process_start_time_seconds{role="transfer",process="1"} 1800000000"#,
                #"syncd_process_start_time_seconds{role="transfer",process="2"} 1800000000"#,
            ])
        #expect(try lines(metrics, "syncd_database_up") == ["syncd_database_up 0"])
        #expect(try lines(metrics, "syncd_build_info") == [#"syncd_build_info{version="1.2.3"} 1"#])
    }

    @Test("Every metric has one help line and one type line before its samples")
    func heads() throws {
        let metrics = try metrics()
        metrics.requestBegan(.index)
        let backlog = BacklogReading(
            outbox: [("sendPush", 2)], due: 1, longestDueSeconds: 5, oldestRetriedSeconds: 6, staged: 3,
            oldestStagedSeconds: 7, rebuild: RebuildReading(groups: [("missing", 4)], unreadFolders: 5))
        var known: [String: Set<String>] = [:]
        for line in String(decoding: try metrics.exposition(backlog), as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ")
            if words[0] == "#" {
                #expect(known[String(words[2]), default: []].insert(String(words[1])).inserted, "\(line)")
            } else {
                #expect(known[String(words[0].prefix { $0 != "{" })] == ["HELP", "TYPE"], "\(line)")
            }
        }
        #expect(known["syncd_outbox_items"] != nil && known["syncd_staged_oldest_seconds"] != nil)
        #expect(known["syncd_rebuild_groups"] != nil && known["syncd_rebuild_unread_folders"] != nil)
    }
}
