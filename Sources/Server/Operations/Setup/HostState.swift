/// What is on a host before setup begins.
public struct HostState: Sendable, Equatable {
    /// What the configuration says that setup may be asked to change.
    public struct Configuration: Sendable, Equatable {
        /// Of the services in use, by the keys of their settings; of a secret only that there is one.
        public var values: [String: SetupAnswers.Answer] = [:]
        /// The files that it names, by the keys of the secrets.
        public var secretFiles: [String: String] = [:]
        /// The keys of the account types with which people may sign in.
        public var enablingKeys: Set<String> = []
        /// Whether it says where metrics are kept, or that there are none.
        public var hasMetrics = false
        /// Whether metrics are kept.
        public var keepsMetrics = false
        public var hasSandbox = false
        /// Without a slash at its end.
        public var publicURL: String?

        public init() {}
    }

    /// The database server as the administrator sees it.
    public struct Database: Sendable, Equatable {
        public var hasDatabase: Bool
        public var hasUser: Bool
        /// Roles whose accounts exist, by the secrets with their passwords.
        public var roleUsers: Set<SecretName>

        public init(hasDatabase: Bool, hasUser: Bool, roleUsers: Set<SecretName> = []) {
            self.hasDatabase = hasDatabase
            self.hasUser = hasUser
            self.roleUsers = roleUsers
        }
    }

    /// `nil` if there is no configuration yet.
    public var configuration: Configuration?
    /// Which secrets are in their places.
    public var secrets: Set<SecretName> = []
    /// Of these, the ones for which the answers have another one.
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
    /// Whether programs on this host trust its own authority, if it has one for the host of the answers, and find the name.
    public var trustsOwnAuthority = false
    public var knowsName = true
    /// Contents of `nginx.conf`.
    public var nginxConfiguration = ""
    /// How many connections each of nginx's processes accepts; `nil` if its configuration does not say so.
    public var nginxConnections: Int?
    /// The template that the package installs.
    public var siteTemplate = ""
    /// Whether certificate and key are where the answers say.
    public var hasCertificate = false
    /// Whether that certificate names an OCSP responder.
    public var certificateNamesResponder = false
    /// Whether the timer of the backups is enabled.
    public var makesBackups = false
    /// Whether what runs started before the configuration or a secret was changed.
    public var hasUnreadChanges = false
    public var otherApps: [OtherApp] = []
    /// Hosts' names whose authority this host trusts, or that it finds by `/etc/hosts`, because of a trial, this one or one before.
    public var trials: Set<String> = []
    /// `nil` if setup is to leave database and user alone.
    public var database: Database?

    public init() {}
}
