public import MariaDB
public import SyncProtocol

/// Checks that the database accepts writes of the roles, and determines who blocks them if it does not.
public struct WritesCheck: Sendable {
    private static let patience: Duration = .seconds(2)

    /// The database accounts, each with the role that uses it; without roles, the common one.
    let accounts: [(role: ServerRole?, settings: ConnectionSettings)]
    /// The account of the database's owner.
    let owner: ConnectionSettings
    /// An account that may see other connections, if there is one.
    let administrator: ConnectionSettings?

    public init(
        _ accounts: [(role: ServerRole?, settings: ConnectionSettings)], owner: ConnectionSettings,
        administrator: ConnectionSettings?
    ) {
        self.accounts = accounts
        self.owner = owner
        self.administrator = administrator
    }

    /// - Returns: nothing if the database cannot be reached, which another check reports.
    public func examine() -> [Diagnosis] {
        guard let observer else { return [] }
        let holders = LockHolders(observer, users: accounts.map(\.settings.user), database: owner.database ?? "")
        if let holder = holders.ofRows() { return [holder.diagnosis] }
        var isTried = true
        for (role, settings) in accounts {
            do throws(MariaDBError) { try Self.writeRow(as: settings) } catch {
                let what = role.map { "writes of the role \($0.rawValue)" } ?? "changes"
                if let found = diagnosis(of: error, what, table: nil, holders) { return [found] }
                isTried = false
            }
        }
        do throws(MariaDBError) {
            if let refusal = try tryTables(holders) { return [refusal] }
        } catch {
            return [diagnosis(of: error, "changes", table: nil, holders)].compactMap(\.self)
        }
        // The attempts above do not commit, so a lock at COMMIT does not show there.
        if let wait = holders.longestWait() {
            let what = "\(Quantity.of(wait.connections, "connection")) of the server (\(wait.state))"
            // Each process writes twice a minute: the lock may be half a minute older than the first wait for it.
            return [Self.locked(what, holders.ofTables(heldFor: wait.seconds + 35))]
        }
        guard isTried else { return [] }
        return [.good("writes", "the database accepts changes, and no lock blocks the server")]
    }

    /// The administrator, or the owner if root cannot log in through the socket. `nil` if the database cannot be
    /// reached.
    private var observer: ConnectionSettings? {
        for settings in [administrator, owner].compactMap(\.self) {
            do throws(MariaDBError) {
                _ = try Self.impatient(settings)
                return settings
            } catch {
                // A database that does not answer would not answer the other account either.
                guard let code = error.code, code < 2_000 else { return nil }
            }
        }
        return nil
    }

    // MARK: Attempts

    /// Writes one row, and rolls it back.
    private static func writeRow(as settings: ConnectionSettings) throws(MariaDBError) {
        var connection = try impatient(settings)
        try connection.begin()
        try connection.execute(
            """
            INSERT INTO key_holders (process_uuid, host_name, role, process_id, sealing_key, opening_keys, seen_at)
            VALUES (UUID(), '', '', 0, '', '', UTC_TIMESTAMP())
            """)
        try connection.rollback()
    }

    /// A connection that waits only briefly for locks of rows, of tables or of all tables.
    static func impatient(_ settings: ConnectionSettings) throws(MariaDBError) -> Connection {
        var settings = settings
        settings.lockWaitTimeout = patience
        settings.readTimeout = patience * 2
        settings.connectTimeout = patience * 2
        var connection = try Connection(settings)
        try connection.execute("SET SESSION lock_wait_timeout = 2")
        return connection
    }

    /// Tries a change to each table that affects no row; it waits if another connection has locked the table.
    private func tryTables(_ holders: LockHolders) throws(MariaDBError) -> Diagnosis? {
        var connection = try Self.impatient(owner)
        var tables: [String] = []
        try connection.query(
            """
            SELECT table_name
              FROM information_schema.tables
             WHERE table_schema = DATABASE()
               AND table_type = 'BASE TABLE'
             ORDER BY table_name
            """
        ) { row throws(MariaDBError) in tables.append(try row.text(0)) }
        for table in tables where !table.contains("`") {
            do throws(MariaDBError) {
                try connection.executeScript("DELETE FROM `\(table)` WHERE FALSE")
            } catch {
                // If a table cannot be tried, another check reports the reason.
                if let found = diagnosis(of: error, "changes of the table \(table)", table: table, holders) {
                    return found
                }
                guard connection.isUsable else { throw error }
            }
        }
        return nil
    }

    /// - Returns: `nil` if the error is about the account, the tables or the connection, which other checks examine.
    private func diagnosis(
        of error: MariaDBError, _ what: String, table: String?, _ holders: LockHolders
    ) -> Diagnosis? {
        if case .contention = error {
            let since = table == nil ? secondsSinceLastWrite.map { $0 + 5 } : nil
            return Self.locked(what, holders.ofTables(heldFor: since, of: table))
        }
        return Self.refusal(error, of: what)
    }

