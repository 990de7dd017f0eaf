import ArgumentParser
import Configuration
import Operations

/// The configuration file.
struct Config: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Checks the configuration file.", subcommands: [CheckConfig.self])
}

/// Reports all mistakes in a configuration file.
struct CheckConfig: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Reports all mistakes in a configuration file.",
        discussion: """
            The services run as their own user and get only the secrets that systemd passes to them. As root, this \
            command also reports what only the services would notice: for the package's configuration, or with --user.
            """)

    @OptionGroup var options: CommonOptions
    @Option(help: ArgumentHelp("The account that the services run as.", valueName: "account")) var user: String?
    @Flag(
        help: """
            Also connect to the database as each role, and check that its schema matches this release and that the \
            stored tokens can be opened, as a reload does. Changes nothing.
            """)
    var connect = false

    func run() throws {
        let path = options.file.path
        let report = ConfigurationReport(of: path, seenBy: try ServiceView(of: path, as: user))
        if connect, report.isGood { try ConnectedCheck.run(options) }
        try Output.write(report, asJSON: options.isJSON)
        if report.isDenied { throw CommandFailure(.noPermission, CommandFailure.permissionMissing) }
        if !report.isGood { throw ExitCode(ExitStatus.configuration.rawValue) }
    }
}
