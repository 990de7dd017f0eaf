import Configuration
import MariaDB
import Operations
import Posix
import Store

/// Adds an app to this host, and removes it: everything that setup does not create.
struct AppInstallation {
    let app: HostedApp

    /// When a timer last elapsed (systemd.timer(5), Persistent=).
    private static let stamps = "/var/lib/systemd/timers/stamp-"

    private var isRunning: Bool { AtomicFile.exists("/run/systemd/system") }

    /// Creates the app's files, users and folders; existing ones are kept.
    /// - Returns: files that an administrator has changed, and that this release would write differently.
    /// - Throws: ``CommandFailure``, ``PosixError``.
    @discardableResult
    func install() throws -> [String] {
        let files = AppFiles(of: app)
        let outcome = try files.write()
        try makeCommonSite()
        // Even if nothing was written: an earlier run may have ended before this.
        for command in files.definitions { try call(command) }
        if isRunning { try call(["systemctl", "daemon-reload"]) }
        return outcome.kept
    }

    /// The site of the package's app contains the nginx directives that all apps share.
    private func makeCommonSite() throws {
        let package = HostedApp.package.siteName
        let (site, link) = ("/etc/nginx/sites-available/\(package)", "/etc/nginx/sites-enabled/\(package)")
        guard AtomicFile.exists("/etc/nginx/nginx.conf"), !AtomicFile.exists(link) else { return }
        try Directory.makeParents(of: site)
        if !AtomicFile.exists(site) {
            try AtomicFile.write(Array(SiteText.withoutHost.utf8), to: site, permissions: 0o644)
        }
        try AtomicFile.link(link, to: "../sites-available/\(package)")
    }

    /// Stops the app, and removes its units and its nginx site. Configuration, secrets, database, logs and backups are
    /// kept.
    func remove() throws {
        if isRunning, AppFiles(of: app).isInstalled {
            try call(
                ["systemctl", "disable", "--now", "--quiet"]
                    + [".target", "-backup.timer", "-authority.timer"].map(app.unit))
            let rest = [
                ".service", "-*@*.service", "-*.socket", "-backup*.service", "-authority.service", ".slice",
            ].map(app.unit)
            try call(["systemctl", "stop"] + rest)
        }
        try Directory.removeFile("/etc/nginx/sites-enabled/\(app.siteName)")
        try AppFiles(of: app).remove()
        guard isRunning else { return }
        try call(["systemctl", "daemon-reload"])
        // Failed units stay listed otherwise.
        _ = try? ChildProcess.run(["systemctl", "reset-failed", app.unit("*")])
    }

    /// The last step of a removal; if nginx rejects another site, the other steps are not reverted.
    func letNginxForget() throws {
        guard isRunning, try ChildProcess.run(["systemctl", "is-active", "--quiet", "nginx.service"]).status == 0 else {
            return
        }
        do {
            try call(["nginx", "-t", "-q"])
            try call(["systemctl", "reload", "nginx.service"])
        } catch let failure as CommandFailure {
            throw CommandFailure(
                failure.status,
                "the app \(app.label) is removed, but nginx keeps its site until it can be reloaded: \(failure.message)"
            )
        }
    }

    /// Deletes what ``remove()`` leaves, except backups and the system users: their numbers must not be reused.
    /// - Parameter database: the result of ``database()``.
    /// - Returns: the statements that the administrator of a remote database still has to execute.
    func purge(_ database: AppDatabase?) throws -> [String] {
        let left = drop(database)
        try withdrawAuthority()
        let drops = try Directory.names(in: "/etc/systemd/system").filter { name in
            name.hasSuffix(".d") && (name.hasPrefix(app.unit("-")) || name.hasPrefix(app.unit(".")))
        }
        let logs = try Directory.names(in: "/var/log/nginx").filter { $0.hasPrefix(app.unit(".")) }
        try call(
            [
                "rm", "-rf", "--", app.configurationFolder, app.runtimeFolder, app.stateFolder,
                "/var/lib/\(app.prefix)-backup",
                app.logFolder, Self.stamps + app.unit("-backup.timer"), Self.stamps + app.unit("-authority.timer"),
                "/etc/nginx/sites-available/\(app.siteName)", "/etc/nginx/syncd/\(app.label)",
            ]
                + drops.map { "/etc/systemd/system/\($0)" } + logs.map { "/var/log/nginx/\($0)" })
        try Directory.removeFile(app.backupFolder + "/.lock")
        try Directory.removeEmpty(app.backupFolder)
        return left
    }

