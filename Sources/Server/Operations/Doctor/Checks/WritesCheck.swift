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

    /// Tries a change of each table that affects no row; it waits if another connection has locked the table.
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
