import Foundation
import TestSupport
import Testing

extension PrivateStackTests {
    @Suite("A provider that asks for a pause, and names that nobody has")
    struct ThrottledProviderTests {
        private static let google = [
            "www.googleapis.com", "oauth2.googleapis.com", "openidconnect.googleapis.com",
        ].joined(separator: ",")
        let server: TestServer

        init() throws {
            server = try TestServer.withHangingProvider()
            try server.sandbox.clearFaults()
        }

        /// Has many send requests again and again, and measures meanwhile how long others wait.
        /// - Returns: what the many got.
        private func whileMany(
            _ count: Int, ask: @escaping @Sendable (Int) throws -> HTTPReply
        ) async throws -> [HTTPReply] {
            let dora = try server.signUpOwningUser(.dropbox)
            async let replies = Threads.run(count) { number in try (0..<3).map { _ in try ask(number) } }
            var slowOnes = 0
            for _ in 0..<100 {
                let start = ContinuousClock.now
                #expect(try server.call("GET", "HealthCheck").status == 200)
                #expect(try dora.call("GET", "Index").status == 200)
                if start.duration(to: .now) > .seconds(1) { slowOnes += 1 }
            }
            // Who waits for threads that sleep does so for seconds, each time. A busy machine is slow now and then.
            #expect(slowOnes <= 5)
            return try await replies.flatMap(\.self)
        }

        @Test(
            "Sixty people whose provider asks for six seconds are told so at once, others wait for nobody, and it is asked little",
            arguments: [429, 503])
        func throttled(status: Int) async throws {
            let people = try (0..<60).map { _ in try server.newcomer(.google) }
            var fault = SandboxFault(host: Self.google, status: status)
            fault.retryAfter = 6
            try server.sandbox.inject(fault)
            let before = try server.sandbox.lastRequest()

            let replies = try await whileMany(people.count) { try people[$0].checkCredentials() }

            for reply in replies {
                expectError(reply, 429)
                #expect(reply.json?.retryable == .bool(true))
                let seconds = reply.values(of: "retry-after").first.flatMap(Int.init)
                #expect(seconds.map { (1...6).contains($0) } == true, "\(reply)")
            }
            let codes = Set(replies.compactMap { $0.json?.code?.text })
            #expect(codes.isSubset(of: ["provider_paused", "provider_busy", "provider_circuit_open"]), "\(codes)")
            let asked = try server.sandbox.requests(since: before).count { $0.host?.text == "www.googleapis.com" }
            // As many as may be on their way at once, for each of the few pauses that a busy machine makes time for.
            #expect(asked < replies.count / 2, "\(asked) questions for \(replies.count) requests")

            try server.sandbox.clearFaults()
            try await eventually("everybody is asked for again", within: .seconds(60)) {
                try people[0].onAnotherDevice().checkCredentials().status == 401
            }
        }

        @Test("Names that one address makes up count against that address, and nobody waits for their lookups")
        func madeUpNames() async throws {
            let strange = try TestServer.withNamedServers()
            let replies = try await Threads.run(60) { number in
                let name = UUID().uuidString.lowercased()
                let user = strange.newcomer(
                    with: try SandboxAccount(inBucketAt: "https://\(name).invalid", prefix: "x"))
                return try user.checkCredentials()
            }

            for reply in replies {
                expectError(reply, 429)
                #expect(!reply.values(of: "retry-after").isEmpty, "\(reply)")
            }
        }
    }
}
