import Configuration
import Curl
import FoundationEssentials
import HTTPTransport
import Operations
import Posix
import Providers
import Store
import SyncProtocol

/// All checks of a host, in the order in which they are reported: causes before their consequences.
struct HostExamination {
    private let command: Doctor
    static var usualBackupRecords: String { BackupRecord.usualFolder }
    /// For all checks together.
    private let limit: Duration
    private let configuration: ServerConfiguration?
    /// About the configuration file.
    private let problems: [Diagnosis]

    init(_ command: Doctor, within limit: Duration) {
        self.command = command
        self.limit = limit
        let path = command.options.file.path
        do throws(ConfigurationError) {
            let configuration = try ServerConfiguration(readingFrom: path)
            self.configuration = configuration
            problems = Self.diagnoses(of: configuration, path)
        } catch {
            configuration = nil
            let sentences = error.problems.map(\.description).joined(separator: "; ")
            // Without root, the checks from outside still work.
            problems = [
                error.isDenied
                    ? Diagnosis(.notPermitted, sentences, fix: "run as root", check: "configuration")
                    : Diagnosis(
                        .configurationInvalid, sentences,
                        fix: "correct \(error.path); syncctl config check, then systemctl reload syncd")
            ]
        }
    }

    func run() -> [Diagnosis] {
        CurlLibrary.initialize()
        let begin = ContinuousClock.now
        // The limit for one wait, so that the check still ends in time.
        let each = limit / 2
        let clocks = RegistrationCheck.Clocks()
        let database = configuration.map { DatabaseExamination($0, command.options) }
        let first = HostCheck.begin(
            [
                [HostCheck("configuration") { LoadedFilesCheck.examine(readAtStart, within: each) }],
                [HostCheck("units") { UnitsCheck.examine(hasDatabase: database?.isHere ?? true, within: each) }],
                database.map { database in
                    [
                        HostCheck("database") { database.examine() },
                        HostCheck("changes of the database") { database.writes() },
                    ]
                } ?? [],
                [HostCheck("backups") { backupCheck(within: each) }],
            ].flatMap(\.self))
        let others = HostCheck.begin(
            [
                publicChecks(within: each), nameChecks(within: each), sandboxChecks(within: each),
                registrationChecks(clocks, within: each), metricsChecks(within: each), signalChecks(within: each),
            ].flatMap(\.self))
        // Meanwhile, nginx: the other checks use its configuration.
        let nginx = NginxCheck.examine(folder: command.nginx, within: limit * 3 / 10)
        let site = nginx.site ?? NginxSite()
        let left = limit - begin.duration(to: .now)
        let behind = HostCheck.begin(
            [
                [("apiSocket", command.apiSocket), ("transferSocket", command.transferSocket)].map { check, path in
                    HostCheck(path) { RespondersCheck.examine(check, path, asUser: nginx.site?.user, within: left / 2) }
                },
                // A connection, and then a request.
                frontChecks(site, within: left * 2 / 5),
                [HostCheck("disks") { DiskCheck.examine(places(site, database)) }],
            ].flatMap(\.self))
        let found = [first, behind, others].flatMap { $0.diagnoses(within: limit - begin.duration(to: .now)) }
        let clock = configuration == nil ? [] : [ClockCheck.providers(offsets: clocks.offsets)]
        return maintenance(found) + problems + nginx.diagnoses + nginxChecks(nginx.site)
            + found.filter { $0.code != .maintenanceOn } + clock
    }

    /// doctor first reports that somebody closed the server on purpose, and may have forgotten it.
    private func maintenance(_ found: [Diagnosis]) -> [Diagnosis] {
        let here = command.maintenance.files.text.map { text in
            Diagnosis(
                .maintenanceOn, "this host is closed for maintenance: \"\(text)\"",
                fix: "syncctl maintenance off --this-host")
        }
        return found.filter { $0.code == .maintenanceOn } + [here].compactMap(\.self)
    }

    // MARK: The configuration

    private static func diagnoses(of configuration: ServerConfiguration, _ path: String) -> [Diagnosis] {
        var diagnoses = configuration.notes.filter { $0.kind == .warning }.map { warning in
            Diagnosis(.configurationWarning, "\(warning)", fix: "correct it, then systemctl reload syncd")
        }
        if let sandbox = configuration.sandbox {
            diagnoses.append(
                Diagnosis(
                    .sandboxInUse,
                    "SANDBOX: every call to a provider goes to \(sandbox.host):\(sandbox.port), nothing reaches a real cloud",
                    fix: "remove \"sandbox\" from \(path) before people use this server"))
        }
        return diagnoses.isEmpty ? [.good("configuration", "\(path) is valid")] : diagnoses
    }

