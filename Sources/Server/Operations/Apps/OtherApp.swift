/// Another app of the host, with the resources that it does not share.
public struct OtherApp: Sendable, Equatable {
    /// The operator's name for it.
    public var label: String
    /// The host name by which nginx serves it; `nil` if nginx does not.
    public var host: String?
    /// `nil` if no configuration names one.
    public var database: AppDatabase?

    public init(label: String, host: String? = nil, database: AppDatabase? = nil) {
        self.label = label
        self.host = host
        self.database = database
    }

    /// Why a host name cannot be used for another app, as the end of a sentence; `nil` if none of these apps has it.
    public static func objection(toHost host: String, among others: [OtherApp]) -> String? {
        others.first { $0.host?.lowercased() == host.lowercased() }.map { other in
            "is already the name of the app \(other.label), and nginx distinguishes apps by their names"
        }
    }
}

/// The database of an app and its accounts, as the app's configuration names them.
public struct AppDatabase: Sendable, Equatable {
    private static let loopback: Set<String> = ["localhost", "127.0.0.1", "::1"]

    public var address: SetupAnswers.DatabaseAddress
    public var name: String
    public var owner: String
    /// The users of the roles that have their own account.
    public var roles: [String]

    public init(address: SetupAnswers.DatabaseAddress, name: String, owner: String, roles: [String] = []) {
        self.address = address
        self.name = name
        self.owner = owner
        self.roles = roles
    }

    /// The database and accounts that setup creates or adopts.
    init(_ answers: SetupAnswers) {
        self.init(
            address: answers.database, name: answers.databaseName, owner: answers.databaseUser,
            roles: answers.usesRoleAccounts
                ? SecretName.ofRoles.compactMap(\.role).map(answers.databaseUser(ofRole:)) : [])
    }

    /// Whether it is reached through a socket of this host, and so serves no other host.
    public var isLocal: Bool { if case .socket = address { true } else { false } }

    /// The SQL that drops it with its accounts, one statement per line.
    public var removal: [String] {
        DatabaseStatements(database: name, owner: owner, isLocal: isLocal).removal(roles: roles)
    }

    /// What both share, as text; empty if nothing. MariaDB's own accounts, which no removal drops, do not count.
    public func common(with other: AppDatabase) -> [String] {
        guard isOnServer(of: other) else { return [] }
        let users = Set(roles + [owner]).intersection(other.roles + [other.owner])
        return (name == other.name ? ["the database \(name)"] : [])
            + users.subtracting(DatabaseStatements.administrators).sorted().map { "the database user \($0)" }
    }

    /// Whether both are on the same server; a server on this host can be reached by its socket and by TCP.
    private func isOnServer(of other: AppDatabase) -> Bool {
        switch (address, other.address) {
        case (.socket, .socket): true
        case (.tcp(let host, let port), .tcp(let otherHost, let otherPort)):
            port == otherPort && (host == otherHost || Self.loopback.isSuperset(of: [host, otherHost]))
        case (.socket, .tcp(let host, _)), (.tcp(let host, _), .socket): Self.loopback.contains(host)
        }
    }
}
