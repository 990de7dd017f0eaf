/// What is on a host before setup begins.
public struct HostState: Sendable, Equatable {
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

    public var hasConfiguration = false
    /// The push services that the configuration has, by their sections.
    public var configuredPush: Set<String> = []
    /// Which secrets are in their places.
    public var secrets: Set<SecretName> = []
    /// Whether the folder of secrets exists.
    public var hasSecretsFolder = false
    /// Contents of nginx's site; `nil` if there is none.
    public var site: String?
    public var isSiteEnabled = false
    /// Whether the package `syncsandbox` is installed.
    public var hasSandboxSite = false
    public var isSandboxSiteEnabled = false
    /// How many connections each of nginx's processes accepts; `nil` if its configuration does not say so.
    public var nginxConnections: Int?
    /// The template that the package installs.
    public var siteTemplate = ""
    /// Whether certificate and key are where the answers say.
    public var hasCertificate = false
    /// Whether that certificate names an OCSP responder.
    public var certificateNamesResponder = false
    /// `nil` if setup is to leave database and user alone.
    public var database: Database?

    public init() {}
}
