import Foundation
import SyncModel
import TestSupport
import Testing

@Suite("Random requests compared with a model")
struct RandomisedTests {
    @Test("Server and model agree after each of thousands of requests, despite lost replies, kills and faults")
    func conversation() async throws {
        let server = try TestServer.toConverse()
        let settings = RunSettings.fromEnvironment()
        for number in 0..<settings.runs {
            let seed = settings.firstSeed + UInt64(number)
            try server.sandbox.clearFaults()
            try server.sandbox.clearViolations()
            let begin = ContinuousClock.now
            var run = try RandomisedRun(server, seed: seed, settings)
            let people = run.cast.people.map { "\($0.name) (\($0.firstProvider))" }.joined(separator: ", ")
            print("Randomised test: seed \(seed), \(settings.operations) operations of \(people)")

            do {
                try await run.run()
                let conversed = ContinuousClock.now
                let checks = FinalChecks(run: run)
                try await checks.storage()
                try checks.database()
                try checks.logs()
                try checks.providers()
                print(
                    "Seed \(seed): \(run.tally); \(conversed - begin), and \(ContinuousClock.now - conversed) of final checks"
                )
            } catch {
                try? server.sandbox.clearFaults()
                Issue.record(error, "seed \(seed): SYNC_RANDOM_SEED=\(seed) repeats this run")
            }
        }
    }
}
