internal import ArgumentParser
internal import Foundation
internal import SyncClientTesting

/// Simulates a few devices over a long time, and looks for values that grow with time.
struct Soak: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Simulates three devices for hours of virtual time; fails if memory or databases grow.",
        discussion: """
            People create a limited number of files in the first hours, and then change them. Compares the last three
            quarters of the remaining time with its first quarter: memory and the largest database may grow only by the
            allowance, and the number of rows not at all.
            """)

    @Option(help: "Hours of virtual time, at least 8.")
    var hours = 48

    @Option(help: "How many files people create.")
    var files = 300

    @Option(help: "The history to play.")
    var seed: UInt64 = 1

    @Option(help: "Maximum growth of memory, in percent.")
    var memoryAllowance = 10

    @Option(help: "Maximum growth of the largest database, in percent.")
    var databaseAllowance = 10

    func validate() throws {
        if hours < 8 { throw ValidationError("hours must be at least 8, not \(hours)") }
    }

    func run() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "soak-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var samples: [SoakSample] = []
        let report = Simulation.soak(seed: seed, hours: hours, files: files, folder: folder.path) { sample in
            samples.append(sample)
            print(
                """
                hour \(sample.hour): \(sample.events) events, \(sample.files) files, \(sample.rows) rows, database \
                \(mebibytes(sample.databaseBytes)), memory \(mebibytes(sample.residentBytes))
                """)
        }
        var failures = report.violations
        // Growth with the number of files is fine.
        samples.removeAll { $0.files < files }
        if samples.count < hours / 2 { failures.append("too few hours for \(files) files") }
        failures += growth(of: "memory", samples.map { $0.residentBytes ?? 0 }, allowance: memoryAllowance)
        failures += growth(of: "the largest database", samples.map(\.databaseBytes), allowance: databaseAllowance)
        failures += growth(of: "the number of rows", samples.map(\.rows), allowance: 0)
        for failure in failures { print(failure) }
        close(passed: failures.isEmpty ? 1 : 0, failed: failures.count)
        if !failures.isEmpty { throw ExitCode.failure }
    }

    /// Compares the last three quarters with the first one.
    private func growth(of name: String, _ values: [Int], allowance percent: Int) -> [String] {
        let first = values.prefix(values.count / 4).max() ?? 0
        let later = values.dropFirst(values.count / 4).max() ?? 0
        guard later * 100 > first * (100 + percent) else { return [] }
        return ["\(name) grows with time: from \(first) to \(later)"]
    }
}
