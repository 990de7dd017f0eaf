import ArgumentParser
import Configuration
import HTTPTransport
import MariaDB
import Operations
import Posix
import Providers
import SyncProtocol

/// Prints the protocol's OpenAPI document; `docs/openapi.json` is its output.
struct OpenAPI: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "openapi", abstract: "Prints the protocol's OpenAPI document.", shouldDisplay: false)

    @Argument(help: "The server's version.") var version: String

    func run() throws {
        Output.write(json: try OpenAPIDocument.json(version: version).text())
    }
}

/// Writes the settings that systemd needs from the configuration; for the systemd generator.
struct UnitSettingsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unit-settings", abstract: "Writes drop-ins for the roles' units into a folder.",
        discussion: """
            For systemd's generator "syncserver", which runs it at each boot and each systemctl daemon-reload: each \
            role gets the secrets that it needs, and private networks are blocked unless the configuration names hosts \
            in them.
            """, shouldDisplay: false)

    @OptionGroup var file: ConfigurationFile
    @Argument(help: "The folder that systemd.generator(7) passes.", completion: .directory) var folder: String
    @Option(help: ArgumentHelp("The file that lists the name servers.", valueName: "file"), completion: .file())
    var resolvConf = "/etc/resolv.conf"

    func run() throws {
        let configuration = try ServerConfiguration(readingFrom: file.path)
        let secretsFolder = (file.path.lastIndex(of: "/").map { String(file.path[..<$0]) } ?? ".") + "/secrets"
        let resolvConf = (try? TextFile.read(resolvConf)).map { String(decoding: $0, as: UTF8.self) } ?? ""
        var host: String?
        if case .tcp(let name, _) = configuration.database.address { host = name }
        let networks = UnitSettings.Networks(
            database: host, usesSandbox: configuration.sandbox != nil, namedServers: configuration.namedHosts,
            resolvConf: resolvConf)
        for role in ServerRole.allCases {
            let settings = UnitSettings(
                role: role.rawValue, secrets: configuration.secrets(of: role), secretsFolder: secretsFolder,
                networks: networks)
            try write(settings.text, to: settings.path)
        }
        let password = configuration.secretFiles.first { $0.setting == "database.password" }
        let backup = UnitSettings.OfBackup(
            passwordFile: password.map { ServerConfiguration.path(ofSecret: $0.name, beside: file.path) },
            isDatabaseLocal: host == nil)
        try write(backup.text, to: backup.path)
    }

    private func write(_ text: String, to name: String) throws {
        let path = "\(folder)/\(name)"
        try Directory.make(String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]))
        try AtomicFile.write(Array(text.utf8), to: path, permissions: 0o644)
    }
}

extension ServerConfiguration {
    /// Hosts of the servers that the configuration names.
    fileprivate var namedHosts: [String] {
        Company.signIns.flatMap { offer in
            offer.settings.filter { $0.kind == .servers }.flatMap { setting in
                (accounts[offer.accountType]?.list(setting) ?? []).compactMap { ServerAddress($0)?.host }
            }
        }
    }

    /// Names of the files that a role needs from the secrets folder. Absolute paths are read in place.
    fileprivate func secrets(of role: ServerRole) -> [String] {
        secretFiles.filter { $0.readers.contains(role) && !$0.name.hasPrefix("/") }.map(\.name)
    }
}

/// Prints the statements that remove this server's database; for the package.
struct RemovalStatementsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "removal-statements", abstract: "Prints the SQL that removes the database and its accounts.",
        discussion: """
            For the package, which keeps them for purge. Prints nothing for a database that is not on a socket: it may \
            serve other hosts.
            """, shouldDisplay: false)

    @OptionGroup var file: ConfigurationFile

    func run() throws {
        let text = String(decoding: try TextFile.read(file.path), as: UTF8.self)
        let configuration = try ServerConfiguration(proposed: text, withoutSecretsAt: file.path)
        guard let database = AppDatabase(configuration), database.isLocal else { return }
        Output.write(database.removal)
    }
}

/// Adapts nginx's site to the installed nginx; for the package.
struct RefreshSiteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh-site", abstract: "Adapts nginx's site to the installed release of nginx.",
        discussion: """
            For the package, after an upgrade of nginx: since 1.25.1, it expects `http2 on;` instead of a parameter of \
            `listen`. A site that an administrator has changed stays unchanged; the command then prints what to \
            change. Prints nothing if there is nothing to do.
            """, shouldDisplay: false)

    @Option(help: ArgumentHelp("The folder to use as /.", valueName: "folder"), completion: .directory) var root =
        ""

    func run() throws {
        do {
            switch try SetupHost(root: root == "/" ? "" : root, administrator: nil).refreshSite() {
            case .upToDate: break
            case .written: Output.write(["\(SetupPaths.site) now has the form that the installed nginx expects"])
            case .ofAdministrator(let advice): Output.write([advice])
            }
        } catch let failure as SetupFailure {
            throw CommandFailure(.foundSomething, failure.sentence)
        }
    }
}

extension SetupHost {
    enum SiteRefresh {
        case upToDate
        case written
        /// The change that the administrator has to make.
        case ofAdministrator(String)
    }

    /// Writes the site in the form that the installed nginx expects, if setup wrote it, and reloads a running nginx.
    /// - Throws: ``SetupFailure`` if nginx rejects the new site, which then stays unchanged. ``PosixError``.
    func refreshSite() throws -> SiteRefresh {
        let wanted = http2Form
        guard let site = text(of: SetupPaths.site), let present = SiteText.form(of: site), present != wanted else {
            return .upToDate
        }
        let template = (try? AppText().site(text(of: SetupPaths.siteTemplate) ?? "")) ?? ""
        guard SiteText.isUnchanged(site, template: template) else {
            return .ofAdministrator(SiteText.advice(for: wanted))
        }
        let path = place(SetupPaths.site)
        try AtomicFile.write(Array(SiteText.adapted(site, to: wanted).utf8), to: path, like: path)
        guard root.isEmpty else { return .written }
        let outcome = try ChildProcess.run(["nginx", "-t", "-q"])
        guard outcome.status == 0 else {
            try AtomicFile.write(Array(site.utf8), to: path, like: path)
            throw SetupFailure(
                "\(SetupPaths.site) stays unchanged, because nginx rejects the new one: \(outcome.output)")
        }
        if isRunning { _ = try ChildProcess.run(["systemctl", "try-reload-or-restart", "nginx.service"]) }
        return .written
    }
}
