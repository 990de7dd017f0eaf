public import MariaDB
import Posix
public import Store

/// Compares the database's columns with those that this release's migrations create.
///
/// Applied migrations alone are no proof: another release of MariaDB, or a person, may have changed the result.
public enum SchemaCheck {
    private static let quoted = 5

    public static func judge(_ actual: Schema) -> Diagnosis {
        let differences = Schema.expected.differences(in: actual)
        guard !differences.isEmpty else {
            return .good(
                "schema", "the schema matches this release (\(MigrationRunner.newestStep)) in every column")
        }
        let more = differences.count > quoted ? "; and \(differences.count - quoted) more" : ""
        return Diagnosis(
            .columnsDiffer, differences.prefix(quoted).joined(separator: "; ") + more,
            fix:
                "ALTER TABLE ... MODIFY COLUMN by hand, after a backup: the migrations contain the definitions, "
                + "0023_collations.sql those of collations")
    }
}

/// Determines who holds all of a database's connections (`max_connections`).
public struct ConnectionsCheck: Sendable {
    /// The accounts that this server uses.
    let ownUsers: [String]
    /// The database's socket on this host, if it has one.
    let socket: String?
    /// An account that MariaDB still accepts, if there is one ("max_connections": one more for administrators).
    let administrator: ConnectionSettings?

    public init(ownUsers: [String], socket: String?, administrator: ConnectionSettings?) {
        self.ownUsers = ownUsers
        self.socket = socket
        self.administrator = administrator
    }

    /// The connected accounts and programs, as far as known.
    struct Holders {
        /// By account, most connections first.
        var accounts: [(user: String, count: Int)] = []
        /// `max_connections`; `nil` if the database could not be asked.
        var maximum: Int?
        /// This host's programs that use the database's socket, most connections first.
        var programs: [(name: String, identifiers: [Int], count: Int)] = []
    }

    /// The limit that is reached.
    public enum Shortage: Equatable, Sendable {
        /// The limit of the database server.
        case ofServer
        /// The limit of an account, with the statement's option that raises it.
        case ofAccount(option: String)

        /// - Returns: `nil` for other errors.
        public init?(_ error: MariaDBError) {
            guard case .unavailable(let code, let message) = error else { return nil }
            switch code {
            case 1_040: self = .ofServer
            // "max_user_connections" for all accounts, which an account's own limit overrides.
            case 1_203: self = .ofAccount(option: "MAX_USER_CONNECTIONS 1000")
            // "User 'x' has exceeded the 'max_connections_per_hour' resource"; 0 is no limit.
            case 1_226:
                let parts = message.split(separator: "'", omittingEmptySubsequences: false)
                let resource = parts.last { $0.hasPrefix("max_") } ?? "max_user_connections"
                self = .ofAccount(option: "\(resource.uppercased()) 0")
            default: return nil
            }
        }
    }

    /// The finding for an account that has reached its limit of connections.
    /// - Parameter option: from ``Shortage/ofAccount(option:)``.
    public static func limited(_ settings: ConnectionSettings, _ option: String) -> Diagnosis {
        let isLocal = if case .unixSocket = settings.address { true } else { false }
        let account = "'\(settings.user)'@'\(isLocal ? "localhost" : "%")'"
        return Diagnosis(
            .databaseFull,
            "the database account \(settings.user) has reached its limit of connections "
                + "(\(option.split(separator: " ")[0].lowercased()))",
            fix:
                "mariadb -e \"ALTER USER \(account) WITH \(option)\"; SELECT user, host FROM mysql.user shows its "
                + "host if it differs")
    }

    public func examine(within limit: Duration) -> Diagnosis {
        // Another check of this doctor often holds the administrators' extra connection for a moment.
        let end = ContinuousClock.now + limit
        var asked = try? ask()
        while asked == nil, administrator != nil, ContinuousClock.now < end {
            Pause.sleep(.milliseconds(100))
            asked = try? ask()
        }
        var holders = asked ?? Holders()
        if let socket, let outcome = try? ChildProcess.run(["ss", "-x", "-p", "-n"], within: limit) {
            holders.programs = Self.programs(outcome.output, at: socket)
        }
        return judge(holders)
    }

    func judge(_ holders: Holders) -> Diagnosis {
        var finding = "the database has no connections left (max_connections"
        finding += holders.maximum.map { " \($0))" } ?? ")"
        let accounts = holders.accounts.prefix(3).map { "\($0.user) has \($0.count)" }
        if !accounts.isEmpty { finding += ": \(accounts.joined(separator: ", "))" }
        let programs = holders.programs.prefix(3).map { program in
            let some = program.identifiers.prefix(4).map(String.init).joined(separator: ", ")
            return "\(program.name) (process \(some)) \(program.count)"
        }
        if !programs.isEmpty { finding += "; by program: \(programs.joined(separator: ", "))" }
        return Diagnosis(.databaseFull, finding, fix: remedy(holders))
    }