    /// The files that services read when they start.
    private var readAtStart: [String] {
        configuration.map { $0.filesReadAtStart(from: command.options.file.path) } ?? []
    }

    private func backupCheck(within each: Duration) -> [Diagnosis] {
        BackupCheck.examine(
            records: command.backups,
            maximumAgeHours: (configuration?.backups ?? ServerConfiguration.Backups()).maximumAgeHours,
            now: WireDate(secondsSince1970: WallClock.secondsSince1970()), within: each)
    }

    // MARK: nginx

    private func nginxChecks(_ site: NginxSite?) -> [Diagnosis] {
        guard let site else { return [] }
        let uploads = configuration.map {
            NginxCheck.uploadLimit(site, maximumUploadBytes: $0.maximumUploadBytes)
        }
        return (uploads ?? []) + NginxCheck.connections(site, least: SetupPlan.leastConnections)
    }

    /// Certificates, connections by each name, and the names.
    private func frontChecks(_ site: NginxSite, within each: Duration) -> [HostCheck] {
        var names: [NginxSite.Certificate: [String]] = [:]
        for server in site.servers {
            for certificate in server.certificates { names[certificate, default: []] += server.names }
        }
        if let path = command.certificate {
            names = names.filter { $0.key.certificate == path }
            if names.isEmpty { names[NginxSite.Certificate(certificate: path, key: nil)] = [] }
        }
        let certificates = names.sorted { $0.key.certificate < $1.key.certificate }.map { files, names in
            HostCheck(files.certificate) { CertificateCheck.examine(files, names: Set(names).sorted()) }
        }
        // The sandbox's authority serves only this purpose.
        let authorities = command.caFile ?? configuration?.sandbox?.caFile
        let check = FrontDoorCheck(authorities: authorities, within: each) { door, authorities in
            Self.requestHealth(door, authorities, within: each)
        }
        let here = HostFacts.ownAddresses()
        let own = command.host.map { [$0] } ?? site.servers.flatMap(\.names)
        // localhost has the addresses of nginx's listeners anyway.
        let addresses = NamesCheck.addresses(of: Set(own).subtracting(["localhost"]), within: limit / 4)
        let doors = FrontDoorCheck.doors(of: site, host: command.host) { name in
            (addresses[name] ?? []).filter(here.contains)
        }
        return certificates + doors.map { door in HostCheck("\(door.name) at \(door.address)") { check.examine(door) } }
            + Set(own).sorted().map { name in HostCheck(name) { NamesCheck.own(name, within: each) } }
    }

    private static func requestHealth(
        _ door: FrontDoorCheck.Door, _ authorities: String?, within limit: Duration
    ) -> Result<FrontDoorCheck.Reply, FrontDoorCheck.NoReply> {
        do throws(CurlError) {
            var handle = try EasyHandle(
                routing: Routing(connectTo: door.address, caFile: authorities), allowsPlainHTTP: !door.isSecure)
            var request = Request(url: "\(door.isSecure ? "https" : "http")://\(door.name)/HealthCheck")
            request.totalTimeout = limit
            let response = try handle.perform(request)
            let isOurs = response.head.value(of: "syncserver-version") != nil
            return .success(FrontDoorCheck.Reply(status: response.status, isOurs: isOurs))
        } catch {
            let isCertificate = if case .tls = error { true } else { false }
            let isSilence = if case .timedOut = error { true } else { false }
            return .failure(
                FrontDoorCheck.NoReply(
                    String(reflecting: error), isCertificate: isCertificate, isSilence: isSilence))
        }
    }

    /// Checks the server's public address, through another proxy if there is one.
    private func publicChecks(within each: Duration) -> [HostCheck] {
        guard let publicURL = configuration?.publicURL else { return [] }
        let authorities = command.caFile ?? configuration?.sandbox?.caFile
        return [
            HostCheck(publicURL) {
                PublicAddressCheck(publicURL, ownVersion: ServerRelease.text) { question in
                    do throws(CurlError) {
                        var handle = try EasyHandle(
                            routing: Routing(caFile: authorities), allowsPlainHTTP: publicURL.hasPrefix("http:"))
                        var request = Request(url: publicURL + question.path, headers: question.headers)
                        request.httpVersion = .http2
                        request.totalTimeout = each / 4
                        let response = try handle.perform(request)
                        return .success(
                            PublicAddressCheck.Reply(
                                status: response.status, version: response.value(of: "syncserver-version"),
                                errorCode: response.value(of: "syncserver-error-code")))
                    } catch {
                        let isCertificate = if case .tls = error { true } else { false }
                        return .failure(
                            FrontDoorCheck.NoReply(String(reflecting: error), isCertificate: isCertificate))
                    }
                }.examine()
            }
        ]
    }

