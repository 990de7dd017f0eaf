import Foundation
import Glibc
import TestSupport
import Testing

extension PrivateStackTests {
    @Suite("Name resolution of providers", .enabled(if: geteuid() == 0, "mounts need root"))
    final class NameResolutionTests: Sendable {
        let server: TestServer

        /// Starts new processes, since the old ones have cached addresses, open connections and failures.
        init() async throws {
            let server = try TestServer.withNames()
            self.server = server
            try fail(nil)
            let processes = try ["syncd_api", "syncd_transfer"].flatMap { try server.processes($0) }
            for process in processes { process.send(SIGTERM) }
            try await eventually("new processes have replaced them") {
                guard !processes.contains(where: \.isRunning) else { return false }
                // Waits for both roles, since the transfer role may start after the reply.
                for part in ["syncd_api", "syncd_transfer"] where try server.processes(part).isEmpty { return false }
                return try server.call("GET", "HealthCheck").status == 200
            }
        }

        deinit { try? fail(nil) }

        /// Sets the name server's fault as in scripts/lib/resolver; `nil` clears it.
        private func fail(_ kind: String?, seconds: Double = 0) throws {
            let faults = kind.map { #"[{"name": "", "kind": "\#($0)", "seconds": \#(seconds)}]"# } ?? "[]"
            let directory = try server.environment.value("STACK_DIR")
            try Data(faults.utf8).write(to: URL(filePath: directory + "/names/faults.json"), options: .atomic)
        }

        @Test("With a working name server, uploads and downloads work")
        func works() throws {
            let alice = try server.signUpOwningUser()
            let file = TestFile("by name")
            try alice.publish(file, masterVersion: 0)
            expectDownload(try alice.download(file, masterVersion: 1), of: file)
        }

        @Test(
            "A failed lookup is reported in time as the provider's failure, and later sign-ins work",
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

            // The account belongs to no user, which only Facebook's reply reveals.
            try await eventually("the server calls the provider again", within: .seconds(15)) {
                try newcomer.checkCredentials().status == 401
            }
        }

        @Test("A slow name server, or one that replies only over TCP, causes no failure")
        func detours() throws {
            for (kind, seconds) in [("slow", 1.0), ("truncated", 0)] {
                let newcomer = try server.newcomer(.facebook)
                try fail(kind, seconds: seconds)
                expectError(try newcomer.checkCredentials(), 401)
            }
        }

        @Test("Each new connection looks up the name again, so a failed address is not reused")
        func newConnections() async throws {
            let newcomer = try server.newcomer(.facebook)
            expectError(try newcomer.checkCredentials(), 401)
            try fail("nxdomain")
            // The open connection fails, and the retry requires a new one.
            var fault = SandboxFault(host: "graph.facebook.com")
            fault.resetAfterBytes = 0
            fault.times = 1
            try server.sandbox.inject(fault)
            defer { try? server.sandbox.clearFaults() }

            let other = try server.newcomer(.facebook)
            expectError(try await Threads.run { try other.checkCredentials() }, 429, 504)
        }

        @Test("While names do not resolve, signed-in users' files are neither gone nor rejected")
        func filesStay() async throws {
            let alice = try server.signUpOwningUser()
            let file = TestFile("still there")
            try alice.publish(file, masterVersion: 0)
            try fail("servfail")

            // An open connection may be reused without a lookup, which is also correct.
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
