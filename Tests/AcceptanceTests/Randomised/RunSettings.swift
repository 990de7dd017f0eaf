import Foundation

/// The settings of the randomised test, from environment variables.
struct RunSettings {
    /// `SYNC_RANDOM_SEED`: the seed of the first run, by default 1, so that a change's result does not depend on luck.
    var firstSeed: UInt64
    /// `SYNC_RANDOM_RUNS`: the number of runs, each with the next seed; by default 1.
    var runs: Int
    /// `SYNC_RANDOM_OPERATIONS`: the number of requests per run, without observations; by default 2,000.
    var operations: Int
    /// `SYNC_RANDOM_VERBOSE`: whether each operation is printed immediately.
    var isVerbose: Bool

    static func fromEnvironment() -> RunSettings {
        let settings = ProcessInfo.processInfo.environment
        func number<Number: FixedWidthInteger>(_ name: String) -> Number? { settings[name].flatMap { Number($0) } }
        return RunSettings(
            firstSeed: number("SYNC_RANDOM_SEED") ?? 1,
            runs: number("SYNC_RANDOM_RUNS") ?? 1, operations: number("SYNC_RANDOM_OPERATIONS") ?? 2_000,
            isVerbose: settings["SYNC_RANDOM_VERBOSE"] != nil)
    }
}
