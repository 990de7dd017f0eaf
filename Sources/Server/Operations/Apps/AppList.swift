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
        /// Absent if its database cannot be asked.
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
