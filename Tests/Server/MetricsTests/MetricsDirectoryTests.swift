import Foundation
import Posix
import Testing

@testable import Metrics

@Suite("Sums over the metrics of all processes")
final class MetricsDirectoryTests: Sendable {
    private let path = FileManager.default.temporaryDirectory
        .appending(path: "metrics-tests-\(UUID().uuidString)").path
    private let directory: MetricsDirectory

    init() { directory = MetricsDirectory(path: path, layout: Self.layout()) }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Two counters and a gauge; `more` come first, which shifts all positions.
    private static func layout(_ more: [MetricFamily] = []) -> MetricsLayout {
        MetricsLayout(
            more + [
                MetricFamily("a_total", .counter, "A.", [MetricFamily.Label("x", ["1", "2"])]),
                MetricFamily("in_flight", .gauge, "G."),
            ])
    }

    private func process(_ directory: MetricsDirectory? = nil, start: Int64 = 100) throws -> SharedNumbers {
        try (directory ?? self.directory).join(role: 0, processID: UUID().uuidString, start: start)
    }

    private func values() throws -> [UInt64] { try directory.sum().values }
    private var head: Int { MetricsDirectory.headCount }

    @Test("Metrics of live processes are summed; each process reports its start time")
    func living() throws {
        let one = try process(start: 1)
        let two = try process(start: 2)
        one.add(3, at: head)
        two.add(4, at: head)
        two.add(5, at: head + 1)
        two.add(1, at: head + 2)

        let sum = try directory.sum()

        #expect(sum.values == [7, 5, 1])
        #expect(sum.processes.map(\.start).sorted() == [1, 2])
    }

    @Test("Counters of an ended process are kept, its gauges are dropped, and its file is deleted")
    func dead() throws {
        var one: SharedNumbers? = try process()
        let two = try process()
        one?.add(3, at: head)
        one?.add(1, at: head + 2)
        two.add(4, at: head)
        #expect(try values() == [7, 0, 1])

        one = nil

        for _ in 0..<3 { #expect(try values() == [7, 0, 0]) }
        #expect(try Directory.names(in: path).filter { $0.hasPrefix("process-") }.count == 1)
        #expect(try directory.sum().processes.count == 1)
        withExtendedLifetime(two) {}
    }

    @Test("A starting process cleans up after ended ones, even without a scrape")
    func restarts() throws {
        for _ in 0..<200 { try process().add(1, at: head) }

        #expect(try Directory.names(in: path).count <= MetricsDirectory.manyFiles + 1)
        #expect(try values() == [200, 0, 0])
    }

    @Test("A crash between the update of the totals and the deletion of the file counts nothing twice")
    func crash() throws {
        try process().add(3, at: head)
        let name = try #require(try Directory.names(in: path).first { $0.hasPrefix("process-") })
        let file = path + "/" + name
        let kept = try Data(contentsOf: URL(filePath: file))
        #expect(try values() == [3, 0, 0])

        try kept.write(to: URL(filePath: file))

        #expect(try values() == [3, 0, 0])
        #expect(try !Directory.names(in: path).contains(name))
    }

    @Test("Files and totals of other server versions are understood, of live and ended processes")
    func versions() throws {
        let other = MetricsDirectory(
            path: path, layout: Self.layout([MetricFamily("b_total", .counter, "B.")]))
        var new: SharedNumbers? = try process(other)
        new?.add(9, at: head)
        new?.add(3, at: head + 1)
        let old = try process()
        old.add(1, at: head)

        #expect(try values() == [4, 0, 0])
        #expect(try other.sum().values == [9, 4, 0, 0])
        new = nil
        #expect(try values() == [4, 0, 0])
        #expect(try other.sum().values == [9, 4, 0, 0])
        withExtendedLifetime(old) {}
    }

    @Test("Concurrent additions are all counted, and a sum never decreases while processes start and end")
    func concurrency() throws {
        let rounds = 2_000
        let writers = try (0..<4).map { _ in try process() }
        DispatchQueue.concurrentPerform(iterations: 6) { thread in
            if thread < 4 {
                for _ in 0..<rounds { writers[thread].add(1, at: head) }
            } else {
                var last: UInt64 = 0
                for _ in 0..<50 {
                    let fresh = try? process()
                    fresh?.add(1, at: head + 1)
                    guard let sum = try? values() else { continue }
                    #expect(sum[0] + sum[1] >= last)
                    last = sum[0] + sum[1]
                }
            }
        }
        #expect(try values() == [UInt64(4 * rounds), 100, 0])
    }

    @Test("An invalid metrics file is discarded")
    func damaged() throws {
        let one = try process()
        one.add(1, at: head)
        for (name, bytes) in [("process-empty", 0), ("process-short", 8), ("process-odd", 31)] {
            try Data(repeating: 7, count: bytes).write(to: URL(filePath: path + "/" + name))
        }

        #expect(try values() == [1, 0, 0])
        #expect(try Directory.names(in: path).filter { $0.hasPrefix("process-") }.count == 1)
    }
}