    // MARK: The world

    /// The hosts of providers and storages that the server connects to, unless it connects to the sandbox instead.
    private func nameChecks(within each: Duration) -> [HostCheck] {
        guard let configuration, configuration.sandbox == nil else { return [] }
        var hosts: Set<String> = []
        for company in Company.all {
            let values = company.signIn.flatMap { configuration.accounts[$0.accountType] }
            let isPushing = company.push.map { configuration.push[$0.section] != nil } ?? false
            guard values != nil || isPushing else { continue }
            hosts.formUnion(company.services.flatMap(\.hosts).filter { !$0.hasPrefix(".") })
            for setting in company.signIn?.settings ?? [] where setting.kind == .servers {
                hosts.formUnion((values?.list(setting) ?? []).compactMap { ServerAddress($0)?.host })
            }
        }
        let names = hosts.sorted()
        return [HostCheck("names") { NamesCheck.remote(names, within: each) }]
    }

    /// Whether the sandbox, where all calls to providers go, answers at all.
    private func sandboxChecks(within each: Duration) -> [HostCheck] {
        guard let sandbox = configuration?.sandbox else { return [] }
        let place = "\(sandbox.host):\(sandbox.port)"
        return [
            HostCheck("the sandbox") {
                let reason: String
                do throws(CurlError) {
                    var handle = try EasyHandle(routing: Routing(sandbox))
                    // A public resource, for which the sandbox does not have to generate keys first.
                    var request = Request(
                        url: "https://login.microsoftonline.com/common/v2.0/.well-known/openid-configuration")
                    request.totalTimeout = each
                    let status = try handle.perform(request).status
                    if status < 500 { return [.good("configuration", "the sandbox answers at \(place)")] }
                    reason = "status \(status)"
                } catch {
                    reason = String(reflecting: error)
                }
                return [
                    Diagnosis(
                        .sandboxSilent, "the sandbox does not answer at \(place): \(reason)",
                        fix:
                            "systemctl start syncsandbox.socket && systemctl restart syncsandbox; nginx has its site in "
                            + "sites-enabled/syncsandbox.conf; without it, remove \"sandbox\" from "
                            + command.options.file.path)
                ]
            }
        ]
    }

    /// What monitoring sees on this host.
    private func metricsChecks(within each: Duration) -> [HostCheck] {
        guard configuration?.metricsDirectory != nil else { return [] }
        let url = command.metrics
        return [
            HostCheck(url) {
                MetricsCheck.examine(url) {
                    do throws(CurlError) {
                        var handle = try EasyHandle(allowsPlainHTTP: true)
                        var request = Request(url: url)
                        request.totalTimeout = each
                        let response = try handle.perform(request)
                        return .success((response.status, String(decoding: response.body, as: UTF8.self)))
                    } catch {
                        return .failure(FrontDoorCheck.NoReply(String(reflecting: error), isCertificate: false))
                    }
                }
            }
        ]
    }

    /// Whether clients learn of changes at once.
    private func signalChecks(within each: Duration) -> [HostCheck] {
        guard let path = configuration?.changeSignal?.socket else { return [] }
        return [HostCheck(path) { SignalsCheck.examine(path, within: each) }]
    }

    /// Asks each company whose accounts may sign in whether this server is registered there.
    private func registrationChecks(_ clocks: RegistrationCheck.Clocks, within each: Duration) -> [HostCheck] {
        guard let configuration else { return [] }
        return Company.all.compactMap { company in
            guard let offer = company.signIn, let values = configuration.accounts[offer.accountType],
                let account = offer.makeAccount(values, { Date() }), account.hasRegistration
            else { return nil }
            let routing = Routing(configuration.sandbox)
            return HostCheck(company.name) {
                let transport = CurlSenderPool(routing: routing).transport
                return [RegistrationCheck.examine(company, account, through: transport, clocks, within: each)]
            }
        }
    }

    /// Where the server, its database and nginx write.
    private func places(_ site: NginxSite, _ database: DatabaseExamination?) -> [DiskCheck.Place] {
        let log = configuration?.log.file.map { path in
            DiskCheck.Place(String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]), .logs)
        }
        let counters = configuration?.metricsDirectory.map { DiskCheck.Place($0, .counters) }
        return (database?.places(notes: command.notes) ?? []) + [counters, log].compactMap(\.self) + site.places
            + DiskCheck.usualPlaces
    }
}
