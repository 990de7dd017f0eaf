import CMariaDB
import Glibc

/// One connection to a MariaDB server, with its prepared statements.
///
/// Text is utf8mb4 (collation utf8mb4_general_ci), times are UTC, `sql_mode` is strict, the isolation level is
/// REPEATABLE READ; each of these is set here, regardless of the server's defaults. There is no automatic reconnect,
/// since that would silently lose an open transaction.
///
/// Not `Sendable`: one thread at a time. It may move to another thread between two calls
/// (https://mariadb.com/docs/connectors/mariadb-connector-c: a handle may not be shared *simultaneously*).
@safe
public struct Connection: ~Copyable {
    private let handle: UnsafeMutablePointer<MYSQL>
    private let statements = StatementCache()

    /// False once the connection broke or its state is unknown: every further call fails, and it must be discarded.
    public private(set) var isUsable = true

    /// Connects within the settings' connect timeout; fails immediately if nothing is listening.
    /// - Throws: ``MariaDBError/unavailable(code:message:)``, ``MariaDBError/accessDenied(code:message:)``.
    public init(_ settings: ConnectionSettings) throws(MariaDBError) {
        guard let handle = unsafe mysql_init(nil) else {
            throw .unavailable(code: UInt32(CR_OUT_OF_MEMORY), message: "out of memory")
        }
        do throws(MariaDBError) {
            unsafe Self.configure(handle, settings)
            unsafe try Self.connect(handle, settings)
        } catch {
            unsafe mysql_close(handle)
            throw error
        }
        // Set after the last throw: from here on deinit closes the handle.
        unsafe self.handle = unsafe handle
    }

    deinit {
        statements.removeAll()
        unsafe mysql_close(handle)
    }

    // MARK: Statements

    /// Runs a statement that returns no rows.
    ///
    /// `sql` is prepared on its first use and kept prepared; `values` are bound to its `?` in order.
    /// - Throws: any ``MariaDBError`` except `poolExhausted`; ``MariaDBError/inDoubt(code:message:)`` if the connection
    ///   broke outside a transaction.
    @discardableResult
    public mutating func execute(_ sql: SQL, _ values: [Value] = []) throws(MariaDBError) -> ExecutionResult {
        let isInTransaction = isInTransaction
        do throws(MariaDBError) {
            let statement = try prepared(sql)
            try statement.execute(values)
            if statement.hasResult { try statement.finishResult() }
            return ExecutionResult(affectedRows: statement.affectedRows, lastInsertID: statement.lastInsertID)
        } catch {
            throw note(error, of: sql, mayHaveCommitted: !isInTransaction)
        }
    }

    /// Runs a statement and calls `body` with each of its rows, in order, as they arrive.
    ///
    /// Rows are not kept: memory does not grow with their number. Keep the work in `body` short, since the server
    /// waits. If `body` throws, the remaining rows are dropped and the connection stays usable.
    /// - Throws: any ``MariaDBError`` except `poolExhausted`, or what `body` throws.
    public mutating func query(
        _ sql: SQL, _ values: [Value] = [], _ body: (borrowing Row) throws(MariaDBError) -> Void
    ) throws(MariaDBError) {
        try run(sql, values, body)
    }

    /// The same for a `body` that throws a higher layer's error.
    public mutating func query<Failure: MariaDBErrorConvertible>(
        _ sql: SQL, _ values: [Value] = [], _ body: (borrowing Row) throws(Failure) -> Void
    ) throws(Failure) {
        try run(sql, values, body)
    }

    /// Runs one or more statements, separated by semicolons, from this program's own files.
    ///
    /// For migrations only: nothing is bound or prepared, rows are discarded. Statements before a failing one have
    /// taken effect.
    /// - Throws: as ``execute(_:_:)``.
    public mutating func executeScript(_ trustedSQL: String) throws(MariaDBError) {
        guard unsafe mysql_set_server_option(handle, MYSQL_OPTION_MULTI_STATEMENTS_ON) == 0 else {
            throw note(failure, of: nil, mayHaveCommitted: false)
        }
        defer { _ = unsafe mysql_set_server_option(handle, MYSQL_OPTION_MULTI_STATEMENTS_OFF) }
        try run(trustedSQL, mayCommit: true)
        while unsafe mysql_more_results(handle) != 0 {
            guard unsafe mysql_next_result(handle) == 0 else {
                throw note(failure, of: nil, mayHaveCommitted: true)
            }
            dropResult()
        }
    }

    // MARK: Transactions

