import Configuration
import MariaDB
import OpenSSLCrypto
import Operations
import Posix
import Providers
import Store
import SyncProtocol

/// Sets up a server from a backup and a copy of the secrets, on a host that has only the packages.
///
/// Existing files and settings stay unchanged. It can be repeated after a failure.
struct HostRestoration {
    private static var path: String { SetupPaths.configuration }
    private static let healthTime: Duration = .seconds(30)
    private static var sockets: [(String, String)] {
        [("apiSocket", SetupPaths.apiSocket), ("transferSocket", SetupPaths.transferSocket)]
    }

    private let manifest: BackupFormat.Manifest
    private let files: [HostFile]
    private let isKeyLost: Bool
    private let host = HostFiles()
    private(set) var report = HostRestoreReport()

    init(_ backup: (manifest: BackupFormat.Manifest, files: [HostFile]), isKeyLost: Bool) {
        manifest = backup.manifest
        files = backup.files
        self.isKeyLost = isKeyLost
    }

    // MARK: Before the rows

    /// Configuration, secrets, and an empty database with its accounts. Anything missing is detected before anything is
    /// written.
    /// - Throws: ``CommandFailure``, `ConfigurationError`, ``PosixError``.
    mutating func prepare() throws -> ServerConfiguration {
        guard let text = host.configuration(or: files) else {
            throw CommandFailure(
                .configuration,
                "neither this host nor the backup has a configuration: put it into \(Self.path), or run syncctl setup")
        }
        let passwords = try missingPasswords(text)
        try requireKeys(try ServerConfiguration(proposed: text, at: Self.path, secrets: passwords))

        try addApp()
        for (name, password) in passwords.sorted(by: { $0.key < $1.key }) {
            let place = ServerConfiguration.path(ofSecret: name, beside: Self.path)
            try Directory.make(SetupPaths.secrets)
            try AtomicFile.write(Array((password.value + "\n").utf8), to: place, permissions: 0o600)
            report.add(.done, "\(place), newly created")
        }
        for file in files { try put(file) }
        let configuration = try ServerConfiguration(readingFrom: Self.path)
        try createAccounts(configuration)
        return configuration
    }

    /// Creates the units, users and folders of an added app, as setup does.
    private mutating func addApp() throws {
        let app = HostedApp.current
        guard app.name != nil else { return }
        let isNew = !AppFiles(of: app).isInstalled
        try AppInstallation(app: app).install()
        report.add(isNew ? .done : .kept, "units, users and folders of the app \(app.label)")
    }

    /// New passwords for those database accounts whose configured password files are missing.
    /// - Throws: ``CommandFailure`` if other secrets are also missing.
    private func missingPasswords(_ text: String) throws -> [String: Secret] {
        let named = try ServerConfiguration(proposed: text, withoutSecretsAt: Self.path).secretFiles
        let missing = named.filter {
            !RegularFile.exists(ServerConfiguration.path(ofSecret: $0.name, beside: Self.path))
        }
        let lost = missing.filter { !$0.setting.hasPrefix("database.") }
        guard lost.isEmpty else {
            let list = lost.map {
                "  - \(ServerConfiguration.path(ofSecret: $0.name, beside: Self.path)) (\($0.setting))"
            }
            throw CommandFailure(
                .configuration,
                "nothing was done: these secrets are missing. Put the copy of \(SetupPaths.secrets) back first\n"
                    + list.joined(separator: "\n"))
        }
        var passwords: [String: Secret] = [:]
        for file in missing { passwords[file.name] = Secret(try RandomBytes.generate(count: 32).hexLowercase) }
        return passwords
    }

    private func requireKeys(_ configuration: ServerConfiguration) throws {
        let ring = try KeyRing(configuration)
        let unknown = manifest.sealingKeys.filter { name in
            UInt32(name, radix: 16).map { !ring.contains(identifier: $0) } ?? true
        }
        guard !unknown.isEmpty, !isKeyLost else { return }
        throw CommandFailure(
            .configuration,
            "nothing was done: the tokens in the backup are sealed with the key \(unknown.joined(separator: ", ")), "
                + "which this configuration does not have. Put the copy of that key into \(SetupPaths.secrets), as "
                + "sealing.keyFile or in sealing.formerKeyFiles; if it is lost, continue with --key-lost, and all "
                + "owners have to sign in again")
    }

    private mutating func put(_ file: HostFile) throws {
        switch try host.restore(file) {
        case .written?: report.add(.done, file.path)
        case .same?: report.add(.kept, file.path)
        case .replaced?: report.add(.done, "\(file.path); the previous file is \(file.path).old")
        case .kept?: report.add(.kept, "\(file.path), which differs from the file in the backup")
        case nil: report.add(.kept, "\(file.path) in the backup is not a server file: not restored")
        }
    }

