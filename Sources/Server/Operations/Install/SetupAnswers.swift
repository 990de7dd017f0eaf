import HTTPTransport
public import Providers
import Store

/// An operator's answers about the server to set up. They contain no secrets: secrets are files.
public struct SetupAnswers: Sendable, Equatable {
    /// The answer for one setting of a company's service.
    public enum Answer: Sendable, Equatable {
        case text(String)
        case list([String])
        /// `nil` if the secret already exists in its place.
        case secret(SecretSource?)

        /// - Parameters:
        ///   - text: the value; several values separated by spaces; for a secret, the path of a file.
        ///   - name: the operator's name for the answer: an option, or the setting's key.
        public init(_ text: String, to question: SetupQuestion, givenBy name: String) {
            self =
                switch question.answer {
                case .typed: .text(text)
                case .list: .list(text.split(separator: " ").map(String.init))
                case .hidden, .file: .secret(.file(text, givenBy: name))
                }
        }

        /// The value in a configuration; `nil` if it does not have the setting. For a secret, only its existence.
        public init?(_ setting: Setting, of values: SettingValues) {
            switch setting.kind {
            case .texts, .servers: self = .list(values.list(setting))
            case .secret:
                guard values.secret(setting) != nil else { return nil }
                self = .secret(nil)
            case .text, .redirectURI:
                guard let text = values.optionalText(setting) else { return nil }
                self = .text(text)
            case .bool: return nil
            }
        }
    }

    /// The source of a secret.
    public enum SecretSource: Sendable, Equatable {
        /// The operator's file, with the option or setting that names it, for messages.
        case file(String, givenBy: String? = nil)
        /// Typed in; the caller keeps it under this name.
        case typed(String)
        /// A publicly known secret: the sandbox's.
        case wellKnown(String)
    }

    public enum DatabaseAddress: Sendable, Equatable {
        case socket(String)
        case tcp(host: String, port: Int)
    }

    /// The source of nginx's certificate.
    public enum Certificate: Sendable, Equatable {
        /// From Let's Encrypt, through certbot; files where certbot stores them.
        case letsEncrypt
        case files(certificate: String, key: String)
        /// From this host's own authority, for a trial; files below ``SetupPaths/authority(of:)``.
        case ownAuthority
    }

    /// The parameters with which certbot requests a certificate, for an operator who agrees to the authority's terms.
    public struct CertificateRequest: Sendable, Equatable {
        /// The address for the authority's notices.
        public var mailAddress: String?
        /// The URL of the authority's directory (RFC 8555); `nil` for certbot's default.
        public var directory: String?

        public init(mailAddress: String? = nil, directory: String? = nil) {
            self.mailAddress = mailAddress
            self.directory = directory
        }
    }

    /// The address of the sandbox: the package `syncsandbox` on this host.
    public struct Sandbox: Sendable, Equatable {
        public var connectTo: String
        public var caFile: String

        public init(connectTo: String, caFile: String) {
            self.connectTo = connectTo
            self.caFile = caFile
        }
    }

    /// The DNS name by which phones reach the server.
    public var host = ""
    /// The address by which phones reach the server, if it differs from ``host`` because of another proxy in front.
    public var publicURL: String?
    /// The addresses and networks of load balancers that send the PROXY protocol; empty if there are none, `nil` if
    /// left open.
    public var balancers: [String]?
    public var certificate = Certificate.letsEncrypt
    /// `nil` if the operator requests the certificate.
    public var certificateRequest: CertificateRequest?
    /// Whether programs on this host should trust the host's own authority, and resolve the name if DNS does not.
    public var trustsOwnAuthority = false
    /// Whether to change `nginx.conf` so that nginx's processes accept more connections than Debian's default.
    public var raisesNginxConnections = false
    /// Whether nginx passes signals about changes to listeners, which requires its module nchan.
    public var passesSignals = false
    public var database = DatabaseAddress.socket("/run/mysqld/mysqld.sock")
    public var databaseName = HostedApp.current.databaseName
    public var databaseUser = HostedApp.current.databaseUser
    /// Whether each role of the server gets its own database account, with the privileges that it needs.
    public var usesRoleAccounts = false
    /// Answers for companies' services, by the keys of their settings. A service is set up if it has any answer.
    public var settings: [String: Answer] = [:]
    public var sandbox: Sandbox?
    /// Whether to make a backup every hour.
    public var makesBackups = false