    /// Starts a transaction.
    ///
    /// - Parameters:
    ///   - readOnly: the server rejects all changes, and takes a cheaper path.
    ///   - consistentSnapshot: all plain reads see the state at this moment; otherwise, the state at the first read.
    /// - Throws: ``MariaDBError/unavailable(code:message:)``; nothing has been changed then.
    public mutating func begin(readOnly: Bool = false, consistentSnapshot: Bool = false) throws(MariaDBError) {
        precondition(!isInTransaction, "transactions do not nest")
        switch (readOnly, consistentSnapshot) {
        case (false, false): try run("START TRANSACTION", mayCommit: false)
        case (true, false): try run("START TRANSACTION READ ONLY", mayCommit: false)
        case (false, true): try run("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ WRITE", mayCommit: false)
        case (true, true): try run("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", mayCommit: false)
        }
    }

    /// Starts a transaction in which each plain read sees the data committed at the time of that read (READ COMMITTED).
    ///
    /// For transactions that lock before they read: their reads are then as recent as the lock. It also locks only
    /// existing rows, not the gaps between them.
    /// - Throws: ``MariaDBError/unavailable(code:message:)``; nothing has been changed then.
    public mutating func beginReadingCommitted() throws(MariaDBError) {
        precondition(!isInTransaction, "transactions do not nest")
        // A compound statement, to save a round trip ("Using Compound Statements Outside of Stored Programs").
        try run(
            "BEGIN NOT ATOMIC SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION; END",
            mayCommit: false)
    }

    /// Makes the transaction's changes permanent.
    /// - Throws: ``MariaDBError/contention(code:message:)`` (rolled back; Galera reports conflicts here),
    ///   ``MariaDBError/inDoubt(code:message:)`` (connection broke: may or may not have been committed).
    public mutating func commit() throws(MariaDBError) { try run("COMMIT", mayCommit: true) }

    /// Undoes the transaction's changes; does nothing outside a transaction.
    /// - Throws: ``MariaDBError/unavailable(code:message:)``; then the server rolls back on its own.
    public mutating func rollback() throws(MariaDBError) { try run("ROLLBACK", mayCommit: false) }

    /// Whether a transaction is open, according to the server's last reply.
    public var isInTransaction: Bool {
        unsafe isUsable && shim_mariadb_server_status(handle) & UInt32(SERVER_STATUS_IN_TRANS) != 0
    }

    // MARK: Liveness

    /// Checks that the server is alive: one round trip.
    /// - Throws: ``MariaDBError/unavailable(code:message:)``.
    public mutating func ping() throws(MariaDBError) {
        try requireUsable()
        guard unsafe mysql_ping(handle) == 0 else { throw note(failure, of: nil, mayHaveCommitted: false) }
    }

    /// Whether the server closed its end, or sent unsolicited data, while the connection was idle.
    ///
    /// Costs one poll(2), no round trip. False does not prove that the server is alive: use ``ping()``.
    public var isHungUp: Bool {
        var descriptor = unsafe pollfd(fd: Int32(mysql_get_socket(handle)), events: Int16(POLLIN), revents: 0)
        return unsafe poll(&descriptor, 1, 0) != 0
    }

    /// The number of statements kept prepared.
    public var preparedStatementCount: Int { statements.count }

    // MARK: Private detail

    private mutating func run<Failure: MariaDBErrorConvertible>(
        _ sql: SQL, _ values: [Value], _ body: (borrowing Row) throws(Failure) -> Void
    ) throws(Failure) {
        let statement: Statement
        do throws(MariaDBError) {
            statement = try prepared(sql)
            try statement.execute(values)
            guard statement.hasResult else { return }
            try statement.bindResult()
        } catch {
            throw Failure(note(error, of: sql, mayHaveCommitted: false))
        }
        var bodyFailure: Failure?
        do throws(MariaDBError) {
            while bodyFailure == nil, try statement.fetch() {
                do throws(Failure) { try body(statement.row) } catch { bodyFailure = error }
            }
            try statement.finishResult()
        } catch {
            // After a failed fetch nothing is left to read; after a failed end the connection is broken.
            try? statement.finishResult()
            throw Failure(note(error, of: sql, mayHaveCommitted: false))
        }
        if let bodyFailure { throw bodyFailure }
    }

    private mutating func prepared(_ sql: SQL) throws(MariaDBError) -> Statement {
        try requireUsable()
        return unsafe try statements.statement(for: sql, on: handle)
    }

    /// Runs one statement over the text protocol and discards its result.
    private mutating func run(_ sql: String, mayCommit: Bool) throws(MariaDBError) {
        try requireUsable()
        var sql = sql
        let result = sql.withUTF8 { text in
            unsafe UnsafeRawBufferPointer(text).withMemoryRebound(to: CChar.self) { text in
                unsafe mysql_real_query(handle, text.baseAddress, UInt(text.count))
            }
        }
        guard result == 0 else { throw note(failure, of: nil, mayHaveCommitted: mayCommit) }
        dropResult()
    }

    private func dropResult() {
        if let result = unsafe mysql_use_result(handle) { unsafe mysql_free_result(result) }
    }