    private func remedy(_ holders: Holders) -> String {
        let permanent = "max_connections in /etc/mysql/mariadb.conf.d does so permanently"
        // Connections that have not logged in yet have no account.
        if let first = holders.accounts.first(where: { $0.user != "unauthenticated user" }) {
            let more =
                "mariadb -e 'SET GLOBAL max_connections = \(2 * (holders.maximum ?? 151))' allows more until the next "
                + "start, \(permanent)"
            if ownUsers.contains(first.user) { return more }
            // MariaDB's root may be the operator who repairs it, and a name may contain any character.
            if first.user != "root", first.user.utf8.allSatisfy({ $0 != UInt8(ascii: "'") && $0 != UInt8(ascii: "\\") })
            {
                return
                    "mariadb -e \"KILL USER '\(first.user)'\" ends the connections of \(first.user) until it "
                    + "reconnects; \(more)"
            }
        }
        if let program = holders.programs.first(where: { !$0.name.hasPrefix("sync") }), program.identifiers.count <= 100
        {
            return
                "kill \(program.identifiers.map(String.init).joined(separator: " ")) ends \(program.name); \(permanent)"
        }
        return "mariadb -e 'SHOW PROCESSLIST' still works for root: KILL connections that should not exist; "
            + permanent
    }

    private func ask() throws(MariaDBError) -> Holders {
        var holders = Holders()
        guard var settings = administrator else { return holders }
        (settings.connectTimeout, settings.readTimeout) = (.seconds(3), .seconds(3))
        var connection = try Connection(settings)
        try connection.query(
            """
            SELECT user, COUNT(*), @@max_connections
              FROM information_schema.processlist
             WHERE id <> CONNECTION_ID()
               AND command <> 'Daemon'
             GROUP BY user
             ORDER BY COUNT(*) DESC
             LIMIT 10
            """
        ) { row throws(MariaDBError) in
            holders.accounts.append((user: try row.text(0), count: Int(try row.int(1))))
            holders.maximum = Int(try row.int(2))
        }
        return holders
    }

    /// The programs connected to a socket, as ss(8) prints them: two lines for each connection, each with the number of
    /// its own end and of the peer's.
    static func programs(
        _ output: String, at socket: String
    ) -> [(name: String, identifiers: [Int], count: Int)] {
        let lines = output.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        let ends = Set(lines.filter { $0.count > 7 && $0[4] == socket && $0[1] == "ESTAB" }.map { $0[7] })
        var found: [String: (identifiers: Set<Int>, count: Int)] = [:]
        for line in lines where line.count > 8 && ends.contains(line[5]) {
            // users:(("php-fpm",pid=77,fd=9),…)
            let users = line[8].split(separator: "\"")
            guard users.count > 2, let number = users[2].split(separator: "pid=").last?.prefix(while: \.isNumber),
                let identifier = Int(number)
            else { continue }
            found[String(users[1]), default: ([], 0)].identifiers.insert(identifier)
            found[String(users[1])]?.count += 1
        }
        return found.map { (name: $0.key, identifiers: $0.value.identifiers.sorted(), count: $0.value.count) }
            .sorted { ($1.count, $0.name) < ($0.count, $1.name) }
    }
}

/// Checks that the jobs role does its work.
public enum JobsCheck {
    /// Work that has been due for longer indicates that no worker processes it; a worker polls twice a second.
    static let patienceSeconds: Int64 = 300
    /// A manifest that has waited for longer is mentioned: its owner may have to sign in again.
    static let lateManifestSeconds: Int64 = 86_400

    public static func judge(_ outbox: OutboxOverview) -> Diagnosis {
        if outbox.due > 0, outbox.longestDueSeconds > patienceSeconds {
            return Diagnosis(
                .jobsStandStill,
                "\(Quantity.of(outbox.due, "job")) due, for up to \(Quantity.seconds(outbox.longestDueSeconds)): "
                    + "the jobs role is not running, or cannot keep up",
                fix: "systemctl status 'syncd-jobs@*'; journalctl -u 'syncd-jobs@*' -p warning")
        }
        if let reason = outbox.pushRefusal {
            return Diagnosis(
                .pushRefused, "\(Quantity.of(outbox.refusedPushes, "notification")) refused: \(reason)",
                fix: "compare apns.teamId, apns.keyId and apns.topic with Apple's developer account, or the project of "
                    + "fcm.serviceAccountFile with the app's, then systemctl reload syncd; pushes of the last hour "
                    + "are then sent"
            )
        }
        if outbox.failing > 0 {
            let manifest = outbox.oldestManifestSeconds.map {
                $0 > lateManifestSeconds ? "; the oldest manifest has waited for \(Quantity.seconds($0))" : ""
            }
            return .good(
                "jobs",
                "the jobs role keeps up; \(Quantity.of(outbox.failing, "job")) failed before and will be retried "
                    + "(syncctl jobs --failing)\(manifest ?? "")")
        }
        return .good("jobs", "the jobs role keeps up")
    }
}
