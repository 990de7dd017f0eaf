public import MariaDB

/// What a failure of the database means for the caller.
public enum StoreError: Error {
    /// The database is unreachable or too busy; nothing was changed, or the outcome is unknown. Retry later.
    case unavailable(MariaDBError)
    /// All connections remained in use; nothing was changed. Retry later.
    case busy
    /// Conflict with other transactions; the whole transaction may be retried.
    case contention(MariaDBError)
    /// A row with the same key exists; the payload is the name of the key.
    case alreadyExists(key: String)
    /// A row that must exist does not.
    case notFound
    /// A stored value is not valid for its type: damaged data, or a bug.
    case corrupt(table: String, column: String)
    /// The database rejects the account, or its access to a table; nothing was changed. Lasts until the operator
    /// corrects the account, its rights or the configuration.
    case denied(MariaDBError)
    /// The database rejects a statement for a permanent reason: a bug.
    case defect(MariaDBError)
}

extension StoreError: MariaDBErrorConvertible {
    public init(_ error: MariaDBError) {
        switch error {
        case .unavailable, .inDoubt: self = .unavailable(error)
        case .poolExhausted: self = .busy
        case .contention: self = .contention(error)
        case .duplicateKey(let key): self = .alreadyExists(key: key)
        case .accessDenied: self = .denied(error)
        case .constraint, .unexpectedValue, .programming: self = .defect(error)
        }
    }
}

extension StoreError: CustomStringConvertible, CustomDebugStringConvertible {
    /// Safe to show: neither SQL nor values.
    public var description: String {
        switch self {
        case .unavailable(let error), .contention(let error), .denied(let error), .defect(let error): error.description
        case .busy: MariaDBError.poolExhausted.description
        case .alreadyExists(let key): "A row with this \(key) already exists."
        case .notFound: "The row does not exist."
        case .corrupt(let table, let column): "A value in \(table.isEmpty ? column : "\(table).\(column)") is damaged."
        }
    }

    /// For the log: includes the database's code and text.
    public var debugDescription: String {
        switch self {
        case .unavailable(let error), .contention(let error), .denied(let error), .defect(let error):
            error.debugDescription
        case .busy, .alreadyExists, .notFound, .corrupt: description
        }
    }
}
