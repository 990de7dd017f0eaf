import ArgumentParser
import Configuration
import Operations

/// The configuration file.
struct Config: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Looks at the configuration file.", subcommands: [CheckConfig.self])
}

/// Reports everything that is wrong with a configuration file.
struct CheckConfig: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Says everything that is wrong with a configuration file.",
        discussion: """
            Also what only the services would notice, which run as a user of their own and get of the secrets what systemd \
            passes on to them; as root, and for the configuration of the package, or with --user.
            """)

    @OptionGroup var options: CommonOptions
    @Option(help: ArgumentHelp("Whom the services run as.", valueName: "account")) var user: String?
    @Flag(
        help: """
            Also connect to the database as each role does, and check that its schema is that of this release and that \
            the stored tokens can be opened; as a reload does. Changes nothing.
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
