import ArgumentParser
import Configuration
import Operations
import Posix

/// Reports on the server's state, with charts on request.
struct ReportCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract:
            "Reports on the server's state: requests, latencies, errors, storage, growth, work, limits, certificates.",
        discussion: """
            The sources are the database, the counters of one host, and the certificates of this host; the handbook \
            describes each of them. The report contains no names of people, groups or files. If a source is \
            unavailable, the report says so at the top and shows the rest, and the exit status is 1.

            With --html, it is a self-contained page with charts, which can be saved, sent and printed.
            """)

    @OptionGroup var options: CommonOptions
    @Option(
        help: ArgumentHelp(
            "Writes a page with charts to this file, instead of text; - for standard output.", valueName: "file"),
        completion: .file()
    )
    var html: String?
    @Option(help: ArgumentHelp("The URL of the server's metrics.", valueName: "url"))
    var metrics = "http://127.0.0.1:9180/metrics"
    @Option(help: ArgumentHelp("The folder of nginx's configuration.", valueName: "folder"), completion: .directory)
    var nginx = "/etc/nginx"
    @Option(
        help: ArgumentHelp("The server's certificate; by default those that nginx names.", valueName: "file"),
        completion: .file()) var certificate: String?

    func validate() throws {
        if html != nil, options.isJSON { throw ValidationError("Choose between --html and --json.") }
        if html == "-", Terminal.isOutput {
            throw ValidationError(
                "A page cannot be written to a terminal: use --html FILE.")
        }
    }

    func run() throws {
        guard let html else { return try tell(report()) }
        // Before anything is read, so that a mistyped name is reported at once.
        let target = try html == "-" ? nil : PageFile(html)
        let report = try ReportCollection(self).collect()
        if let target { try target.write(report.page) } else { Output.write(page: report.page) }
        if !report.isGood {
            Output.complain(report.gapLines)
            throw ExitCode(ExitStatus.foundSomething.rawValue)
        }
    }

    func report() throws -> any Report { try ReportCollection(self).collect() }
}
