import Foundation
import TestSupport
import Testing

extension PrivateStackTests {
    @Suite("A provider that hangs")
    struct HangingProviderTests {
        let server: TestServer

        init() throws {
            server = try TestServer.withHangingProvider()
        }

        @Test(
            "The provider's users get errors within ten seconds, later immediately; others are unaffected; it recovers"
        )
        func hanging() async throws {
            let dora = try server.signUpOwningUser(.dropbox)
            let people = try (0..<40).map { _ in try server.newcomer(.google) }
            for host in ["www.googleapis.com", "oauth2.googleapis.com", "openidconnect.googleapis.com"] {
                var fault = SandboxFault(host: host)
                fault.latencyMilliseconds = 39_000
                try server.sandbox.inject(fault)
            }
            let metrics = try MetricsPages(server)

            async let hangingReplies = Threads.run(people.count) { number in
                let start = ContinuousClock.now
                let reply = try people[number].checkCredentials()
                return (reply, start.duration(to: .now))
            }
            // Long enough for a tenth of the calls to hang and all others to be rejected.
            try await eventually("the server withholds calls") {
                try metrics.samples().contains { $0.key.contains("outcome=\"withheld\"") && $0.value > 0 }
            }
            var slowOnes = 0
            for _ in 0..<50 {
                let start = ContinuousClock.now
                #expect(try server.call("GET", "HealthCheck").status == 200)
                #expect(try dora.call("GET", "Index").status == 200)
                if start.duration(to: .now) > .seconds(2) { slowOnes += 1 }
            }
            // Waiting for a call to Google would take seconds each time; on a busy machine, a few requests are slow.
            #expect(slowOnes <= 5)

            for (reply, took) in try await hangingReplies {
                expectError(reply, 429, 504)
                #expect(reply.json?.retryable == .bool(true))
                // The provider would take 39 seconds. The limit allows for forty TLS connections on a busy machine.
                #expect(took < .seconds(15), "\(took)")
                if reply.json?.code?.text == "provider_busy" {
                    #expect(reply.values(of: "retry-after") == ["1"])
                }
            }
            try await eventually("the circuit to the provider is open", within: .seconds(90)) {
                // Each process counts its own failures; consecutive requests would take ten seconds each.
                _ = concurrently(people.count) { number in try people[number].checkCredentials() }
                let reply = try people[0].checkCredentials()
                return reply.status == 429 && reply.json?.code?.text == "provider_circuit_open"
                    && reply.values(of: "retry-after").first.flatMap(Int.init).map { (1...60).contains($0) } == true
            }
            let openCircuits = { try metrics.samples()[#"syncd_provider_circuits_open{provider="google"}"#] ?? 0 }
            #expect(try openCircuits() >= 1)

            try server.sandbox.clearFaults()

            try await eventually("all circuits are closed again", within: .seconds(90)) {
                // Each process must find out by itself.
                _ = concurrently(people.count) { number in try people[number].onAnotherDevice().checkCredentials() }
                return try openCircuits() == 0
            }
            // Users of the provider can sign in and publish again.
            let alice = try server.signUpOwningUser(.google)
            try alice.publish(TestFile(), masterVersion: 0)
        }
    }
}
