/// Why the database did not do what was asked, by what the caller can do about it.
///
/// `code` is the server's or client library's number, `message` its text. The text may quote SQL, values and names:
/// it stands in `debugDescription`, for logs that only operators read, and never in `description`.
public enum MariaDBError: Error, Equatable, Sendable {
    /// The server cannot be reached, is shutting down, not ready, full or read-only, or the connection broke.
    /// The connection is of no more use; whatever transaction was open is rolled back. Try again later, on another
    /// connection.
    case unavailable(code: UInt32, message: String)
    /// The connection broke in COMMIT or in a statement outside a transaction: it may have taken effect, or not.
    /// Repeat only what is harmless to do twice.
    case inDoubt(code: UInt32, message: String)
    /// All connections of the pool stayed busy for the whole lease timeout. Try again later.
    case poolExhausted
    /// The server does not let us in, or not at that table: the operator must mend account or configuration.
    case accessDenied(code: UInt32, message: String)
    /// Another transaction was in the way (deadlock, lock timeout, Galera certification, snapshot conflict).
    /// Roll back and repeat the whole transaction.
    case contention(code: UInt32, message: String)
    /// A row with that unique key is there already; `key` is the name of the index.
    case duplicateKey(key: String)
    /// A value breaks a rule of the schema: too long, out of range, NULL, foreign key, CHECK.
    case constraint(code: UInt32, message: String)
    /// A column does not hold what the code reads: NULL, or no number. Our defect, or damaged data.
    case unexpectedValue(column: Int, reason: String)
    /// The statement is wrong (syntax, names, number of values): our defect.
    case programming(code: UInt32, message: String)
}

extension MariaDBError: CustomStringConvertible, CustomDebugStringConvertible {
    /// One sentence without SQL, values or names, safe to show.
    public var description: String {
        switch self {
        case .unavailable: "The database is unavailable."
        case .inDoubt: "The connection to the database broke; the outcome is unknown."
        case .poolExhausted: "All database connections are busy."
        case .accessDenied: "The database refuses access."
        case .contention: "Another transaction was in the way."
        case .duplicateKey: "The row exists already."
        case .constraint: "A value breaks a rule of the schema."
        case .unexpectedValue: "A column holds an unexpected value."
        case .programming: "The database refuses the statement."
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
