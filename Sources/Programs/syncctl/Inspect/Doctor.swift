import ArgumentParser
import Configuration
import Curl
import FoundationEssentials
import HTTPTransport
import MariaDB
import OpenSSLCrypto
import Operations
import Posix
import Providers
import Store

/// Examines a host from its configuration to its certificates.
struct Doctor: ReportingCommand {
    static let configuration = CommandConfiguration(
        abstract: "Examines this host, and says with each finding what to do.",
        discussion: "Run it as root: sockets and secrets are not for everybody's eyes. It changes nothing.")

    /// How long each company may take to answer.
    private static let providerTime: Duration = .seconds(10)

    @OptionGroup var options: CommonOptions
    @Option(help: "The socket of the api responders.", completion: .file()) var apiSocket = "/run/syncd/api.sock"
    @Option(help: "The socket of the transfer responders.", completion: .file())
    var transferSocket = "/run/syncd/transfer.sock"
    @Option(help: "The folder of nginx's configuration.", completion: .directory) var nginx = "/etc/nginx"
    @Option(help: "The server's certificate; else those that nginx names.", completion: .file()) var certificate:
        String?
    @Option(help: "The server's name in DNS; else those that nginx names.") var host: String?

    func report() throws -> any Report {
        let configuration: ServerConfiguration
        do {
            configuration = try ServerConfiguration(readingFrom: options.file.path)
        } catch {
            guard !error.isDenied else { throw error }
            let problems = error.problems.map(\.description).joined(separator: "; ")
            return DoctorReport([Diagnosis("configuration", .bad, problems, fix: "correct \(error.path)")])
        }
        var diagnoses = Self.diagnoses(of: configuration, options.file.path)
        diagnoses += database(configuration)
        if !diagnoses.contains(where: { $0.verdict == .bad }) { diagnoses += RoleAccounts.diagnoses(configuration) }
        diagnoses += registrations(configuration)
        diagnoses += [
            Examination.socket("apiSocket", apiSocket), Examination.socket("transferSocket", transferSocket),
        ]
        let site = NginxSite.read(folder: nginx)
        diagnoses.append(Examination.uploadLimit(site, maximumUploadBytes: configuration.maximumUploadBytes))
        diagnoses.append(Examination.connections(site, least: SetupPlan.leastConnections))
        for path in Set(certificate.map { [$0] } ?? site.certificates).sorted() {
            diagnoses.append(Examination.certificate(at: path))
        }
        for name in Set(host.map { [$0] } ?? site.serverNames).sorted() { diagnoses.append(Examination.dns(name)) }
        let folders = ["/", "/var/lib/mysql", "/var/log"].filter(RegularFile.exists)
        diagnoses += folders.map { Examination.disk(at: $0) }
        return DoctorReport(diagnoses)
    }

    private static func diagnoses(of configuration: ServerConfiguration, _ path: String) -> [Diagnosis] {
        var diagnoses = configuration.notes.filter { $0.kind == .warning }.map { warning in
            Diagnosis("configuration", .warning, "\(warning)", fix: "correct it, then systemctl reload syncd")
        }
        if let sandbox = configuration.sandbox {
            diagnoses.append(
                Diagnosis(
                    "configuration", .warning,
                    "SANDBOX: every call to a provider goes to \(sandbox.host):\(sandbox.port), nothing reaches a real cloud",
                    fix: "remove \"sandbox\" from \(path) before people use this server"))
        }
        return diagnoses.isEmpty ? [Diagnosis("configuration", .good, "\(path) is good")] : diagnoses
    }

    /// Checks that the database is reachable, the schema right, the clocks in sync, and jobs are processed.
    private func database(_ configuration: ServerConfiguration) -> [Diagnosis] {
        ClientLibrary.initialize()
        do {
            let installation = try Installation(options)
            let now = installation.now
            let seen = try installation.store.withSession { session in
                (clock: try session.clockMilliseconds(), outbox: try session.outboxOverview(at: now))
            }
            let own = WallClock.millisecondsSince1970()
            return [
                Diagnosis("database", .good, "the database answers: \(installation.databaseDescription)"),
                Diagnosis("schema", .good, "the schema is the one of this release (\(MigrationRunner.newestStep))"),
                Examination.clock(ownMilliseconds: own, databaseMilliseconds: seen.clock),
                Examination.jobs(seen.outbox),
            ]
        } catch let error as MigrationError {
            return [
                Diagnosis("database", .good, "the database answers"),
                Diagnosis(
                    "schema", .bad, "\(error)", fix: "syncctl migrate, unless the release is older than the schema"),
            ]
        } catch {
            let message = CommandFailure(error)?.message ?? "\(error)"
            return [
                Diagnosis(
                    "database", .bad, message,
                    fix: "systemctl status mariadb; database.* in \(options.file.path) and the password's file")
            ]
        }
    }

    /// Asks each company whose accounts may sign in whether it knows this server.
    private func registrations(_ configuration: ServerConfiguration) -> [Diagnosis] {
        CurlLibrary.initialize()
        let transport = CurlSenderPool(routing: Routing(configuration.sandbox)).transport
        return Company.all.compactMap { company in
            guard let offer = company.signIn, let values = configuration.accounts[offer.accountType],
                let account = offer.makeAccount(values, { Date() }), account.hasRegistration
            else { return nil }
            let client = AccountClient(
                transport: transport, deadline: .after(Self.providerTime), backoff: Backoff { Pause.sleep($0) })
            do throws(AccountError) {
                try account.checkRegistration(through: client)
                return Examination.registration(of: company, nil)
            } catch {
                return Examination.registration(of: company, error)
            }
        }
    }
}