    /// The finding for a change that the database rejects.
    static func refusal(_ error: MariaDBError, of what: String) -> Diagnosis? {
        let refused: (code: UInt32, message: String)
        switch error {
        case .unavailable(let code, let message), .programming(let code, let message): refused = (code, message)
        default: return nil
        }
        // Not errors of the client library, of connections that were not accepted or have ended, or of missing tables
        // and columns.
        let others: [UInt32] = [1_040, 1_203, 1_226, 1_053, 1_077, 1_927, 1_049, 1_054, 1_146]
        guard (1_000..<2_000).contains(refused.code), !others.contains(refused.code) else { return nil }
        return Diagnosis(
            .databaseReadOnly, "the database does not accept \(what): \(refused.code) \(refused.message)",
            fix: remedy(refused.code, refused.message.lowercased()))
    }

    private static func remedy(_ code: UInt32, _ message: String) -> String {
        switch code {
        case 1_290 where message.contains("read-only") || message.contains("read_only"):
            return
                "mariadb -e 'SET GLOBAL read_only = 0'; grep -r read.only /etc/mysql shows whether each start sets it"
        case 1_792:
            return "mariadb -e 'SET GLOBAL tx_read_only = 0', then systemctl restart 'syncd-*@*'; grep -rE "
                + "'(tx|transaction).read.only' /etc/mysql shows whether each start sets it"
        case 1_036, 1_836, 1_874:
            return
                "grep -rE 'innodb.(read.only|force.recovery)' /etc/mysql names the file that sets it, as after "
                + "damage; after removing that line: systemctl restart mariadb"
        default:
            return
                "journalctl -u mariadb -n 50; df -h and df -i for the folder that mariadb -e 'SELECT @@datadir' names"
        }
    }

    private static func locked(_ what: String, _ holders: [LockHolders.Holder]) -> Diagnosis {
        guard let first = holders.first else {
            return LockHolders.diagnosis("a lock blocks \(what)", [])
        }
        return LockHolders.diagnosis(
            "a lock blocks \(what); its holder is probably \(first.description), \(first.state)", holders)
    }

    private var secondsSinceLastWrite: Int64? {
        var seconds: Int64?
        do throws(MariaDBError) {
            var connection = try Self.impatient(owner)
            try connection.query("SELECT TIMESTAMPDIFF(SECOND, MAX(seen_at), UTC_TIMESTAMP()) FROM key_holders") {
                row throws(MariaDBError) in seconds = try row.optionalInt(0)
            }
        } catch {
            return nil
        }
        return seconds
    }
}

/// Determines whose locks block the server.
struct LockHolders {
    /// A transaction that holds locks for longer was probably forgotten; the server's transactions take milliseconds.
    private static let longestTransactionSeconds: Int64 = 10
    /// The same for an idle transaction.
    private static let longestPauseSeconds: Int64 = 3
    /// The same for a transaction that others already wait for.
    private static let longestWaitSeconds: Int64 = 2

    /// An account that may see other connections (the privilege PROCESS); without it, no holder is found.
    private let observer: ConnectionSettings
    /// The accounts of the server, separated by commas.
    private let users: String
    private let database: String

    init(_ observer: ConnectionSettings, users: [String], database: String) {
        self.observer = observer
        self.users = users.joined(separator: ",")
        self.database = database
    }

    /// A connection that blocks others; or a prepared XA transaction, which has no connection.
    struct Holder {
        /// 0 without a connection.
        var connection: Int64
        var person: String
        var database: String
        var command: String
        /// The time since its last statement or its transaction began.
        var seconds: Int64
        var waiting: Int64 = 0

        var isPrepared: Bool { connection == 0 }

        var description: String {
            if isPrepared { return "a prepared XA transaction without a connection" }
            return "connection \(connection) of \(person)" + (database.isEmpty ? "" : " in \(database)")
        }

        var state: String { command == "Sleep" ? "idle for \(seconds) s" : "at work for \(seconds) s" }

        var diagnosis: Diagnosis {
            let others =
                waiting > 0 ? ", and \(Quantity.of(Int(waiting), "connection")) of the server waits for them" : ""
            return LockHolders.diagnosis(
                "\(description) has held row locks for \(seconds) s\(others)", [self])
        }
    }

    /// - Parameter holders: the likeliest first.
    static func diagnosis(_ finding: String, _ holders: [Holder]) -> Diagnosis {
        var fix = "mariadb -e 'SHOW FULL PROCESSLIST' shows what it does"
        if let first = holders.first {
            fix =
                first.isPrepared
                ? "mariadb -e 'XA RECOVER' lists it; mariadb -e \"XA ROLLBACK 'DATA'\", with its data column as DATA, "
                    + "discards its changes, XA COMMIT keeps them"
                : "mariadb -e 'KILL \(first.connection)' ends it; " + fix
        }
        if let next = holders.dropFirst().first {
            fix += "; if it was not that one: \(next.description), \(next.state)"
        }
        return Diagnosis(.databaseLocked, finding, fix: fix)
    }

