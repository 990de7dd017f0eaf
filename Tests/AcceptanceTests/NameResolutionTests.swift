import Foundation
import Glibc
import TestSupport
import Testing

extension PrivateStackTests {
    @Suite("Name resolution of providers", .enabled(if: geteuid() == 0, "mounts need root"))
    final class NameResolutionTests: Sendable {
        let server: TestServer

        /// New processes: what the old ones have in mind are addresses, open connections and failures.
        init() async throws {
            let server = try TestServer.withNames()
            self.server = server
            try fail(nil)
            let processes = try ["syncd_api", "syncd_transfer"].flatMap { try server.processes($0) }
            for process in processes { process.send(SIGTERM) }
            try await eventually("others have taken their place") {
                guard !processes.contains(where: \.isRunning) else { return false }
                // Of both roles: those of transfers may come later than the reply.
                for part in ["syncd_api", "syncd_transfer"] where try server.processes(part).isEmpty { return false }
                return try server.call("GET", "HealthCheck").status == 200
            }
        }

        deinit { try? fail(nil) }

        /// What goes wrong at the name server from now on, as scripts/lib/resolver has it; `nil` for nothing.
        private func fail(_ kind: String?, seconds: Double = 0) throws {
            let faults = kind.map { #"[{"name": "", "kind": "\#($0)", "seconds": \#(seconds)}]"# } ?? "[]"
            let directory = try server.environment.value("STACK_DIR")
            try Data(faults.utf8).write(to: URL(filePath: directory + "/names/faults.json"), options: .atomic)
        }

        @Test("With a working name server uploads and downloads work")
        func works() throws {
            let alice = try server.signUpOwningUser()
            let file = TestFile("by name")
            try alice.publish(file, masterVersion: 0)
            expectDownload(try alice.download(file, masterVersion: 1), of: file)
        }

        @Test(
            "A lookup that fails is the provider's failure, in time, and the next sign-in is served",
            arguments: ["nxdomain", "servfail", "silent", "garbage", "stranger"])
        func failures(kind: String) async throws {
            let newcomer = try server.newcomer(.facebook)
            try fail(kind)
            let start = ContinuousClock.now
            let reply = try await Threads.run { try newcomer.checkCredentials() }
            expectError(reply, 429, 504)
            #expect(!reply.values(of: "retry-after").isEmpty)
            #expect(reply.json?.retryable == .bool(true))
            #expect(start.duration(to: .now) < .seconds(12))

            try fail(nil)

            // The account is nobody's: only who has asked Facebook can say so.
            try await eventually("the provider is asked again", within: .seconds(15)) {
                try newcomer.checkCredentials().status == 401
            }
        }

        @Test("A slow name server, or one that replies over TCP only, is no failure")
        func detours() throws {
            for (kind, seconds) in [("slow", 1.0), ("truncated", 0)] {
                let newcomer = try server.newcomer(.facebook)
                try fail(kind, seconds: seconds)
                expectError(try newcomer.checkCredentials(), 401)
            }
        }

        @Test("For each new connection the name is looked up again, so that an address that has failed is not kept")
        func newConnections() async throws {
            let newcomer = try server.newcomer(.facebook)
            expectError(try newcomer.checkCredentials(), 401)
            try fail("nxdomain")
            // The connection that is alive fails; for the repetition another one is needed.
            var fault = SandboxFault(host: "graph.facebook.com")
            fault.resetAfterBytes = 0
            fault.times = 1
            try server.sandbox.inject(fault)
            defer { try? server.sandbox.clearFaults() }

            let other = try server.newcomer(.facebook)
            expectError(try await Threads.run { try other.checkCredentials() }, 429, 504)
        }

        @Test("For signed-in users files are neither gone nor rejected while names do not resolve")
        func filesStay() async throws {
            let alice = try server.signUpOwningUser()
            let file = TestFile("still there")
            try alice.publish(file, masterVersion: 0)
            try fail("servfail")

            // Connections that are still open are used without a lookup: that is as good.
            let reply = try await Threads.run { try alice.download(file, masterVersion: 1) }
            if reply.status == 200 {
                #expect(reply.values(of: "syncserver-message-params").first?.contains("gone") == false)
            } else {
                expectError(reply, 429, 502, 504)
            }

            try fail(nil)
            try await eventually("the file is served") {
                try alice.download(file, masterVersion: 1).body == file.contents
            }
        }
    }
}
