/// The state of a host before setup begins.
public struct HostState: Sendable, Equatable {
    /// The settings in the configuration that setup can change.
    public struct Configuration: Sendable, Equatable {
        /// The settings of the services in use, by key; for a secret, only its existence.
        public var values: [String: SetupAnswers.Answer] = [:]
        /// The configured secret files, by the keys of the secrets.
        public var secretFiles: [String: String] = [:]
        /// The keys of the account types that can sign in.
        public var enablingKeys: Set<String> = []
        /// Whether it sets or disables the metrics.
        public var hasMetrics = false
        /// Whether metrics are enabled.
        public var keepsMetrics = false
        public var hasSandbox = false
        /// Without a trailing slash.
        public var publicURL: String?

        public init() {}
    }

    /// The database server as the administrator sees it.
    public struct Database: Sendable, Equatable {
        public var hasDatabase: Bool
        public var hasUser: Bool
        /// The existing role accounts, by the secrets with their passwords.
        public var roleUsers: Set<SecretName>

        public init(hasDatabase: Bool, hasUser: Bool, roleUsers: Set<SecretName> = []) {
            self.hasDatabase = hasDatabase
            self.hasUser = hasUser
            self.roleUsers = roleUsers
        }
    }

    /// `nil` without a configuration.
    public var configuration: Configuration?
    /// The existing secrets.
    public var secrets: Set<SecretName> = []
    /// The existing secrets that the answers replace.
    public var replacedSecrets: Set<SecretName> = []
    /// Whether the folder of secrets exists.
    public var hasSecretsFolder = false
    /// Contents of nginx's site; `nil` if there is none.
    public var site: String?
    public var isSiteEnabled = false
    /// Whether the package `syncsandbox` is installed.
    public var hasSandboxSite = false
    public var isSandboxSiteEnabled = false
    /// The form in which the installed nginx expects HTTP/2 to be configured.
    public var http2Form = HTTP2Form.parameter
    /// Whether programs on this host trust its own authority for the host of the answers, and resolve the name.
    public var trustsOwnAuthority = false
    public var knowsName = true
    /// Contents of `nginx.conf`.
    public var nginxConfiguration = ""
    /// The limit of connections for each nginx process; `nil` if nginx's configuration does not set it.
    public var nginxConnections: Int?
    /// The template that the package installs.
    public var siteTemplate = ""
    /// Whether the answers' certificate and key exist.
    public var hasCertificate = false
    /// Whether that certificate names an OCSP responder.
    public var certificateNamesResponder = false
    /// Whether the timer of the backups is enabled.
    public var makesBackups = false
    /// Whether running processes started before the configuration or a secret was changed.
    public var hasUnreadChanges = false
    public var otherApps: [OtherApp] = []
    /// Host names of this or an earlier trial whose authority this host trusts, or that it resolves through
    /// `/etc/hosts`.
    public var trials: Set<String> = []
    /// `nil` if setup must not change database and user.
    public var database: Database?

    public init() {}
}
