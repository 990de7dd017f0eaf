import ArgumentParser

/// The options that every command on a server takes.
struct CommonOptions: ParsableArguments {
    @OptionGroup var file: ConfigurationFile
    @Flag(name: .customLong("json"), help: "Prints a JSON object for programs; the handbook lists its fields.")
    var isJSON = false
}

/// Which part of a list to return.
struct PageOptions: ParsableArguments {
    static let maximumLimit = 10_000

    @Option(help: ArgumentHelp("How many to list at most.", valueName: "count")) var limit = 50

    func validate() throws {
        guard (1...Self.maximumLimit).contains(limit) else {
            throw ValidationError("--limit must be from 1 to \(Self.maximumLimit).")
        }
    }
}