    /// Creates database and accounts, unless the configuration's owner can use the database.
    private mutating func createAccounts(_ configuration: ServerConfiguration) throws {
        let settings = configuration.database
        if (try? Connection(settings)) != nil {
            report.add(.kept, "the database, which \(settings.user) can use")
            return
        }
        guard case .unixSocket = settings.address else {
            throw CommandFailure(
                .unavailable,
                "\(settings) cannot be used, and syncctl creates databases only on this host: create it there, with "
                    + "the accounts of \(Self.path)")
        }
        var administrator = settings
        administrator.user = "root"
        administrator.password = ""
        administrator.database = nil
        let statements = DatabaseStatements(
            database: settings.database ?? "", owner: settings.user, isLocal: true)
        let roles = configuration.roleAccounts.values.map {
            DatabaseStatements.Account(user: $0.user, password: $0.password)
        }
        var script = [statements.createDatabase, statements.createOwner(password: settings.password)]
        if !roles.isEmpty { script.append(statements.createRoles(roles)) }
        do throws(MariaDBError) {
            var connection = try Connection(administrator)
            try connection.executeScript(script.joined(separator: ";\n"))
        } catch {
            throw CommandFailure(
                .unavailable, "MariaDB's administrator, root by the unix socket, cannot create the database: \(error)")
        }
        report.add(.done, "the database \(settings.database ?? "") and its accounts")
    }

    // MARK: After the rows

    /// Rights, site and units. Failures are reported together with the remaining steps.
    mutating func start(_ configuration: ServerConfiguration) {
        do {
            let settled = try RoleAccounts.settle(configuration)
            if !settled.isEmpty { report.add(.done, "the rights of \(settled.joined(separator: ", "))") }
        } catch {
            fail("the rights of the roles' accounts: \(error)", then: "syncctl migrate")
        }
        guard AtomicFile.exists("/run/systemd/system") else {
            report.remaining.append(
                "systemd is not running here: on the host, run systemctl enable --now \(SetupPaths.target)")
            return
        }
        step(
            "\(SetupPaths.target) is started, now and at each boot", then: "systemctl enable --now \(SetupPaths.target)"
        ) {
            try Self.call("systemctl", "daemon-reload")
            try Self.call("systemctl", "enable", "--now", SetupPaths.target)
            try Self.waitUntilHealthy()
        }
        enableSite()
        report.remaining.append(
            "systemctl enable --now \(SetupPaths.backupTimer)    # if this host makes backups")
        report.remaining.append(AppText().named("syncctl fsck; syncctl doctor"))
    }

    /// Leaves nginx unchanged if it cannot start with the site, for example without the certificate.
    private mutating func enableSite() {
        guard AtomicFile.exists(SetupPaths.site) else {
            report.remaining.append("The backup contains no nginx site: syncctl setup creates one.")
            return
        }
        let isNew = !AtomicFile.exists(SetupPaths.siteLink)
        let enabling = "ln -s \(SetupPaths.siteLinkTarget) \(SetupPaths.siteLink)"
        step(
            "nginx serves \(SetupPaths.site)",
            then:
                "obtain the certificate that the site names, then: \(enabling); nginx -t && systemctl "
                + "reload-or-restart nginx"
        ) {
            do {
                // The host of the backup may have a different release of nginx.
                _ = try SetupHost(root: "", administrator: nil).refreshSite()
                if isNew { try AtomicFile.link(SetupPaths.siteLink, to: SetupPaths.siteLinkTarget) }
                try Self.call("nginx", "-t", "-q")
            } catch {
                if isNew { try Directory.removeFile(SetupPaths.siteLink) }
                throw error
            }
            try Self.call("systemctl", "reload-or-restart", "nginx.service")
        }
    }

    private mutating func step(_ sentence: String, then remaining: String, _ body: () throws -> Void) {
        do {
            try body()
            report.add(.done, sentence)
        } catch let failure as CommandFailure {
            fail("\(sentence): \(failure.message)", then: remaining)
        } catch {
            fail("\(sentence): \(error)", then: remaining)
        }
    }

    private mutating func fail(_ sentence: String, then remaining: String) {
        report.add(.failed, sentence)
        report.remaining.append(AppText().named(remaining))
    }

    private static func call(_ arguments: String...) throws {
        let outcome = try ChildProcess.run(arguments)
        guard outcome.status == 0 else {
            throw CommandFailure(.foundSomething, outcome.output.split(separator: "\n").joined(separator: "; "))
        }
    }

    private static func waitUntilHealthy() throws {
        let deadline = ContinuousClock.now + healthTime
        while true {
            let findings = sockets.flatMap { RespondersCheck.examine($0, $1, asUser: nil, within: .seconds(5)) }
            guard let trouble = findings.first(where: { $0.verdict != .good }) else { return }
            guard ContinuousClock.now < deadline else { throw CommandFailure(.unavailable, trouble.finding) }
            Pause.sleep(.milliseconds(500))
        }
    }
}