    public init() {}

    /// The default URL of a server with this name.
    static func usualURL(ofHost host: String) -> String { "https://\(host)" }

    /// Whether to set up the service with these settings.
    public func has(_ settings: [Setting]) -> Bool { settings.contains { self.settings[$0.key] != nil } }

    /// Whether there is an account type with storage.
    public var hasStorage: Bool { Company.signIns.contains { $0.storage != nil && has($0.settings) } }

    /// The database account of a role.
    public func databaseUser(ofRole role: String) -> String { "\(databaseUser)_\(role)" }

    /// Whether there is a push service.
    public var hasPush: Bool { Company.pushes.contains { has($0.settings) } }

    /// Problems with the answers, as sentences; empty if they are sufficient for a plan.
    public func problems() -> [String] {
        var problems: [String] = []
        if let objection = Self.objection(toHost: host) {
            problems.append("the host \(objection); \"\(host)\" is not")
        }
        for balancer in balancers ?? [] where !Self.isNetwork(balancer) {
            problems.append(
                "give a load balancer's address or network, such as 192.0.2.7 or 192.0.2.0/24, instead of "
                    + "\"\(balancer)\""
            )
        }
        if let publicURL, ServerAddress(publicURL) == nil {
            problems.append(
                "the public address must be an address such as https://sync.example.com; \"\(publicURL)\" is not")
        }
        for (what, name) in [("database", databaseName), ("database user", databaseUser)]
        where name.isEmpty || name.utf8.count > 64
            || !name.utf8.allSatisfy({ Self.isAlphanumeric($0) || $0 == UInt8(ascii: "_") })
        {
            problems.append("the name of the \(what) must have 1 to 64 letters, digits and _; \"\(name)\" does not")
        }
        if case .files(let certificate, let key) = certificate {
            for path in [certificate, key] {
                guard let objection = Self.objection(toSitePath: path) else { continue }
                problems.append("certificate and key \(objection); \"\(path)\" is not")
            }
        }
        return problems
    }

    /// The objection to a host name, as the end of a sentence, or `nil`.
    public static func objection(toHost host: String) -> String? {
        if host.contains("://") || host.contains("/") || host.contains(":") {
            return "must be only a name, without https://, port and path, such as sync.example.com"
        }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        let isName = labels.allSatisfy { label in
            !label.isEmpty && label.utf8.count <= 63 && !label.hasPrefix("-") && !label.hasSuffix("-")
                && label.utf8.allSatisfy { isAlphanumeric($0) || $0 == UInt8(ascii: "-") }
        }
        guard isName, host.utf8.count <= 253 else { return "must be a DNS name, such as sync.example.com" }
        // No top-level domain is a number (RFC 3696, section 2).
        let isAddress = labels.last?.utf8.allSatisfy { (0x30...0x39).contains($0) } == true
        return isAddress ? "must be a DNS name, such as sync.example.com, not an address" : nil
    }

    /// The objection to a path for nginx's configuration, where quotation marks and braces have a special meaning; as
    /// the end of a sentence, `nil` if there is none.
    public static func objection(toSitePath path: String) -> String? {
        path.hasPrefix("/") && path.utf8.allSatisfy { isAlphanumeric($0) || "-._/+@".utf8.contains($0) }
            ? nil : "must be absolute paths without blanks"
    }

    /// Whether a text can be an address or a network; nginx makes the final check.
    private static func isNetwork(_ text: String) -> Bool {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let address = parts.first, parts.count <= 2, address.contains(where: { ".:".contains($0) }),
            address.allSatisfy({ $0.isASCII && ($0.isHexDigit || ".:".contains($0)) })
        else { return false }
        return parts.count == 1 || Int(parts[1]).map { (0...128).contains($0) } == true
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }
}

extension SetupAnswers {
    /// Uses the apps that are registered in the sandbox; they are fixed and not secret. docs/sandbox.md lists them.
    public mutating func useSandbox() {
        settings = [:]
        for setting in Company.signIns.flatMap(\.settings) {
            guard let question = setting.question, let value = question.sandboxValue else { continue }
            settings[setting.key] =
                switch question.answer {
                case .typed: .text(value)
                case .list: .list([value])
                case .hidden, .file: .secret(.wellKnown(value))
                }
        }
        sandbox = Sandbox(connectTo: "127.0.0.1:9443", caFile: "/etc/syncsandbox/ca.pem")
    }
}
