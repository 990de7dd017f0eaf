/// The files below /etc/syncd/secrets.
public enum SecretName: String, Sendable, CaseIterable {
    case databasePassword = "database-password"
    case apiDatabasePassword = "database-password-api"
    case transferDatabasePassword = "database-password-transfer"
    case jobsDatabasePassword = "database-password-jobs"
    case sealingKey = "sealing-key"
    case google = "google-client-secret"
    case dropbox = "dropbox-app-secret"
    case microsoft = "microsoft-client-secret"
    case facebook = "facebook-client-secret"
    case apple = "apple-private-key"
    case apns = "apns-private-key"
    case fcm = "fcm-service-account"
    case sns = "aws-secret-key"

    /// The secrets of push services, one for each service.
    public static let ofPush: [SecretName] = [.apns, .fcm, .sns]

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
}
