import Store

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
        /// Whether it names nginx's publisher of signals about changes.
        public var hasChangeSignal = false
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
    /// Contents of nginx's site, or `nil`.
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
    /// The connection limit of each nginx process; `nil` if nginx's configuration does not set it.
    public var nginxConnections: Int?
    /// Whether nginx's module nchan is installed.
    public var hasNchan = false
    /// Whether nginx is configured to publish signals about changes.
    public var passesSignals = false
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

/// The answers of the last setup, read from nginx's site.
public struct SitePresence: Sendable, Equatable {
    /// The first name that it serves; `nil` without a site or a name.
    public private(set) var host: String?
    /// `nil` if it serves only plain HTTP.
    public private(set) var certificate: SetupAnswers.Certificate?
    /// The load balancers from which it accepts the PROXY protocol.
    public private(set) var balancers: [String] = []
    /// Whether it has the page for this host's monitoring.
    public private(set) var isMonitored = false

    /// - Parameter site: the text of `sites-available/syncd.conf`.
    public init(_ site: String) {
        let directives = NginxDirective.read(NginxFiles(dump: "# configuration file site:\n\(site)"))
        let servers = directives.filter { $0.name == "server" }.map(\.block)
        let served = servers.first { $0.value("ssl_certificate") != nil } ?? servers.first
        host = served?.value("server_name")
        if let host, let file = served?.value("ssl_certificate"), let key = served?.value("ssl_certificate_key") {
            let usual: [SetupAnswers.Certificate] = [.letsEncrypt, .ownAuthority]
            certificate =
                usual.first { SiteText.files(of: $0, host: host) == (file, key) } ?? .files(certificate: file, key: key)
        }
        if let served, served.all("listen").contains(where: { $0.contains("proxy_protocol") }) {
            balancers = served.all("set_real_ip_from").compactMap(\.first)
        }
        // The site of the package's app contains the pages of added apps.
        isMonitored =
            HostedApp.current.name != nil
            || site.split(separator: "\n").contains { line in
                line.split(whereSeparator: { " \t".contains($0) }).elementsEqual([
                    "include", "syncd/syncd-metrics.conf;",
                ])
            }
    }
}