    /// Removes a trial's authority and host name from this host's trust store and hosts file.
    private func withdrawAuthority() throws {
        do {
            for authority in try LocalAuthority.all(of: app) where authority.isToldOf { try authority.withdraw() }
        } catch let failure as SetupFailure {
            throw CommandFailure(.foundSomething, failure.sentence)
        }
    }

    /// What ``purge(_:)`` deletes, as text.
    func belongings(with database: AppDatabase?) -> [String] {
        [app.configurationFolder + " with its secrets", app.stateFolder, app.logFolder]
            + (database.map { ["the database \($0.name) with its accounts"] } ?? [])
    }

    /// The database that a purge drops, determined before anything is removed; `nil` without a configuration that names
    /// it.
    /// - Throws: ``CommandFailure`` if a configuration has mistakes, or if another app uses the same database or
    ///   accounts.
    func database() throws -> AppDatabase? {
        guard let own = try database(of: app) else { return nil }
        for other in [.package] + AppFiles.added() where other != app {
            let common = try database(of: other).map(own.common) ?? []
            guard common.isEmpty else {
                throw CommandFailure(
                    .foundSomething,
                    "nothing was removed, because the configuration of the app \(other.label) uses the same: "
                        + common.joined(separator: ", "))
            }
        }
        return own
    }

    private func database(of other: HostedApp) throws -> AppDatabase? {
        do { return try AppDatabase(of: other) } catch let error as ConfigurationError {
            throw CommandFailure(
                .configuration,
                "nothing was removed, because the configuration of the app \(other.label), which names its database, "
                    + "has mistakes: correct them first\n\(error)")
        }
    }

    private func drop(_ database: AppDatabase?) -> [String] {
        guard let database else { return [] }
        // A database that is reached over TCP may serve other hosts.
        guard case .socket(let socket) = database.address else { return database.removal }
        do throws(MariaDBError) {
            var connection = try Connection(
                ConnectionSettings(address: .unixSocket(path: socket), user: "root", password: "", database: nil))
            for statement in database.removal { try connection.executeScript(statement) }
        } catch {
            return database.removal
        }
        return []
    }

    private func call(_ arguments: [String]) throws {
        let outcome = try ChildProcess.run(arguments)
        guard outcome.status == 0 else {
            throw CommandFailure(
                .foundSomething,
                "\(arguments.joined(separator: " ")) failed: "
                    + outcome.output.split(separator: "\n").joined(separator: "; "))
        }
    }
}

extension AppDatabase {
    /// Reads the app's configuration, without its secrets; `nil` if the app has no configuration.
    /// - Throws: `ConfigurationError`, ``PosixError``.
    init?(of app: HostedApp, root: String = "") throws {
        let path = root + app.configurationFolder + "/syncd.json"
        guard AtomicFile.exists(path) else { return nil }
        let text = String(decoding: try TextFile.read(path), as: UTF8.self)
        self.init(try ServerConfiguration(proposed: text, withoutSecretsAt: path))
    }

    /// - Returns: `nil` if the configuration names no database.
    init?(_ configuration: ServerConfiguration) {
        guard let name = configuration.database.database else { return nil }
        let address: SetupAnswers.DatabaseAddress =
            switch configuration.database.address {
            case .unixSocket(let path): .socket(path)
            case .tcp(let host, let port): .tcp(host: host, port: Int(port))
            }
        self.init(
            address: address, name: name, owner: configuration.database.user,
            roles: configuration.roleAccounts.values.map(\.user))
    }
}
