import CMariaDB

/// Why a database operation failed, classified by what the caller can do about it.
///
/// `code` is the server's or client library's number, `message` its text. The text may quote SQL, values and names: it
/// appears in `debugDescription`, for logs that only operators read, never in `description`.
public enum MariaDBError: Error, Equatable, Sendable {
    /// The server cannot be reached, is shutting down, not ready, full or read-only, or the connection broke. The
    /// connection is unusable; any open transaction is rolled back. Retry later, on another connection.
    case unavailable(code: UInt32, message: String)
    /// The connection broke in COMMIT or in a statement outside a transaction: it may have taken effect, or not. Retry
    /// only idempotent operations.
    case inDoubt(code: UInt32, message: String)
    /// All connections of the pool stayed busy for the whole lease timeout. Retry later.
    case poolExhausted
    /// The server denies access, or access to that table: the operator must fix the account or the configuration.
    case accessDenied(code: UInt32, message: String)
    /// Conflict with another transaction (deadlock, lock timeout, Galera certification, snapshot conflict). Roll back
    /// and retry the whole transaction.
    case contention(code: UInt32, message: String)
    /// A row with that unique key already exists; `key` is the name of the index.
    case duplicateKey(key: String)
    /// A value violates a constraint of the schema: too long, out of range, NULL, foreign key, CHECK.
    case constraint(code: UInt32, message: String)
    /// A column does not hold what the code expects: NULL, or not a number. A bug in our code, or damaged data.
    case unexpectedValue(column: Int, reason: String)
    /// The statement is wrong (syntax, names, number of values): a bug in our code.
    case programming(code: UInt32, message: String)

    /// The number of the server or the client library, if it is known.
    public var code: UInt32? {
        switch self {
        case .unavailable(let code, _), .inDoubt(let code, _), .accessDenied(let code, _), .contention(let code, _),
            .constraint(let code, _), .programming(let code, _):
            code
        case .poolExhausted, .duplicateKey, .unexpectedValue: nil
        }
    }
}

extension MariaDBError: CustomStringConvertible, CustomDebugStringConvertible {
    /// One sentence without SQL, values or names, safe to show.
    public var description: String {
        switch self {
        case .unavailable: "The database is unavailable."
        case .inDoubt: "The connection to the database broke; the outcome is unknown."
        case .poolExhausted: "All database connections are busy."
        case .accessDenied: "The database refuses access."
        case .contention: "The operation conflicted with another transaction."
        case .duplicateKey: "The row already exists."
        case .constraint: "A value violates a constraint of the schema."
        case .unexpectedValue: "A column holds an unexpected value."
        case .programming: "The database rejected the statement."
        }
    }

    /// Case, code and the database's own text: for operators' logs only.
    public var debugDescription: String {
        switch self {
        case .unavailable(let code, let message): "unavailable: \(code) \(message)"
        case .inDoubt(let code, let message): "in doubt: \(code) \(message)"
        case .poolExhausted: "pool exhausted"
        case .accessDenied(let code, let message): "access denied: \(code) \(message)"
        case .contention(let code, let message): "contention: \(code) \(message)"
        case .duplicateKey(let key): "duplicate key: \(key)"
        case .constraint(let code, let message): "constraint: \(code) \(message)"
        case .unexpectedValue(let column, let reason): "unexpected value in column \(column): \(reason)"
        case .programming(let code, let message): "programming error: \(code) \(message)"
        }
    }
}

/// An error of a higher layer that can represent a ``MariaDBError``.
///
/// It lets that layer's closures run inside ``Connection`` and ``ConnectionPool`` with typed throws, and the
/// translation happens in one place.
public protocol MariaDBErrorConvertible: Error {
    /// Converts the database's error to the higher layer's error.
    init(_ error: MariaDBError)
}

extension MariaDBError: MariaDBErrorConvertible {
    /// The error itself.
    public init(_ error: MariaDBError) { self = error }
}

