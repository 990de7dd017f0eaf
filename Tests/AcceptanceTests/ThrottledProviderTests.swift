import Foundation
import TestSupport
import Testing

extension PrivateStackTests {
    @Suite("Providers that ask for a pause, and host names that do not exist")
    struct ThrottledProviderTests {
        private static let google = [
            "www.googleapis.com", "oauth2.googleapis.com", "openidconnect.googleapis.com",
        ].joined(separator: ",")
        let server: TestServer

        init() throws {
            server = try TestServer.withHangingProvider()
            try server.sandbox.clearFaults()
        }

        /// Lets `count` users send repeated requests, and meanwhile measures how long other users wait.
        /// - Returns: the replies to the repeated requests.
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
            // Waiting for sleeping threads would take seconds each time; on a busy machine, a few requests are slow.
            #expect(slowOnes <= 5)
            return try await replies.flatMap(\.self)
        }

        @Test(
            "If a provider asks for a pause of six seconds, its users learn of it immediately; others are unaffected",
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
            // The limit allows for the maximum number of simultaneous calls after each of a few pauses on a busy
            // machine.
            #expect(asked < replies.count / 2, "\(asked) questions for \(replies.count) requests")

            try server.sandbox.clearFaults()
            try await eventually("the server calls the provider again", within: .seconds(60)) {
                try people[0].onAnotherDevice().checkCredentials().status == 401
            }
        }

        @Test("Unknown host names count against the client's address, and other users do not wait for the lookups")
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
