import ArgumentParser
import Configuration
import HTTPTransport
import MariaDB
import Operations
import Posix
import Providers
import SyncProtocol

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
