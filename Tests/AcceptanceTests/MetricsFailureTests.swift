import Foundation
import Glibc
import TestSupport
import Testing

extension PrivateStackTests {
    @Suite("Metrics and health during failures")
    struct MetricsFailureTests {
        let server: TestServer
        let stack: PrivateStack
        let metrics: MetricsPages

        init() throws {
            server = try TestServer.toBreak()
            stack = try #require(server.stack)
            metrics = try MetricsPages(server)
        }

        private static let series = #"syncd_requests_total{endpoint="HealthCheck",status="200"}"#

        @Test("Without a database the server is live but not ready, and its metrics show this")
        func databaseKilled() async throws {
            let database = try #require(try server.processes("mariadb").first)
            database.send(SIGKILL)
            try await eventually("MariaDB has ended") { !database.isRunning }

            #expect(try metrics.get("/live").status == 200)
            #expect(try metrics.get("/ready").status == 503)
            let samples = try metrics.samples()
            #expect(samples["syncd_database_up"] == 0)
            #expect(samples["syncd_staged_changes"] == nil)

            try await Threads.run { try stack.restore() }
            try await eventually("the server is ready again") { try metrics.get("/ready").status == 200 }
            try await eventually("the metrics are complete") {
                let samples = try metrics.samples()
                return samples["syncd_database_up"] == 1 && samples["syncd_staged_changes"] != nil
            }
        }

        @Test("Memory held by uploads is reported until the phone disconnects or the process is killed")
        func heldByUploads() async throws {
            let alice = try server.signUpOwningUser()
            let held = { try metrics.samples()["syncd_upload_part_bytes"] }
            try await eventually("no upload is in progress") { try held() == 0 }

            let first = try alice.beginUpload(TestFile(randomBytes: 1_000_000), sending: 10 * 16_384)
            let second = try alice.beginUpload(TestFile(randomBytes: 1_000_000), sending: 10 * 16_384)
            try await eventually("both uploads' bytes have arrived") { try held() == 20 * 16_384 }
            first.hangUp()
            second.hangUp()
            try await eventually("no memory is held for disconnected phones") { try held() == 0 }

            let upload = try alice.beginUpload(TestFile(randomBytes: 1_000_000), sending: 10 * 16_384)
            try await eventually("the upload's bytes have arrived") { try held() == 10 * 16_384 }
            for responder in try server.processes("syncd_transfer") { responder.send(SIGKILL) }
            try await eventually("no memory is reported for killed processes") { try held() == 0 }
            upload.hangUp()
            try await Threads.run { try stack.restore() }
        }

        @Test("Counters do not decrease when responders are killed or restarted; their gauges are dropped")
        func responderKilled() async throws {
            for _ in 0..<20 { expectJSON(try server.call("GET", "HealthCheck")) }
            let before = try metrics.samples()
            let responders = try server.processes("syncd_api")
            try #require(responders.count == 3)
            let started = before.filter { $0.key.hasPrefix(#"syncd_process_start_time_seconds{role="api""#) }
            #expect(started.count == 3)

            for responder in responders.dropLast() { responder.send(SIGKILL) }
            try await eventually("the killed ones have ended") { !responders.dropLast().contains(where: \.isRunning) }
            let between = try metrics.samples()
            responders.last?.send(SIGTERM)
            try await eventually("all responders have been replaced") {
                let now = try server.processes("syncd_api")
                return now.count == 3 && Set(now).isDisjoint(with: responders)
            }
            try await eventually("the responders answer") { try metrics.get("/ready").status == 200 }
            let after = try metrics.samples()

            #expect(between[Self.series, default: 0] >= before[Self.series, default: 0])
            #expect(after[Self.series, default: 0] >= before[Self.series, default: 0])
            let inFlight = { (samples: [String: Double]) in
                samples.filter { $0.key.hasPrefix("syncd_requests_in_flight") }.values.reduce(0, +)
            }
            try await eventually("nothing is in flight, and three processes are counted") {
                let samples = try metrics.samples()
                return inFlight(samples) == 0 && samples[#"syncd_processes{role="api"}"#] == 3
            }
        }
    }
}
