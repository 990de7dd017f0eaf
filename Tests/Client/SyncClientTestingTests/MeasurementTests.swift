import Foundation
import SyncClientTesting
import Testing

@Suite("Resources used by a client")
struct MeasurementTests {
    @Test("The rows and requests of a step depend on what changed, not on the number of files")
    func proportionality() throws {
        let small = try LargeGroup.measure(files: 20)
        let large = try LargeGroup.measure(files: 400)

        for (one, other) in zip(small, large).suffix(3) {
            #expect(one.requests == other.requests, "\(one.name)")
            #expect(one.transactions == other.transactions, "\(one.name)")
            #expect(one.writtenRows == other.writtenRows, "\(one.name)")
        }
        #expect(large.map(\.deliveredFiles) == [0, 0, 0, 400, 0, 1, 0])
        // A request for each file, two for the index before and after, one for the staged changes, one to commit.
        #expect(large.prefix(4).map(\.requests) == [0, 0, 403, 402])
        for cost in large.prefix(4) { #expect(cost.writtenRows <= 10 * 400, "\(cost.name)") }
        // Each request and each delivery of the 400 files is one transaction.
        #expect(large[3].transactions == 2 * 400 + 2)
        #expect(large.prefix(2).map(\.transactions) == [400, 1])
    }

    @Test("Hours of changes to the same files do not increase the size of a client's store")
    func soak() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var samples: [SoakSample] = []

        let report = Simulation.soak(seed: 1, hours: 3, files: 20, folder: folder.path) { samples.append($0) }

        #expect(report.violations == [])
        #expect(samples.map(\.hour) == [1, 2, 3])
        #expect(samples.map(\.files) == [20, 20, 20])
        #expect(samples.dropFirst().allSatisfy { $0.rows <= samples[0].rows })
        #expect(samples.allSatisfy { $0.databaseBytes > 0 })
    }
}
