import Configuration
import Curl
import FoundationEssentials
import HTTPTransport
import Operations
import Posix
import Providers
import Store
import SyncProtocol

/// All checks of a host, in the order in which they are reported: causes before what follows from them.
struct HostExamination {
    private let command: Doctor
    static let usualBackupRecords = BackupRecord.usualFolder
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
            // Whoever is not root learns at least what can be seen from outside.
            problems = [
                error.isDenied
                    ? Diagnosis(.notPermitted, sentences, fix: "run as root", check: "configuration")
                    : Diagnosis(
                        .configurationInvalid, sentences,
                        fix: "correct \(error.path); syncctl check-config, then systemctl reload syncd")
            ]
        }
    }

    func run() -> [Diagnosis] {
        CurlLibrary.initialize()
        // What one program may take, so that its check still ends in time.
        let each = limit / 2
        let nginx = NginxCheck.examine(folder: command.nginx, within: each)
        let clocks = RegistrationCheck.Clocks()
        let database = configuration.map { DatabaseExamination($0, command.options) }
        let checks = [
            [HostCheck("configuration") { LoadedFilesCheck.examine(readAtStart, within: each) }],
            [HostCheck("units") { UnitsCheck.examine(hasDatabase: database?.isHere ?? true, within: each) }],
            database.map { database in [HostCheck("database") { database.examine() }] } ?? [],
            [HostCheck("backups") { backupCheck(within: each) }],
            [("apiSocket", command.apiSocket), ("transferSocket", command.transferSocket)].map { check, path in
                HostCheck(path) { RespondersCheck.examine(check, path, within: each) }
            },
            frontChecks(nginx.site ?? NginxSite(), within: each), nameChecks(),
            registrationChecks(clocks, within: each),
            [HostCheck("disks") { DiskCheck.examine(folders) }],
        ]
        let found = HostCheck.run(checks.flatMap(\.self), within: limit)
        let clock = configuration == nil ? [] : [ClockCheck.providers(offsets: clocks.offsets)]
        return problems + nginx.diagnoses + nginxChecks(nginx.site) + found + clock
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
        return diagnoses.isEmpty ? [.good("configuration", "\(path) is good")] : diagnoses
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
        // The sandbox's authority is one for this purpose only.
        let authorities = command.caFile ?? configuration?.sandbox?.caFile
        let check = FrontDoorCheck(authorities: authorities, within: each) { door, authorities in
            Self.requestHealth(door, authorities, within: each)
        }
        let doors = FrontDoorCheck.doors(of: site, host: command.host)
        let own = command.host.map { [$0] } ?? site.servers.flatMap(\.names)
        return certificates + doors.map { door in HostCheck("\(door.name) at \(door.address)") { check.examine(door) } }
            + Set(own).sorted().map { name in HostCheck(name) { NamesCheck.own(name) } }
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
            return .failure(FrontDoorCheck.NoReply(String(reflecting: error), isCertificate: isCertificate))
        }
    }

    // MARK: The world

    /// The hosts of providers and storages that the server connects to, unless it connects to the sandbox instead.
    private func nameChecks() -> [HostCheck] {
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
        return hosts.sorted().map { host in HostCheck(host) { NamesCheck.remote(host) } }
    }

    /// Asks each company whose accounts may sign in whether it knows this server.
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

    /// Where the server writes; the database's own folder is examined with the database.
    private var folders: [String] {
        let log = configuration?.log.file.map { path in String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]) }
        return DiskCheck.usualPaths + [log, configuration?.metricsDirectory].compactMap(\.self)
    }
}
