import ArgumentParser

/// The operator's tool.
@main
struct Syncctl: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "syncctl", abstract: "Sets up and looks after a SyncServer.",
        subcommands: [Setup.self, CheckConfig.self, Migrate.self, GenerateKey.self, Import.self, OpenAPI.self])
}

/// The option that every command on a server takes.
struct ConfigurationFile: ParsableArguments {
    @Option(name: .customLong("config"), help: "The configuration file.", completion: .file(extensions: ["json"]))
    var path = "/etc/syncd/syncd.json"
}
