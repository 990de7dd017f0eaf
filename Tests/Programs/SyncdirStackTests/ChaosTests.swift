import Foundation
import TestSupport
import Testing

extension SyncdirTests {
    @Suite("Two watched directories that change at random")
    struct ChaosTests {
        @Test(
            "While processes are killed, both sides converge, no contents are lost, and all conflicts are reported")
        func chaos() async throws {
            let settings = ProcessInfo.processInfo.environment
            let changes = settings["SYNCDIR_CHAOS_CHANGES"].flatMap(Int.init) ?? 150
            let seed = settings["SYNCDIR_CHAOS_SEED"].flatMap(UInt64.init) ?? UInt64.random(in: 1...1_000_000)
            print("Chaos: seed \(seed), \(changes) changes; SYNCDIR_CHAOS_SEED=\(seed) starts with the same changes")
            let begin = ContinuousClock.now

            var run = try await ChaosRun(TestServer(PrivateStack("syncdir", responders: 3)), seed: seed)
            try await run.change(times: changes)
            let changed = ContinuousClock.now
            try await run.settle(within: .seconds(300))
            try run.check()

            print("Seed \(seed): \(run.tally); \(changed - begin), and \(ContinuousClock.now - changed) to settle")
        }
    }
}
