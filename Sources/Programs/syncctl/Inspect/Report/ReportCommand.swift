import ArgumentParser
import Configuration
import Operations
import Posix

/// Tells how the server is doing, with pictures where they are wanted.
struct ReportCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract:
            "Tells how the server is doing: requests, latencies, errors, storage, growth, work, limits, certificates.",
        discussion: """
            From the database, the counters of one host, and the certificates of this one; the handbook says what each \
            of them knows. No name of a person, group or file is in it. What cannot be had is said at the top, the rest is \
            shown all the same, and the exit status is 1.

            With --html it is a page with pictures that needs nothing but itself: it can be kept, sent, and printed.
            """)

    @OptionGroup var options: CommonOptions
    @Option(
        help: ArgumentHelp(
            "Writes a page with pictures to this file, instead of a text; - for standard output.", valueName: "file"),
        completion: .file()
    )
    var html: String?
    @Option(help: ArgumentHelp("Where the server's metrics are.", valueName: "url"))
    var metrics = "http://127.0.0.1:9180/metrics"
    @Option(help: ArgumentHelp("The folder of nginx's configuration.", valueName: "folder"), completion: .directory)
    var nginx = "/etc/nginx"
    @Option(
        help: ArgumentHelp("The server's certificate; else those that nginx names.", valueName: "file"),
        completion: .file()) var certificate: String?

    func validate() throws {
        if html != nil, options.isJSON { throw ValidationError("Choose between --html and --json.") }
        if html == "-", Terminal.isOutput { throw ValidationError("A page is nothing for a terminal: --html FILE.") }
    }

    func run() throws {
        guard let html else { return try tell(report()) }
        // Before anything is read: whoever mistyped the name should not have to wait for it.
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
