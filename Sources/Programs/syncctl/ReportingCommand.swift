import ArgumentParser
import Operations

/// A command whose result is a report, for people or as JSON.
protocol ReportingCommand: ParsableCommand {
    var options: CommonOptions { get }
    func report() throws -> any Report
}

extension ReportingCommand {
    func run() throws { try tell(report()) }

    /// Writes the report.
    /// - Throws: `ExitCode` if the report contains a problem.
    func tell(_ report: any Report) throws {
        try Output.write(report, asJSON: options.isJSON)
        if !report.isGood { throw ExitCode(ExitStatus.foundSomething.rawValue) }
    }

    /// Reports progress, unless the output is JSON.
    func progress(_ lines: String...) { progress(lines) }

    /// Reports progress, unless the output is JSON.
    func progress(_ lines: [String]) {
        if !options.isJSON { Output.complain(lines) }
    }
}
