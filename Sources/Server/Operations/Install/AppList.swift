import Posix
public import Store

/// The apps of a host, each with its state.
public struct AppList: Report {
    public enum State: String, Encodable, Sendable {
        /// It answers and reaches its database.
        case running
        /// Its units are running, but it does not answer correctly.
        case failing
        /// Its units are not running.
        case stopped
        /// It has units but no configuration: `syncctl --app NAME setup` is next.
        case notSetUp
        /// Its units were removed; configuration and secrets remain.
        case removed
    }

    public struct Item: Encodable, Sendable {
        public var app: String
        public var state: State
        /// The version of the process that answers; absent without an answer.
        public var version: String?
        /// The name by which phones reach it; absent if nginx has no site for it.
        public var host: String?
        /// Absent if its database cannot be queried.
        public var users: Int?
    }

    public var items: [Item]

    public init(items: [Item]) { self.items = items }

    public var lines: [String] {
        var table = TextTable("APP", "STATE", "VERSION", "USERS", "HOST")
        for item in items {
            table.add(
                item.app, Self.word(for: item.state), item.version ?? "-", item.users.map { "\($0)" } ?? "-",
                item.host ?? "-")
        }
        return table.lines
    }

    private static func word(for state: State) -> String { state == .notSetUp ? "not set up" : state.rawValue }
}

extension AppList.Item {
    /// Examines an app of this host.
    /// - Parameters:
    ///   - users: the number of users in its database; `nil` if unknown.
    ///   - limit: the time limit for each answer.
    public init(_ app: HostedApp, users: Int?, within limit: Duration) {
        let site = (try? TextFile.read("/etc/nginx/sites-available/\(app.siteName)")).map {
            String(decoding: $0, as: UTF8.self)
        }
        let socket = app.runtimeFolder + "/api.sock"
        self.init(
            app: app.label, state: Self.state(of: app, socket, within: limit),
            version: ResponderProbe.version(at: socket, within: limit),
            host: site.flatMap { SitePresence($0).host }, users: users)
    }

    private static func state(of app: HostedApp, _ socket: String, within limit: Duration) -> AppList.State {
        let isSetUp = AtomicFile.exists(app.configurationFolder + "/syncd.json")
        guard AppFiles(of: app).isInstalled else { return .removed }
        guard isSetUp else { return .notSetUp }
        let target = try? UnitsCheck.state(of: app.unit(".target"), within: limit)
        if let target, target.active != "active" { return .stopped }
        return (try? ResponderProbe.healthStatus(at: socket, within: limit)) == 200 ? .running : .failing
    }
}

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

    /// Whether both are on the same server; a server on this host can be reached through its socket and over TCP.
    private func isOnServer(of other: AppDatabase) -> Bool {
        switch (address, other.address) {
        case (.socket, .socket): true
        case (.tcp(let host, let port), .tcp(let otherHost, let otherPort)):
            port == otherPort && (host == otherHost || Self.loopback.isSuperset(of: [host, otherHost]))
        case (.socket, .tcp(let host, _)), (.tcp(let host, _), .socket): Self.loopback.contains(host)
        }
    }
}