    private func requireUsable() throws(MariaDBError) {
        guard isUsable else {
            throw .unavailable(code: UInt32(CR_SERVER_GONE_ERROR), message: "the connection broke earlier")
        }
    }

    /// Updates the state of this connection after an error, and returns the error to throw.
    private mutating func note(_ error: MariaDBError, of sql: SQL?, mayHaveCommitted: Bool) -> MariaDBError {
        switch error {
        case .unavailable(let code, let message):
            isUsable = false
            // Server errors arrive as a reply: the statement was rejected. Client errors mean that no reply arrived.
            let gotReply = code < 2000
            return mayHaveCommitted && !gotReply ? .inDoubt(code: code, message: message) : error
        case .contention(let code, _):
            // The server lost the statement or cannot adapt it: prepare it again.
            if let sql, [ER_NEED_REPREPARE, ER_UNKNOWN_STMT_HANDLER].contains(Int32(bitPattern: code)) {
                statements.remove(sql)
            }
            return error
        case .inDoubt, .poolExhausted, .accessDenied, .duplicateKey, .constraint, .unexpectedValue, .programming:
            return error
        }
    }

    private var failure: MariaDBError { unsafe Self.failure(of: handle) }

    private static func failure(of handle: UnsafeMutablePointer<MYSQL>) -> MariaDBError {
        unsafe MariaDBError(code: mysql_errno(handle), message: String(cString: mysql_error(handle)))
    }
}

extension Connection {
    /// Sets all options that must be set before connecting (mysql_optionsv(3)); these calls cannot fail.
    static func configure(_ handle: UnsafeMutablePointer<MYSQL>, _ settings: ConnectionSettings) {
        let connectSeconds = settings.connectTimeout.wholeSeconds
        let readSeconds = settings.readTimeout.wholeSeconds
        _ = unsafe shim_mysql_option_uint(handle, MYSQL_OPT_CONNECT_TIMEOUT, connectSeconds)
        _ = unsafe shim_mysql_option_uint(handle, MYSQL_OPT_READ_TIMEOUT, readSeconds)
        _ = unsafe shim_mysql_option_uint(handle, MYSQL_OPT_WRITE_TIMEOUT, readSeconds)
        _ = unsafe shim_mysql_option_uint(handle, MYSQL_OPT_LOCAL_INFILE, 0)
        _ = unsafe shim_mysql_option_bool(handle, MYSQL_OPT_RECONNECT, 0)
        _ = unsafe shim_mysql_option_bool(handle, MYSQL_REPORT_DATA_TRUNCATION, 1)
        _ = unsafe shim_mysql_option_string(handle, MYSQL_SET_CHARSET_NAME, "utf8mb4")
        // wsrep_sync_wait: a node of a Galera cluster first applies what was committed on the other nodes, before reads
        // (1), updates and deletions (2) and insertions (4), so that each request sees what the previous one did on
        // another node; without a cluster it has no effect ("Galera Cluster System Variables" of MariaDB). The library
        // runs these right after the handshake; if one fails, connecting fails.
        let commands = [
            "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci",
            """
            SET time_zone = '+00:00',
                sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',
                autocommit = 1,
                innodb_lock_wait_timeout = \(settings.lockWaitTimeout.wholeSeconds),
                wsrep_sync_wait = 7
            """,
            "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        ]
        for command in commands {
            _ = unsafe shim_mysql_option_string(handle, MYSQL_INIT_COMMAND, command)
        }
    }

    /// Connects the handle (mysql_real_connect(3)).
    static func connect(
        _ handle: UnsafeMutablePointer<MYSQL>, _ settings: ConnectionSettings
    ) throws(MariaDBError) {
        let connected =
            switch settings.address {
            case .unixSocket(let path):
                unsafe mysql_real_connect(
                    handle, "localhost", settings.user, settings.password, settings.database, 0, path, 0)
            case .tcp(let host, let port):
                unsafe mysql_real_connect(
                    handle, host, settings.user, settings.password, settings.database, UInt32(port), nil, 0)
            }
        guard unsafe connected != nil else {
            throw unsafe MariaDBError(code: mysql_errno(handle), message: String(cString: mysql_error(handle)))
        }
    }
}

/// Process-wide and per-thread setup of libmariadb.
///
/// `mysql_library_init` "is not thread-safe" and `mysql_thread_init` is needed "for each thread that uses the
/// library" (mysql_library_init(3), mysql_thread_init(3)).
public enum ClientLibrary {
    /// Initializes the library; call once in `main`, before starting the first thread.
    public static func initialize() {
        let result = shim_mysql_library_init()
        precondition(result == 0, "libmariadb could not be initialized")
    }

    /// Initializes the calling thread; call first on each thread that uses a connection.
    public static func threadStart() { _ = mysql_thread_init() }

    /// Frees the library's data of the calling thread; call last on each such thread.
    public static func threadEnd() { mysql_thread_end() }
}
