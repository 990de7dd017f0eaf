public import MariaDB

/// Why the older server's database cannot be read.
public enum SourceError: Error {
    /// It cannot be reached, or the connection was lost: retry.
    case unreachable(MariaDBError)
    /// It is not a SyncServerII database; the sentences describe what is missing.
    case notASource([String])
    /// It contains a value that SyncServerII never writes there.
    case unreadable(MariaDBError)
}

extension SourceError: MariaDBErrorConvertible {
    public init(_ error: MariaDBError) {
        switch error {
        case .unavailable, .inDoubt, .poolExhausted, .contention, .accessDenied: self = .unreachable(error)
        case .duplicateKey, .constraint, .unexpectedValue, .programming: self = .unreadable(error)
        }
    }
}

extension SourceError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unreachable(let error): "the older server's database cannot be used: \(error)"
        case .notASource(let problems):
            "this is not a SyncServerII database:\n" + problems.map { "  - \($0)" }.joined(separator: "\n")
        case .unreadable(let error): "the older server's database contains an unexpected value: \(error)"
        }
    }
}
