import Administration
import ArgumentParser

/// A command whose result is a report, for people or as JSON.
protocol ReportingCommand: ParsableCommand {
    var options: CommonOptions { get }
    func report() throws -> any Report
}

extension ReportingCommand {
    func run() throws {
        let report = try report()
        print(options.isJSON ? try report.json() : report.text)
        if !report.isGood { throw ExitCode(ExitStatus.foundSomething.rawValue) }
    }

    /// Says how things go, unless a program reads.
    func progress(_ sentence: String) {
        if !options.isJSON { StandardError.write(sentence) }
    }
}
