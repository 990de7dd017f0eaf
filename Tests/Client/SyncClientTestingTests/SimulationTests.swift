import SyncClientTesting
import Testing

@Suite("Simulated histories")
struct SimulationTests {
    // Only a few, since this is a debug build; `scripts/simulate` plays 20,000.
    @Test("All clients converge, and nothing is lost, torn or hidden", arguments: 0..<8)
    func histories(block: Int) {
        for seed in UInt64(block * 60 + 1)...UInt64(block * 60 + 60) {
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
