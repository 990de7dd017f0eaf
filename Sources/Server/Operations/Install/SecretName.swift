import Providers
import Store

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

    /// All secrets that setup creates or copies.
    public static let all: [SecretName] =
        [.databasePassword, .sealingKey] + ofRoles
        + (Company.signIns.flatMap(\.settings) + Company.pushes.flatMap(\.settings)).compactMap(SecretName.init)

    /// The secret of a company's setting; `nil` if setup does not ask for the setting.
    init?(_ setting: Setting) {
        guard let name = setting.question?.fileName else { return nil }
        rawValue = name
    }

    /// The secret of the setting with this key; `nil` if setup does not ask for it.
    public init?(ofSetting key: String) {
        let settings = Company.signIns.flatMap(\.settings) + Company.pushes.flatMap(\.settings)
        guard let name = settings.first(where: { $0.key == key }).flatMap(SecretName.init) else { return nil }
        self = name
    }

    /// The passwords of the roles' own database accounts.
    public static let ofRoles: [SecretName] = [.apiDatabasePassword, .transferDatabasePassword, .jobsDatabasePassword]

    /// The role whose account has this password, by its name in the configuration; `nil` for other secrets.
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

/// Paths on a Debian host, for the app that this process manages.
public enum SetupPaths {
    private static var app: HostedApp { .current }

    public static var configurationFolder: String { app.configurationFolder }
    public static var configuration: String { configurationFolder + "/syncd.json" }
    public static var secrets: String { configurationFolder + "/secrets" }
    public static let nginxConfiguration = "/etc/nginx/nginx.conf"
    public static var site: String { "/etc/nginx/sites-available/\(app.siteName)" }
    public static var siteLink: String { "/etc/nginx/sites-enabled/\(app.siteName)" }
    /// The link's target.
    public static var siteLinkTarget: String { "../sites-available/\(app.siteName)" }
    /// Installed by the package.
    public static let siteTemplate = "/usr/share/syncserver/nginx/syncd.conf"
    /// Installed by the package `syncsandbox`.
    public static let sandboxSite = "/etc/nginx/sites-available/syncsandbox.conf"
    public static let sandboxSiteLink = "/etc/nginx/sites-enabled/syncsandbox.conf"
    public static let sandboxSiteLinkTarget = "../sites-available/syncsandbox.conf"
    /// The folder of this host's own certificate authority for one host name: its certificate and key, and the
    /// server's.
    public static func authority(of host: String) -> String { "\(authorities)/\(host)" }
    static var authorities: String { app.authorityFolder }
    public static var authorityTimer: String { app.unit("-authority.timer") }
    /// nginx's module nchan, from Debian's libnginx-mod-nchan.
    public static let nchan = "/usr/lib/nginx/modules/ngx_nchan_module.so"
    /// The files that nginx includes if it is to pass signals about changes on, and their texts.
    public static var signals: [(path: String, text: String)] { signals(of: app) }
    static func signals(of app: HostedApp) -> [(path: String, text: String)] {
        let text = AppText(app)
        return [("syncd_http", "syncd-changes-http"), ("syncd_locations", "syncd-changes")].map { name, file in
            (
                path: "/etc/nginx/syncd-changes/\(text.nginx(name)).conf",
                text: text.nginx("include syncd/\(file).conf;\n")
            )
        }
    }
    /// The socket of nginx's publisher, in a folder that systemd-tmpfiles(8) creates.
    public static var signalSocket: String { app.runtimeFolder + "/changes/publish.sock" }
    public static let webroot = "/var/www/html"
    public static var backupTimer: String { app.unit("-backup.timer") }
    public static var backupService: String { app.unit("-backup.service") }
    public static var target: String { app.unit(".target") }
    public static var service: String { app.unit(".service") }
    /// Created by systemctl(1) when it enables the timer.
    public static var backupTimerLink: String { "/etc/systemd/system/timers.target.wants/\(backupTimer)" }
    /// The folder of the processes' metrics; their units create it.
    public static var metrics: String { app.runtimeFolder + "/metrics" }
    /// The metrics page of all processes.
    public static var metricsURL: String { "http://127.0.0.1:9180/metrics" + (app.name.map { "/\($0)" } ?? "") }
    public static var apiSocket: String { app.runtimeFolder + "/api.sock" }
    public static var transferSocket: String { app.runtimeFolder + "/transfer.sock" }

    /// The path at which setup keeps the previous version of a replaced file; in the configuration's folder, which the
    /// package's removal empties.
    public static func previous(_ path: String) -> String {
        if path.hasPrefix(configurationFolder + "/") { return path + ".previous" }
        return "\(configurationFolder)/\(path.split(separator: "/").last ?? "file").previous"
    }
}