extension MariaDBError {
    /// Maps a raw error code to an error.
    ///
    /// Codes below 2000 and from 3000 on are the server's
    /// (https://mariadb.com/docs/server/reference/error-codes/mariadb-error-code-reference); 2000 to 2999, and 5000 to
    /// 5999, are the client library's (`errmsg.h`).
    init(code: UInt32, message: String) {
        switch Int32(bitPattern: code) {
        // Deadlock; lock wait timeout; error during COMMIT (Galera certification); snapshot conflict
        // (innodb_snapshot_isolation); a table was altered while a statement was prepared; KILL QUERY.
        case ER_LOCK_DEADLOCK, ER_LOCK_WAIT_TIMEOUT, ER_ERROR_DURING_COMMIT, ER_CHECKREAD, ER_NEED_REPREPARE,
            ER_QUERY_INTERRUPTED, ER_UNKNOWN_STMT_HANDLER:
            self = .contention(code: code, message: message)

        // 1047 is named "unknown command", but a Galera node reports it while it is not ready (WSREP). "Host blocked"
        // and "too many connections" clear by themselves or with an operator's help.
        case ER_UNKNOWN_COM_ERROR, ER_SERVER_SHUTDOWN, ER_NORMAL_SHUTDOWN, ER_CONNECTION_KILLED, ER_CON_COUNT_ERROR,
            ER_TOO_MANY_USER_CONNECTIONS, ER_USER_LIMIT_REACHED, ER_HOST_IS_BLOCKED, ER_ABORTING_CONNECTION,
            ER_NEW_ABORTING_CONNECTION, ER_NET_READ_ERROR, ER_NET_READ_INTERRUPTED, ER_NET_ERROR_ON_WRITE,
            ER_NET_WRITE_INTERRUPTED, ER_NET_PACKETS_OUT_OF_ORDER, ER_NET_FCNTL_ERROR, ER_OUTOFMEMORY,
            ER_OUT_OF_SORTMEMORY, ER_OUT_OF_RESOURCES, ER_DISK_FULL, ER_RECORD_FILE_FULL,
            ER_OPTION_PREVENTS_STATEMENT, ER_CANT_CREATE_THREAD, ER_TOO_MANY_CONCURRENT_TRXS,
            // Tables, transactions or all of InnoDB are read-only, or a disk fails (innodb_force_recovery,
            // tx_read_only, innodb_read_only; "Got error 28 from storage engine").
            ER_OPEN_AS_READONLY, ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, ER_READ_ONLY_MODE, ER_INNODB_READ_ONLY,
            ER_GET_ERRNO, ER_ERROR_ON_WRITE:
            self = .unavailable(code: code, message: message)

        case ER_ACCESS_DENIED_ERROR, ER_ACCESS_DENIED_NO_PASSWORD_ERROR, ER_DBACCESS_DENIED_ERROR, ER_BAD_DB_ERROR,
            ER_HOST_NOT_PRIVILEGED, ER_TABLEACCESS_DENIED_ERROR, ER_COLUMNACCESS_DENIED_ERROR,
            ER_SPECIFIC_ACCESS_DENIED_ERROR, ER_MUST_CHANGE_PASSWORD, ER_MUST_CHANGE_PASSWORD_LOGIN:
            self = .accessDenied(code: code, message: message)

        case ER_DUP_ENTRY, ER_DUP_ENTRY_WITH_KEY_NAME, ER_DUP_UNIQUE, ER_DUP_KEY:
            self = .duplicateKey(key: Self.lastQuotedName(in: message))

        case ER_DATA_TOO_LONG, ER_WARN_DATA_OUT_OF_RANGE, ER_TRUNCATED_WRONG_VALUE,
            ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, ER_WRONG_VALUE_FOR_TYPE, ER_BAD_NULL_ERROR, ER_NO_DEFAULT_FOR_FIELD,
            ER_NO_REFERENCED_ROW, ER_NO_REFERENCED_ROW_2, ER_ROW_IS_REFERENCED, ER_ROW_IS_REFERENCED_2,
            ER_CONSTRAINT_FAILED, ER_NET_PACKET_TOO_LARGE, ER_DATA_OUT_OF_RANGE, Int32(CR_NET_PACKET_TOO_LARGE):
            self = .constraint(code: code, message: message)

        // Calls in the wrong order, or with parameters missing: a bug in our code.
        case Int32(CR_COMMANDS_OUT_OF_SYNC), Int32(CR_PARAMS_NOT_BOUND), Int32(CR_NO_PREPARE_STMT),
            Int32(CR_INVALID_PARAMETER_NO), Int32(CR_UNSUPPORTED_PARAM_TYPE), Int32(CR_NO_DATA),
            Int32(CR_STMT_CLOSED):
            self = .programming(code: code, message: message)

        // All other client errors concern the connection: refused, lost, timed out, TLS.
        case 2000...2999, 5000...5999:
            self = .unavailable(code: code, message: message)

        default:
            self = .programming(code: code, message: message)
        }
    }

    /// The text in the last pair of single quotes: the index's name in "Duplicate entry 'x' for key 'name'".
    ///
    /// Searched from the end, because the value may contain quotes; a table name before a dot is dropped.
    static func lastQuotedName(in message: String) -> String {
        let parts = message.split(separator: "'", omittingEmptySubsequences: false)
        guard parts.count >= 3 else { return "" }
        let name = parts[parts.count - 2]
        return String(name.split(separator: ".").last ?? name)
    }
}
