import ArgumentParser
import Configuration
import Operations

/// Reports everything that is wrong with a configuration file.
struct CheckConfig: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config", abstract: "Says everything that is wrong with a configuration file.")

    @OptionGroup var options: CommonOptions
    @Flag(
        help: """
            Also connect to the database as each role does, and check that its schema is that of this release and that \
            the stored tokens can be opened; as a reload does. Changes nothing.
            """)
    var connect = false

    func run() throws {
        let report = ConfigurationReport(of: options.file.path)
        if connect, report.isGood { try ConnectedCheck.run(options) }
        try Output.write(report, asJSON: options.isJSON)
        if report.isDenied { throw CommandFailure(.noPermission, CommandFailure.permissionMissing) }
        if !report.isGood { throw ExitCode(ExitStatus.configuration.rawValue) }
    }
}
