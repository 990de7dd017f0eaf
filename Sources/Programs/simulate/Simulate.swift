internal import ArgumentParser

/// Simulates histories of devices and a server, and checks for violated invariants.
@main
struct Simulate: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Plays simulated histories of sync clients, and checks their invariants.",
        subcommands: [Histories.self, Soak.self, Scale.self], defaultSubcommand: Histories.self)
}

/// The last line of each command, which scripts parse.
func close(passed: Int, failed: Int) {
    print("\(passed) passed, \(failed) failed")
}

/// A number of bytes, for people.
func mebibytes(_ bytes: Int?) -> String {
    guard let bytes else { return "?" }
    let tenths = (bytes * 10 + 524_288) / 1_048_576
    return "\(tenths / 10).\(tenths % 10) MiB"
}
