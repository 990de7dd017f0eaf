import Foundation

/// How the randomised test runs; set by environment variables.
struct RunSettings {
    /// `SYNC_RANDOM_SEED`: the seed of the first run, 1 unless set: whether a change passes must not be a matter of luck.
    var firstSeed: UInt64
    /// `SYNC_RANDOM_RUNS`: how many runs, each with the next seed; 1 unless set.
    var runs: Int
    /// `SYNC_RANDOM_OPERATIONS`: requests of each run, those not counted that only look; 2,000 unless set.
    var operations: Int
    /// `SYNC_RANDOM_VERBOSE`: whether each operation is printed as it is made.
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
