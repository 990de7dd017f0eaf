import Configuration
import Curl
import Operations
import Posix
import Store
import SyncProtocol

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
            ServerReport.Gap(.certificates, reason, fix: "run as root; syncctl doctor says more")
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
