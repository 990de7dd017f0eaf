import Foundation
import SyncProtocol
import Testing

@testable import SyncClientTesting
@testable import SyncEngine

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
            options.hasDownloadsOnDemand = seed % 4 == 0
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

    // Seed 210211: the deletion counted as one of a version that the app had never seen.
    @Test("An app that was shown a later version in a conflict knows the version that a restored server has")
    func shownInConflict() throws {
        let story = try Story(answers: StoryAnswers(content: nil, deletion: .acceptDownloadDeletion))
        let file = try story.shared()
        try story.delete(.annasTablet, [file])
        try story.edit(.ben, file)
        try story.sync(.ben)
        story.backUpServer()
        try story.edit(.ben, file)
        try story.sync(.ben)
        try story.sync(.annasTablet)
        #expect(story.conflicts == 1 && story.hasPendingUploads(.annasTablet))

        story.restoreServer()
        story.answer(StoryAnswers(content: .rejectContentDownload(.keepAll), deletion: .acceptDownloadDeletion))
        try story.sync(.annasTablet)
        #expect(!story.hasPendingUploads(.annasTablet), "the server has lost only what the deletion also covers")
        let violations = try story.end()

        #expect(violations == [])
    }

    @Test(
        "Seeing a version that the server has lost proves knowledge of its predecessors, not of what others made since",
        arguments: [("one", true), ("others", false)])
    func lostSuccessor(remaining: String, isKnown: Bool) throws {
        let simulation = Simulation(seed: 1, options: SimulationOptions(seed: 1), logs: false)
        let file = try #require(FileUUID(simulation.makeUUID()))
        let devices = try (0...1).map { index in
            let uuid = try #require(DeviceUUID(simulation.makeUUID()))
            return try SimulatedDevice(index: index, caller: ModelCaller(user: UserID(1), device: uuid), .none)
        }
        func change(_ version: Int, _ contents: String?, by author: Int = 0) -> ModelCommittedChange {
            ModelCommittedChange(
                masterVersion: MasterVersion(Int64(version) + (contents == nil ? 2 : 1)),
                device: devices[author].caller.device, version: FileVersion(Int32(version)), contents: contents,
                text: nil, isDeleted: contents == nil, undeletes: false)
        }
        var group = ModelGroup(creator: UserID(1), name: "g")
        group.masterVersion = MasterVersion(3)
        group.formerHistory[file] = [change(0, "zero"), change(1, "one"), change(2, "two")]
        group.history[file] = [change(0, "zero"), change(1, remaining), change(1, nil, by: 1)]
        devices[1].seenContents = ["zero", "two"]

        simulation.checkCommit(in: group, by: devices[1])

        #expect(simulation.report.violations.isEmpty == isKnown)
    }
}
