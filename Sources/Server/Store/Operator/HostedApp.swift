import FoundationEssentials
import Synchronization

/// One of the apps that a host serves: the package's own, or a named one that was added alongside it.
///
/// Each has its own configuration, secrets, database, system users, units and folders. What the package calls `syncd`
/// is called `syncd-NAME` for an added app; below `/etc/syncd` and `/run/syncd` it has a folder with its name.
public struct HostedApp: Hashable, Sendable {
    /// The package's app, used if no other is named.
    public static let package = HostedApp(known: nil)
    /// The operator's name for ``package``.
    public static let packageName = "default"
    /// The environment variable that names the app, for `syncctl` and for the units of an added app.
    public static let variable = "SYNCD_APP"
    /// Names that would collide with folders, units and accounts of the package's app.
    static let reserved: Set<String> = [
        packageName, "syncd", "api", "transfer", "jobs", "backup", "secrets", "metrics", "changes", "maintenance",
        "authority",
        "apps",
    ]
    private static let maximumLength = 16

    /// `nil` for the package's app.
    public let name: String?

    private init(known name: String?) { self.name = name }

    /// `nil` if ``objection(to:)`` rejects the name.
    public init?(_ name: String) {
        guard Self.objection(to: name) == nil else { return nil }
        self.init(known: name == Self.packageName ? nil : name)
    }

    /// Why a name is invalid, as a sentence; `nil` if it is valid.
    ///
    /// The name becomes part of names in systemd, nginx, MariaDB and the system's users, so it may only contain
    /// characters without a special meaning in any of them.
    public static func objection(to name: String) -> String? {
        let rule = "an app's name must have 1 to \(maximumLength) lowercase letters and digits, and begin with a letter"
        guard (1...maximumLength).contains(name.utf8.count), name.utf8.allSatisfy(isPlain),
            name.utf8.first.map({ $0 >= UInt8(ascii: "a") }) == true
        else { return "\(rule); \"\(name)\" does not" }
        guard name == packageName || !reserved.contains(name) else {
            return "an app cannot be called \(name): the package's app uses that name"
        }
        return nil
    }

    static func isPlain(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static let chosen = Mutex<HostedApp?>(nil)

    /// The app that this process works on: the chosen one, or else the one that ``variable`` names.
    ///
    /// An invalid name stops the process, so that it does not work on another app instead.
    public static var current: HostedApp {
        chosen.withLock { chosen in
            if let chosen { return chosen }
            let name = ProcessInfo.processInfo.environment[variable] ?? ""
            guard let app = name.isEmpty ? package : HostedApp(name) else {
                preconditionFailure("\(variable): \(objection(to: name) ?? name)")
            }
            chosen = app
            return app
        }
    }

    /// Sets the app that this process works on; call before ``current`` is first read.
    public static func choose(_ app: HostedApp) { chosen.withLock { $0 = app } }

    /// The operator's name for it.
    public var label: String { name ?? Self.packageName }

    // MARK: Names and places

    /// The prefix of its units, its users, and its folders outside of `/etc/syncd` and `/run/syncd`.
    public var prefix: String { name.map { "syncd-\($0)" } ?? "syncd" }

    public var configurationFolder: String { "/etc/syncd" + folder }
    /// Contains its sockets, created by systemd.
    public var runtimeFolder: String { "/run/syncd" + folder }
    public var stateFolder: String { "/var/lib/\(prefix)" }
    /// Contains a folder for each host name of a trial.
    public var authorityFolder: String { stateFolder + "/authority" }
    /// Contains the record of its last backup; readable by everyone.
    public var backupRecordFolder: String { stateFolder + "/backup" }
    /// Where nginx checks whether the app is closed on this host.
    public var maintenanceFolder: String { stateFolder + "/maintenance" }
    public var backupFolder: String { "/var/backups/\(prefix)" }
    /// The name of nginx's site. The site of the package's app sorts before all others, because nginx uses the first
    /// one for unknown host names.
    public var siteName: String { name.map { "syncd_\($0).conf" } ?? "syncd.conf" }
    public var logFolder: String { "/var/log/\(prefix)" }

    /// A unit's name, from the part after the prefix: `unit("-api@1.service")`.
    public func unit(_ rest: String) -> String { prefix + rest }

    /// The database's name unless the operator chooses a different one.
    public var databaseName: String { name.map { "syncserver_\($0)" } ?? "syncserver" }
    /// The name of the database's owner; the roles' accounts append an underscore and the role.
    public var databaseUser: String { name.map { "syncd_\($0)" } ?? "syncd" }

    /// The `syncctl` command for it.
    public var command: String { name.map { "syncctl --app \($0)" } ?? "syncctl" }

    private var folder: String { name.map { "/\($0)" } ?? "" }
}
