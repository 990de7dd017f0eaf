import FoundationEssentials
import Synchronization

/// One of the apps that a host serves: the package's own, or one that was added beside it with a name.
///
/// Each has its own configuration, secrets, database, users of the system, units and folders. What the package calls
/// `syncd` is called `syncd-NAME` for an added app; below `/etc/syncd` and `/run/syncd` it has a folder of its name.
public struct HostedApp: Hashable, Sendable {
    /// The app that the package is for if nobody names one.
    public static let package = HostedApp(known: nil)
    /// What an operator calls ``package``.
    public static let packageName = "default"
    /// The variable of the environment that names the app, for `syncctl` and for the units of an added app.
    public static let variable = "SYNCD_APP"
    /// Names that would be those of folders, units and accounts of the package's app.
    static let reserved: Set<String> = [
        packageName, "syncd", "api", "transfer", "jobs", "backup", "secrets", "metrics", "maintenance", "authority",
        "apps",
    ]
    private static let maximumLength = 16

    /// `nil` for the package's app.
    public let name: String?

    private init(known name: String?) { self.name = name }

    /// `nil` if ``objection(to:)`` has one.
    public init?(_ name: String) {
        guard Self.objection(to: name) == nil else { return nil }
        self.init(known: name == Self.packageName ? nil : name)
    }

    /// What is wrong with a name, as a sentence; `nil` if nothing is.
    ///
    /// The name becomes part of names in systemd, nginx, MariaDB and the system's users, so all that it may consist of
    /// has no meaning in any of them.
    public static func objection(to name: String) -> String? {
        let rule = "an app's name has 1 to \(maximumLength) small letters and digits, and begins with a letter"
        guard (1...maximumLength).contains(name.utf8.count), name.utf8.allSatisfy(isPlain),
            name.utf8.first.map({ $0 >= UInt8(ascii: "a") }) == true
        else { return "\(rule); \"\(name)\" is none" }
        guard name == packageName || !reserved.contains(name) else {
            return "an app cannot be called \(name), as the package's app has things of that name"
        }
        return nil
    }

    static func isPlain(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static let chosen = Mutex<HostedApp?>(nil)

    /// The app that this process is about: the one that was chosen, else the one that ``variable`` names.
    ///
    /// A name that is none stops the process: it must not work on another app instead.
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

    /// Names the app that this process is about; before anything asks for it.
    public static func choose(_ app: HostedApp) { chosen.withLock { $0 = app } }

    /// What an operator calls it.
    public var label: String { name ?? Self.packageName }

    // MARK: Names and places

    /// What its units, its users, and its folders outside of `/etc/syncd` and `/run/syncd` begin with.
    public var prefix: String { name.map { "syncd-\($0)" } ?? "syncd" }

    public var configurationFolder: String { "/etc/syncd" + folder }
    /// With its sockets, made by systemd.
    public var runtimeFolder: String { "/run/syncd" + folder }
    public var stateFolder: String { "/var/lib/\(prefix)" }
    /// With a folder for each host name of a trial.
    public var authorityFolder: String { stateFolder + "/authority" }
    /// Where its last backup is noted; everybody may read it.
    public var backupRecordFolder: String { stateFolder + "/backup" }
    /// Where nginx looks whether the app is closed on this host.
    public var maintenanceFolder: String { stateFolder + "/maintenance" }
    public var backupFolder: String { "/var/backups/\(prefix)" }
    /// The name of nginx's site. That of the package's app comes before all others, as nginx asks the first one for names
    /// that nobody has.
    public var siteName: String { name.map { "syncd_\($0).conf" } ?? "syncd.conf" }
    public var logFolder: String { "/var/log/\(prefix)" }

    /// A unit's name, from what follows the prefix: `unit("-api@1.service")`.
    public func unit(_ rest: String) -> String { prefix + rest }

    /// The database's name unless the operator chooses another one.
    public var databaseName: String { name.map { "syncserver_\($0)" } ?? "syncserver" }
    /// The name of the database's owner; those of the roles have an underscore and the role behind it.
    public var databaseUser: String { name.map { "syncd_\($0)" } ?? "syncd" }

    /// How `syncctl` is called for it.
    public var command: String { name.map { "syncctl --app \($0)" } ?? "syncctl" }

    private var folder: String { name.map { "/\($0)" } ?? "" }
}
