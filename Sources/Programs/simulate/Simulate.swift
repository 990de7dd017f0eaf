internal import ArgumentParser

/// Plays histories of devices and a server, and looks for broken rules.
@main
struct Simulate: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Plays simulated histories of sync clients, and looks for broken rules.",
        subcommands: [Histories.self, Soak.self, Scale.self], defaultSubcommand: Histories.self)
}

/// The last line of each command, which scripts count.
func close(passed: Int, failed: Int) {
    print("\(passed) passed, \(failed) failed")
}

/// A number of bytes, for people.
func mebibytes(_ bytes: Int?) -> String {
    guard let bytes else { return "?" }
    let tenths = (bytes * 10 + 524_288) / 1_048_576
    return "\(tenths / 10).\(tenths % 10) MiB"
}
