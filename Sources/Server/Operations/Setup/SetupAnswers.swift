public import Providers

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
    public var certificate = Certificate.letsEncrypt
    public var database = DatabaseAddress.socket("/run/mysqld/mysqld.sock")
    public var databaseName = "syncserver"
    public var databaseUser = "syncd"
    /// Whether each role of the server gets its own database account, with the privileges that it needs.
    public var usesRoleAccounts = false
    /// Answers about companies' services, by the keys of their settings. A service is set up if there is any about it.
    public var settings: [String: Answer] = [:]
    public var sandbox: Sandbox?

    public init() {}

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
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        let isName = labels.allSatisfy { label in
            !label.isEmpty && label.utf8.count <= 63 && !label.hasPrefix("-") && !label.hasSuffix("-")
                && label.utf8.allSatisfy { Self.isAlphanumeric($0) || $0 == UInt8(ascii: "-") }
        }
        if !isName || host.utf8.count > 253 {
            problems.append("the host must be a name in DNS, such as sync.example.com; \"\(host)\" is none")
        }
        for (what, name) in [("database", databaseName), ("database user", databaseUser)]
        where name.isEmpty || name.utf8.count > 64
            || !name.utf8.allSatisfy({ Self.isAlphanumeric($0) || $0 == UInt8(ascii: "_") })
        {
            problems.append("the name of the \(what) may have letters, digits and _, at most 64; \"\(name)\" is none")
        }
        // These go into nginx's configuration, where a quotation mark or a brace would mean something else.
        if case .files(let certificate, let key) = certificate {
            for path in [certificate, key]
            where !path.hasPrefix("/")
                || !path.utf8.allSatisfy({ Self.isAlphanumeric($0) || "-._/+@".utf8.contains($0) })
            {
                problems.append("certificate and key must be absolute paths without blanks; \"\(path)\" is none")
            }
        }
        return problems
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }
}
