import ArgumentParser

/// The options of every command that works on a server.
struct CommonOptions: ParsableArguments {
    @OptionGroup var file: ConfigurationFile
    @Flag(name: .customLong("json"), help: "Prints a JSON object for programs; the handbook lists its fields.")
    var isJSON = false
}

/// Which part of a list to return.
struct PageOptions: ParsableArguments {
    static let maximumLimit = 10_000

    @Option(help: ArgumentHelp("The maximum number to list.", valueName: "count")) var limit = 50

    func validate() throws {
        guard (1...Self.maximumLimit).contains(limit) else {
            throw ValidationError("--limit must be from 1 to \(Self.maximumLimit).")
        }
    }
}
