import ArgumentParser
import Configuration
import Operations

/// Reports everything that is wrong with a configuration file.
struct CheckConfig: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config", abstract: "Says everything that is wrong with a configuration file.")

    @OptionGroup var options: CommonOptions

    func run() throws {
        let report = ConfigurationReport(of: options.file.path)
        try Output.write(report, asJSON: options.isJSON)
        if report.isDenied { throw CommandFailure(.noPermission, CommandFailure.permissionMissing) }
        if !report.isGood { throw ExitCode(ExitStatus.configuration.rawValue) }
    }
}
