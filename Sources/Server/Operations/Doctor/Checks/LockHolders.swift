import MariaDB

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
                "\(description) has held locks of rows for \(seconds) s\(others)", [self])
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

    /// - Returns: nothing also if the account may not see other connections.
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
