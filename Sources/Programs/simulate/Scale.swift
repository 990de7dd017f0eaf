internal import ArgumentParser
internal import Foundation
internal import SyncClientTesting

/// Measures the cost of large groups.
struct Scale: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measures the cost of a large sharing group for a client, including its store.")

    @Option(help: "How many files the group has.")
    var files = 10_000

    func run() throws {
        for cost in try LargeGroup.measure(files: files) {
            let milliseconds = (cost.seconds * 1_000_000).rounded() / 1_000
            print(
                """
                \(cost.name): \(milliseconds) ms, \(cost.requests) requests, \(cost.transactions) transactions, \
                \(cost.writtenRows) rows written, \(cost.deliveredFiles) delivered, memory \
                \(mebibytes(cost.residentBytes))
                """)
        }
    }
}
