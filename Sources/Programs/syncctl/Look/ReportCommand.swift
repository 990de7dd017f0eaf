import ArgumentParser
import Configuration
import Curl
import Operations
import Posix
import Store
import SyncProtocol

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

/// Collects the parts of a report. An unavailable part leaves a gap; the other parts are still collected.
struct ReportCollection {
    private static let metricsTime: Duration = .seconds(10)
    /// For nginx, which resolves the names in its configuration.
    private static let nginxTime: Duration = .seconds(10)

    private let command: ReportCommand
    private let configuration: ServerConfiguration

    /// - Throws: ``ConfigurationError``: without a configuration, there is nothing to report on.
    init(_ command: ReportCommand) throws {
        self.command = command
        configuration = try ServerConfiguration(readingForDatabaseAlone: command.options.file.path)
    }

    func collect() throws -> ServerReport {
        var gaps: [ServerReport.Gap] = []
        func attempt<Figures>(_ read: () throws -> Figures) throws -> Figures? {
            do { return try read() } catch let gap as ServerReport.Gap {
                gaps.append(gap)
                return nil
            }
        }
        let database = try attempt(readDatabase)
        let metrics = try attempt(readMetrics)
        let certificates = readCertificates()
        gaps += certificates.gaps
        return ServerReport(
            madeAt: database?.now ?? WireDate(secondsSince1970: WallClock.secondsSince1970()),
            version: ServerRelease.text, sandbox: configuration.sandbox != nil, database: database?.figures,
            metrics: metrics, certificates: certificates.figures, gaps: gaps)
    }

    /// - Throws: ``ServerReport/Gap`` if the database cannot be used.
    private func readDatabase() throws -> (figures: DatabaseFigures, now: WireDate) {
        do {
            let installation = try Installation(command.options, secrets: .ofDatabase)
            let now = installation.now
            return (try installation.store.snapshot { try $0.figures(configuration.quotas, at: now) }, now)
        } catch {
            guard let failure = CommandFailure(error) else { throw error }
            throw ServerReport.Gap(.database, failure.message, fix: "syncctl doctor")
        }
    }

    private func readMetrics() throws(ServerReport.Gap) -> MetricFigures {
        guard configuration.metricsDirectory != nil else {
            throw ServerReport.Gap(
                .metrics, "this server records none: metrics.directory is not set",
                fix: "syncctl setup sets it; systemctl reload syncd")
        }
        func gap(_ reason: String) -> ServerReport.Gap {
            ServerReport.Gap(
                .metrics, "\(command.metrics): \(reason)", fix: "syncctl doctor; --metrics URL if they are elsewhere")
        }
        let response: Response
        CurlLibrary.initialize()
        do throws(CurlError) {
            var handle = try EasyHandle(allowsPlainHTTP: true)
            var request = Request(url: command.metrics)
            request.totalTimeout = Self.metricsTime
            response = try handle.perform(request)
        } catch {
            throw gap(String(reflecting: error))
        }
        guard response.status == 200 else { throw gap("status \(response.status)") }
        guard let figures = MetricFigures(scrape: String(decoding: response.body, as: UTF8.self)) else {
            throw gap("the metrics there are not from this server")
        }
        return figures
    }

    private func readCertificates() -> (figures: CertificateFigures, gaps: [ServerReport.Gap]) {
        let site =
            command.certificate == nil ? NginxCheck.examine(folder: command.nginx, within: Self.nginxTime).site : nil
        let paths = command.certificate.map { [$0] } ?? (site?.servers ?? []).flatMap(\.certificates).map(\.certificate)
        let figures = CertificateFigures(paths: paths)
        var gaps = figures.unread.map { reason in
            ServerReport.Gap(.certificates, reason, fix: "run as root; syncctl doctor shows more")
        }
        if paths.isEmpty {
            gaps.append(
                ServerReport.Gap(
                    .certificates, "nginx's configuration in \(command.nginx) names no certificate for this server",
                    fix: "run as root; --nginx FOLDER, or --certificate FILE"))
        }
        return (figures, gaps)
    }
}

/// The file that a page is written to: a new one, or a replacement of a regular file.
struct PageFile {
    /// The mode of a new file; its owner may share it.
    private static let permissions: UInt32 = 0o640

    let path: String
    private let isNew: Bool

    /// - Throws: ``CommandFailure`` if the path is a folder, a link, a device or the like, or if its folder is missing
    ///   or not writable.
    init(_ path: String) throws(CommandFailure) {
        self.path = path
        isNew = !AtomicFile.exists(path)
        guard isNew ? !path.isEmpty : AtomicFile.isRegular(path) else {
            throw CommandFailure(
                .foundSomething, "\(path.isEmpty ? "an empty name" : path) is not a regular file; nothing was written")
        }
        do throws(PosixError) { try AtomicFile.requireWritableFolder(of: path) } catch { throw failure(error) }
    }

    /// Writes the complete file or, on failure, leaves it unchanged. An existing file keeps its owner and permissions.
    func write(_ bytes: [UInt8]) throws(CommandFailure) {
        do throws(PosixError) {
            if isNew {
                try AtomicFile.write(bytes, to: path, permissions: Self.permissions)
            } else {
                try AtomicFile.write(bytes, to: path, like: path)
            }
        } catch { throw failure(error) }
    }

    private func failure(_ error: PosixError) -> CommandFailure {
        CommandFailure(error.isDenial ? .noPermission : .foundSomething, "\(path) cannot be written: \(error)")
    }
}
