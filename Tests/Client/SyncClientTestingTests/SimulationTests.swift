import Foundation
import SyncClientTesting
import Testing

@Suite("Simulated histories")
struct SimulationTests {
    /// Only a few, since this is a debug build, and `make test` also plays 20,000 with `scripts/simulate`;
    /// `scripts/mutate` asks for more.
    private static let seedsOfBlock =
        ProcessInfo.processInfo.environment["SYNC_HISTORIES"].flatMap(UInt64.init).map { $0 / 8 } ?? 15

    @Test("All clients converge, and nothing is lost, torn or hidden", arguments: UInt64(0)..<8)
    func histories(block: UInt64) {
        for seed in block * Self.seedsOfBlock + 1...(block + 1) * Self.seedsOfBlock {
            let report = Simulation.run(seed: seed)
            #expect(report.violations == [], "replay with scripts/simulate --seed \(seed)")
        }
    }

    @Test("Clients that store their state in SQLite also converge")
    func database() {
        for seed in UInt64(1)...4 {
            var options = SimulationOptions(seed: seed)
            options.usesDatabase = true
            let report = Simulation.run(seed: seed, options: options)
            #expect(report.violations == [], "seed \(seed), with SQLite")
        }
    }

    @Test("Users who switch accounts keep all files with their versions, despite lost replies and killed processes")
    func accountSwitches() {
        var (switches, reuploads) = (0, 0)
        for seed in UInt64(1)...80 {
            var options = SimulationOptions(seed: seed)
            options.hasExtensions = true
            options.hasAccountSwitches = true
            options.hasRestorations = false
            options.usesDatabase = seed % 20 == 0
            let report = Simulation.run(seed: seed, options: options)
            #expect(report.violations == [], "seed \(seed), with account switches")
            switches += report.switches
            reuploads += report.reuploads
        }

        #expect(switches > 60)
        #expect(reuploads > 30)
    }

    @Test("A seed reproduces the same history each time")
    func replay() {
        let first = Simulation.run(seed: 7, logs: true)
        let second = Simulation.run(seed: 7, logs: true)

        #expect(first.log == second.log)
        #expect(!first.log.isEmpty)
    }

    @Test("Histories contain the events that they are meant to test")
    func coverage() {
        var (conflicts, deaths, stale, gone, commits) = (0, 0, 0, 0, 0)
        for seed in UInt64(1)...40 {
            let report = Simulation.run(seed: seed)
            conflicts += report.conflicts
            deaths += report.deaths
            stale += report.staleReplies
            gone += report.gone
            commits += report.commits
        }

        #expect(conflicts > 10)
        #expect(deaths > 30)
        #expect(stale > 10)
        #expect(gone > 10)
        #expect(commits > 100)
    }
}
