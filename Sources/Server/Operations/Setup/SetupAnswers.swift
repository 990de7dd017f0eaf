import HTTPTransport
public import Providers
import Store

/// An operator's answers about the server to be set up. They contain no secret: secrets are files.
public struct SetupAnswers: Sendable, Equatable {
    /// The answer about one setting of a company's service.
    public enum Answer: Sendable, Equatable {
        case text(String)
        case list([String])
        /// `nil` where the secret is in its place already.
        case secret(SecretSource?)

        /// - Parameters:
        ///   - text: several values have blanks between them; of a secret, it is the path of a file.
        ///   - name: what the operator knows the answer by: an option, or the setting's key.
        public init(_ text: String, to question: SetupQuestion, givenBy name: String) {
            self =
                switch question.answer {
                case .typed: .text(text)
                case .list: .list(text.split(separator: " ").map(String.init))
                case .hidden, .file: .secret(.file(text, givenBy: name))
                }
        }

        /// What a configuration says; `nil` if it does not have the setting. Of a secret only that it is there.
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

    /// Where a secret comes from.
    public enum SecretSource: Sendable, Equatable {
        /// A file of the operator's; with the option or setting that names it, for messages.
        case file(String, givenBy: String? = nil)
        /// Typed in; the asking code keeps it under this name.
        case typed(String)
        /// A publicly known one: the sandbox's.
        case wellKnown(String)
    }

    public enum DatabaseAddress: Sendable, Equatable {
        case socket(String)
        case tcp(host: String, port: Int)
    }

    /// How nginx gets its certificate.
    public enum Certificate: Sendable, Equatable {
        /// From Let's Encrypt, through certbot; files where certbot puts them.
        case letsEncrypt
        case files(certificate: String, key: String)
        /// From an authority of this host's own, for a trial; files below ``SetupPaths/authority(of:)``.
        case ownAuthority
    }

    /// How certbot is to ask for a certificate, for an operator who agrees to the authority's terms.
    public struct CertificateRequest: Sendable, Equatable {
        /// Whom the authority may write to.
        public var mailAddress: String?
        /// The URL of the authority's directory (RFC 8555); `nil` for the one that certbot knows.
        public var directory: String?

        public init(mailAddress: String? = nil, directory: String? = nil) {
            self.mailAddress = mailAddress
            self.directory = directory
        }
    }

    /// Where the sandbox is: the package `syncsandbox` of this host.
    public struct Sandbox: Sendable, Equatable {
        public var connectTo: String
        public var caFile: String

        public init(connectTo: String, caFile: String) {
            self.connectTo = connectTo
            self.caFile = caFile
        }
    }

    /// The name in DNS by which phones reach the server.
    public var host = ""
    /// The address by which phones reach the server, if it is not that of ``host``: another proxy is in front.
    public var publicURL: String?
    /// The load balancers, by addresses and networks, that send the PROXY protocol; empty if none does, `nil` if that is open.
    public var balancers: [String]?
    public var certificate = Certificate.letsEncrypt
    /// `nil` if the operator asks for the certificate himself.
    public var certificateRequest: CertificateRequest?
    /// Whether programs on this host are to trust an authority of its own, and to find the name if DNS has none.
    public var trustsOwnAuthority = false
    /// Whether nginx's processes are to take more connections than Debian's default, by a change of `nginx.conf`.
    public var raisesNginxConnections = false
    public var database = DatabaseAddress.socket("/run/mysqld/mysqld.sock")
    public var databaseName = HostedApp.current.databaseName
    public var databaseUser = HostedApp.current.databaseUser
    /// Whether each role of the server gets its own database account, with the privileges that it needs.
    public var usesRoleAccounts = false
    /// Answers about companies' services, by the keys of their settings. A service is set up if there is any about it.
    public var settings: [String: Answer] = [:]
    public var sandbox: Sandbox?
    /// Whether a backup is to be made every hour.
    public var makesBackups = false

    public init() {}

    /// Where a server with this name is unless the operator says otherwise.
    static func usualURL(ofHost host: String) -> String { "https://\(host)" }

    /// Whether the service with these settings is to be set up.
    public func has(_ settings: [Setting]) -> Bool { settings.contains { self.settings[$0.key] != nil } }

    /// Whether there is an account type that brings storage.
    public var hasStorage: Bool { Company.signIns.contains { $0.makeStorage != nil && has($0.settings) } }

    /// The database account of a role.
    public func databaseUser(ofRole role: String) -> String { "\(databaseUser)_\(role)" }

    /// Whether there is any push service.
    public var hasPush: Bool { Company.pushes.contains { has($0.settings) } }

    /// What is wrong with the answers, as sentences; empty if a plan can be made of them.
    public func problems() -> [String] {
        var problems: [String] = []
        if let objection = Self.objection(toHost: host) {
            problems.append("the host \(objection); \"\(host)\" is none")
        }
        for balancer in balancers ?? [] where !Self.isNetwork(balancer) {
            problems.append(
                "give a load balancer's address or network, such as 192.0.2.7 or 192.0.2.0/24, instead of \"\(balancer)\""
            )
        }
        if let publicURL, ServerAddress(publicURL) == nil {
            problems.append(
                "the public address must be an address such as https://sync.example.com; \"\(publicURL)\" is none")
        }
        for (what, name) in [("database", databaseName), ("database user", databaseUser)]
        where name.isEmpty || name.utf8.count > 64
            || !name.utf8.allSatisfy({ Self.isAlphanumeric($0) || $0 == UInt8(ascii: "_") })
        {
            problems.append("the name of the \(what) may have letters, digits and _, at most 64; \"\(name)\" is none")
        }
        if case .files(let certificate, let key) = certificate {
            for path in [certificate, key] {
                guard let objection = Self.objection(toSitePath: path) else { continue }
                problems.append("certificate and key \(objection); \"\(path)\" is none")
            }
        }
        return problems
    }

    /// What is wrong with a host's name, as the end of a sentence; `nil` if nothing is.
    public static func objection(toHost host: String) -> String? {
        if host.contains("://") || host.contains("/") || host.contains(":") {
            return "must be a name alone, without https://, port and path, such as sync.example.com"
        }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        let isName = labels.allSatisfy { label in
            !label.isEmpty && label.utf8.count <= 63 && !label.hasPrefix("-") && !label.hasSuffix("-")
                && label.utf8.allSatisfy { isAlphanumeric($0) || $0 == UInt8(ascii: "-") }
        }
        guard isName, host.utf8.count <= 253 else { return "must be a name in DNS, such as sync.example.com" }
        // No top-level domain is a number (RFC 3696, section 2).
        let isAddress = labels.last?.utf8.allSatisfy { (0x30...0x39).contains($0) } == true
        return isAddress ? "must be a name in DNS, such as sync.example.com, and no address" : nil
    }

    /// What is wrong with a path that goes into nginx's configuration, where a quotation mark or a brace would mean
    /// something else; as the end of a sentence, `nil` if nothing is.
    public static func objection(toSitePath path: String) -> String? {
        path.hasPrefix("/") && path.utf8.allSatisfy { isAlphanumeric($0) || "-._/+@".utf8.contains($0) }
            ? nil : "must be absolute paths without blanks"
    }

    /// Whether a text may be an address or a network; nginx knows for certain.
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
