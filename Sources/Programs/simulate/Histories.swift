internal import ArgumentParser
internal import Dispatch
internal import Foundation
internal import SyncClientTesting
internal import Synchronization

/// Runs many short simulated histories.
struct Histories: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Plays many short histories.",
        discussion: "Each seed determines one history, the same on every machine. With one seed, prints every event.")

    @Option(help: "The only history to play; prints every event.")
    var seed: UInt64?

    @Option(help: "The first history.")
    var from: UInt64 = 1

    @Option(help: "How many histories to play.")
    var count: UInt64 = 20_000

    @Option(help: "How many histories to play at once.")
    var threads = 2

    func run() throws {
        if let seed {
            let report = Simulation.run(seed: seed, logs: true)
            for line in report.log { print(line) }
            close(passed: report.violations.isEmpty ? 1 : 0, failed: report.violations.isEmpty ? 0 : 1)
            if !report.violations.isEmpty { throw ExitCode.failure }
            return
        }
        let totals = Mutex(Totals())
        let (from, count, threads) = (from, count, max(1, threads))
        let begin = Date()
        DispatchQueue.concurrentPerform(iterations: threads) { thread in
            var seed = from + UInt64(thread)
            while seed < from + count {
                let report = Simulation.run(seed: seed)
                totals.withLock { $0.add(report) }
                seed += UInt64(threads)
            }
        }
        let sum = totals.withLock { $0 }
        for failure in sum.failures.sorted(by: { $0.seed < $1.seed }) {
            print("seed \(failure.seed): \(failure.violations[0])")
            print("    scripts/simulate --seed \(failure.seed)")
        }
        print(
            """
            \(sum.events) events, \(sum.commits) commits, \(sum.deliveries) deliveries, \(sum.conflicts) conflicts, \
            \(sum.staleReplies) stale replies, \(sum.deaths) deaths, \(sum.gone) gone, \(sum.failedUploads) set aside, \
            \(sum.waits) waits, \(sum.withdrawals) withdrawals, \(sum.restorations) restorations, \
            \(sum.restoredFiles) files restored, \(sum.switches) account switches, \(sum.reuploads) files uploaded again, \
            \(sum.requestedFiles) requested, \(sum.evictedFiles) evicted, \
            \(sum.requestsWithSmallFiles) requests with several files, \
            \(Int(Date().timeIntervalSince(begin))) s
            """)
        close(passed: Int(count) - sum.failures.count, failed: sum.failures.count)
        if !sum.failures.isEmpty { throw ExitCode.failure }
    }
}

/// The totals of all histories.
private struct Totals {
    var events = 0
    var commits = 0
    var deliveries = 0
    var conflicts = 0
    var staleReplies = 0
    var deaths = 0
    var gone = 0
    var failedUploads = 0
    var waits = 0
    var withdrawals = 0
    var restorations = 0
    var restoredFiles = 0
    var switches = 0
    var reuploads = 0
    var requestedFiles = 0
    var evictedFiles = 0
    var requestsWithSmallFiles = 0
    var failures: [SimulationReport] = []

    mutating func add(_ report: SimulationReport) {
        events += report.events
        commits += report.commits
        deliveries += report.deliveries
        conflicts += report.conflicts
        staleReplies += report.staleReplies
        deaths += report.deaths
        gone += report.gone
        failedUploads += report.failedUploads
        waits += report.waits
        withdrawals += report.withdrawals
        restorations += report.restorations
        restoredFiles += report.restoredFiles
        switches += report.switches
        reuploads += report.reuploads
        requestedFiles += report.requestedFiles
        evictedFiles += report.evictedFiles
        requestsWithSmallFiles += report.requestsWithSmallFiles
        if !report.violations.isEmpty { failures.append(report) }
    }
}