    /// Among the transactions that hold locks and are not blocked themselves, the one that the server waits for or,
    /// without one, the oldest that may affect the server (information_schema.INNODB_TRX, whose times are in the
    /// system's time zone). A prepared XA transaction outlives its connection, and has the number 0.
    func ofRows() -> Holder? {
        ask(
            """
            SELECT id, person, db, command, seconds, waiting
              FROM (SELECT IFNULL(p.id, 0) AS id,
                           IFNULL(CONCAT(p.user, '@', SUBSTRING_INDEX(p.host, ':', 1)), '') AS person,
                           IFNULL(p.db, '') AS db, IFNULL(p.command, '') AS command,
                           IFNULL(TIMESTAMPDIFF(
                             SECOND, t.trx_started, CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', 'SYSTEM')), 0) AS seconds,
                           (SELECT COUNT(DISTINCT w.requesting_trx_id)
                              FROM information_schema.innodb_lock_waits w
                              JOIN information_schema.innodb_trx r ON r.trx_id = w.requesting_trx_id
                              JOIN information_schema.processlist q ON q.id = r.trx_mysql_thread_id
                             WHERE w.blocking_trx_id = t.trx_id
                               AND FIND_IN_SET(q.user, ?)) AS waiting
                      FROM information_schema.innodb_trx t
                      LEFT JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
                     WHERE t.trx_state NOT IN ('LOCK WAIT', 'ROLLING BACK')
                       AND (p.id IS NOT NULL OR t.trx_mysql_thread_id = 0)
                       AND IFNULL(p.state, '') NOT LIKE 'Waiting for% lock'
                       AND (t.trx_tables_locked > 0 OR t.trx_rows_locked > 0)) held
             WHERE (seconds >= ? AND waiting > 0)
                OR (seconds >= IF(command = 'Sleep', ?, ?) AND db IN ('', ?))
             ORDER BY waiting > 0 DESC, seconds DESC
             LIMIT 1
            """,
            [
                .text(users), .int(Self.longestWaitSeconds), .int(Self.longestPauseSeconds),
                .int(Self.longestTransactionSeconds), .text(database),
            ], Self.holder
        ).first
    }

    /// The connections that may have locked one or all tables (LOCK TABLES, FLUSH TABLES WITH READ LOCK, BACKUP STAGE),
    /// the likeliest first. MariaDB does not report the holder of such a lock: candidates are other accounts'
    /// connections that wait for nothing.
    ///
    /// - Parameters:
    ///   - longest: the maximum age of the lock, if known: each process of the server writes twice a minute, so a lock
    ///     of all tables is not older than the last of these writes. A connection that has been idle for longer cannot
    ///     hold it.
    ///   - table: the locked table; `nil` if all are locked.
    func ofTables(heldFor longest: Int64?, of table: String? = nil) -> [Holder] {
        ask(
            """
            SELECT p.id, CONCAT(p.user, '@', SUBSTRING_INDEX(p.host, ':', 1)), IFNULL(p.db, ''), p.command,
                   IFNULL(p.time, 0), 0
              FROM information_schema.processlist p
             WHERE p.id <> CONNECTION_ID()
               AND p.command NOT IN ('Daemon', 'Binlog Dump', 'Slave_IO', 'Slave_SQL', 'Connect')
               AND FIND_IN_SET(p.user, ?) = 0
               AND p.user NOT IN ('system user', 'event_scheduler')
               AND IFNULL(p.state, '') NOT LIKE 'Waiting for%'
               AND p.time BETWEEN 1 AND ?
             ORDER BY IFNULL(p.db, '') = ? DESC, p.time DESC
             LIMIT 3
            """, [.text(users), .int(longest ?? .max), .text(database)], Self.holder)
    }

    /// The server's own connections that wait for a lock, for example at COMMIT during BACKUP STAGE BLOCK_COMMIT, which
    /// affects only statements that change something.
    func longestWait() -> (connections: Int, state: String, seconds: Int64)? {
        ask(
            """
            SELECT COUNT(*) OVER (), state, time
              FROM information_schema.processlist
             WHERE FIND_IN_SET(user, ?)
               AND db = ?
               AND command <> 'Sleep'
               AND state LIKE 'Waiting for% lock'
               AND time >= ?
             ORDER BY time DESC
             LIMIT 1
            """, [.text(users), .text(database), .int(Self.longestWaitSeconds)]
        ) { row throws(MariaDBError) in
            (connections: Int(try row.int(0)), state: try row.text(1), seconds: try row.int(2))
        }.first
    }

    private static func holder(_ row: borrowing Row) throws(MariaDBError) -> Holder {
        Holder(
            connection: try row.int(0), person: try row.text(1), database: try row.text(2), command: try row.text(3),
            seconds: try row.int(4), waiting: try row.int(5))
    }

    /// - Returns: nothing if the account may not see other connections.
    private func ask<Found>(
        _ statement: SQL, _ values: [Value], _ read: (borrowing Row) throws(MariaDBError) -> Found
    ) -> [Found] {
        var found: [Found] = []
        do throws(MariaDBError) {
            var connection = try WritesCheck.impatient(observer)
            try connection.query(statement, values) { row throws(MariaDBError) in found.append(try read(row)) }
        } catch {
            return []
        }
        return found
    }
}
