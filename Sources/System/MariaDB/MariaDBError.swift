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
