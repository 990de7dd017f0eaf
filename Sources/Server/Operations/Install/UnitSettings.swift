import Store

/// The systemd settings of one role's units in addition to the package's: the secrets that systemd passes on, and the
/// networks that it blocks. Both derive from the configuration.
public struct UnitSettings: Sendable, Equatable {
    /// The settings of the unit that makes backups, which needs the database and the password of its owner, in addition
    /// to the package's.
    public struct OfBackup: Sendable, Equatable {
        private let passwordFile: String?
        private let isDatabaseLocal: Bool

        /// - Parameters:
        ///   - passwordFile: the password's file, or `nil`. A file that the unit cannot name is read in
        ///     place.
        ///   - isDatabaseLocal: whether the database is reached through a unix socket.
        public init(passwordFile: String?, isDatabaseLocal: Bool) {
            self.passwordFile = passwordFile
            self.isDatabaseLocal = isDatabaseLocal
        }

        /// Its path below a folder of units.
        public var path: String { HostedApp.current.unit("-backup.service.d/least-privilege.conf") }

        /// The drop-in.
        public var text: String {
            var lines = UnitSettings.introduction + ["LoadCredential="]
            if let file = passwordFile, let name = file.split(separator: "/").last.map(String.init),
                UnitSettings.isPlain(name), file.split(separator: "/").allSatisfy({ UnitSettings.isPlain(String($0)) })
            {
                lines.append("LoadCredential=secret_\(name):\(file)")
            }
            if !isDatabaseLocal {
                lines.append("# The database is reached through IP.")
                lines.append("IPAddressAllow=any")
            }
            return lines.joined(separator: "\n") + "\n"
        }
    }

    /// For example `api`.
    public var role: String
    /// Names of files in the folder of secrets; `nil` if one of them cannot be written in a unit: then the whole folder
    /// is passed on.
    public var secrets: [String]?
    /// The folder of secrets.
    public var secretsFolder: String
    public var networks: Networks

    /// The networks other than the Internet that the configuration needs.
    public struct Networks: Sendable, Equatable {
        /// Whether a private network is needed: for the database, a name server, or a configured server of users.
        public var needsPrivate: Bool
        /// Whether IP connections to this host are needed: for the database, a name server, the sandbox, or a
        /// configured server of users.
        public var needsLoopback: Bool

        public init(needsPrivate: Bool, needsLoopback: Bool) {
            self.needsPrivate = needsPrivate
            self.needsLoopback = needsLoopback
        }

        /// - Parameters:
        ///   - database: the database's host; `nil` for a Unix socket. A name may resolve to any network.
        ///   - namedServers: hosts of servers that people may name; IPv6 addresses in brackets. A name may resolve to
        ///     any network.
        ///   - resolvConf: the text of resolv.conf(5); without a name server in it, this host's is used.
        public init(database: String?, usesSandbox: Bool, namedServers: [String] = [], resolvConf: String) {
            let servers = resolvConf.split(separator: "\n").compactMap { line -> String? in
                let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
                return words.count > 1 && words[0] == "nameserver" ? String(words[1]) : nil
            }
            let hosts =
                (servers.isEmpty ? ["127.0.0.1"] : servers) + (database.map { [$0] } ?? [])
                + namedServers.map { $0.filter { $0 != "[" && $0 != "]" } }
            let kinds = hosts.map(Kind.of)
            needsPrivate = kinds.contains(.private) || kinds.contains(.unknown)
            needsLoopback = usesSandbox || kinds.contains(.loopback) || kinds.contains(.unknown)
        }
    }

    /// The location of an address.
    private enum Kind {
        case `public`
        case `private`
        case loopback
        /// A name, not an address.
        case unknown

        static func of(_ host: String) -> Kind {
            let text = host.lowercased()
            if text.contains(":") {
                if text == "::1" { return .loopback }
                // fc00::/7, unique local (RFC 4193); fe80::/10, link-local, with an interface after a percent sign.
                return ["fc", "fd", "fe8", "fe9", "fea", "feb"].contains(where: text.hasPrefix) || text.hasPrefix("::")
                    ? .private : .public
            }
            let parts = text.split(separator: ".", omittingEmptySubsequences: false).compactMap { UInt8($0) }
            guard parts.count == 4, text.split(separator: ".").count == 4 else { return .unknown }
            switch (parts[0], parts[1]) {
            case (127, _): return .loopback
            case (10, _), (172, 16...31), (192, 168), (100, 64...127), (169, 254), (0, _): return .private
            default: return .public
            }
        }
    }

    public init(role: String, secrets: [String], secretsFolder: String, networks: Networks) {
        self.role = role
        // Characters with a special meaning in a unit: a colon, a percent sign, a space, a slash.
        self.secrets = secrets.allSatisfy(Self.isPlain) ? Set(secrets).sorted() : nil
        self.secretsFolder = secretsFolder
        self.networks = networks
    }

    private static func isPlain(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.allSatisfy { isAlphanumeric($0) || "-._".utf8.contains($0) }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }

    /// Its path below a folder of units. Its name sorts after the package's `common.conf`, and before the
    /// `override.conf` of `systemctl edit`.
    public var path: String { HostedApp.current.unit("-\(role)@.service.d/least-privilege.conf") }

    private static let introduction = [
        "# Generated from syncd.json and /etc/resolv.conf by systemd's generator \"syncserver\": at each boot,",
        "# by systemctl daemon-reload, and so by systemctl reload syncd.",
        "",
        "[Service]",
    ]

    /// The drop-in.
    public var text: String {
        var lines = Self.introduction
        if let secrets {
            lines.append("# Only the secrets that this role needs, instead of the whole folder.")
            lines.append("LoadCredential=")
            lines += secrets.map { "LoadCredential=secret_\($0):\(secretsFolder)/\($0)" }
        }
        if !networks.needsPrivate {
            lines.append("# The configuration names no hosts in private networks.")
            lines.append("IPAddressDeny=10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 fc00::/7")
        }
        if !networks.needsLoopback {
            lines.append("# It names nothing on this host except unix sockets.")
            lines.append("IPAddressDeny=localhost")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
