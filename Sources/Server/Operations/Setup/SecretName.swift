import Providers

/// A file below /etc/syncd/secrets.
public struct SecretName: RawRepresentable, Hashable, Sendable {
    /// The file's name.
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public static let databasePassword = SecretName(rawValue: "database-password")
    public static let apiDatabasePassword = SecretName(rawValue: "database-password-api")
    public static let transferDatabasePassword = SecretName(rawValue: "database-password-transfer")
    public static let jobsDatabasePassword = SecretName(rawValue: "database-password-jobs")
    public static let sealingKey = SecretName(rawValue: "sealing-key")

    /// All secrets that setup makes or copies.
    public static let all: [SecretName] =
        [.databasePassword, .sealingKey] + ofRoles
        + (Company.signIns.flatMap(\.settings) + Company.pushes.flatMap(\.settings)).compactMap(SecretName.init)

    /// The secret of a company's setting; `nil` if the setting is none that setup asks for.
    init?(_ setting: Setting) {
        guard let name = setting.question?.fileName else { return nil }
        rawValue = name
    }

    /// The secret of the setting with this key; `nil` if it is none that setup asks for.
    public init?(ofSetting key: String) {
        let settings = Company.signIns.flatMap(\.settings) + Company.pushes.flatMap(\.settings)
        guard let name = settings.first(where: { $0.key == key }).flatMap(SecretName.init) else { return nil }
        self = name
    }

    /// The passwords of the roles' own accounts in the database.
    public static let ofRoles: [SecretName] = [.apiDatabasePassword, .transferDatabasePassword, .jobsDatabasePassword]

    /// The role whose account it is for, as the configuration names it; `nil` for other secrets.
    public var role: String? {
        switch self {
        case .apiDatabasePassword: "api"
        case .transferDatabasePassword: "transfer"
        case .jobsDatabasePassword: "jobs"
        default: nil
        }
    }

    /// Its path.
    public var path: String { SetupPaths.secrets + "/" + rawValue }
}

/// Where things are on a Debian host.
public enum SetupPaths {
    public static let configurationFolder = "/etc/syncd"
    public static let configuration = "/etc/syncd/syncd.json"
    public static let secrets = "/etc/syncd/secrets"
    public static let site = "/etc/nginx/sites-available/syncd.conf"
    public static let siteLink = "/etc/nginx/sites-enabled/syncd.conf"
    /// The link's target.
    public static let siteLinkTarget = "../sites-available/syncd.conf"
    /// From the package.
    public static let siteTemplate = "/usr/share/syncserver/nginx/syncd.conf"
    /// From the package `syncsandbox`.
    public static let sandboxSite = "/etc/nginx/sites-available/syncsandbox.conf"
    public static let sandboxSiteLink = "/etc/nginx/sites-enabled/syncsandbox.conf"
    public static let sandboxSiteLinkTarget = "../sites-available/syncsandbox.conf"
    public static let webroot = "/var/www/html"
    public static let backupTimer = "syncd-backup.timer"
    /// Made by systemctl(1) when it enables the timer.
    public static let backupTimerLink = "/etc/systemd/system/timers.target.wants/syncd-backup.timer"
    /// Where the server's processes keep their metrics; their units make it.
    public static let metrics = "/run/syncd/metrics"

    /// Where setup keeps a file as it was, when it replaces it; below the configuration's folder, which the removal of the
    /// package empties.
    public static func previous(_ path: String) -> String {
        if path.hasPrefix(configurationFolder + "/") { return path + ".previous" }
        return "\(configurationFolder)/\(path.split(separator: "/").last ?? "file").previous"
    }
}
