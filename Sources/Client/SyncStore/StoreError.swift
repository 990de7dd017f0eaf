/// Why an operation of the store failed.
package enum StoreError: Error, Sendable, Hashable, CustomStringConvertible {
    /// SQLite reports an error, with its result code; see https://www.sqlite.org/rescode.html
    case database(code: Int32)
    /// A stored value is not one that this library writes.
    case corrupt(table: String, column: String)
    /// The store was written by a newer library.
    case tooNew

    /// Safe to log: contains no stored values.
    package var description: String {
        switch self {
        case .database(let code): "SQLite error \(code)"
        case .corrupt(let table, let column): "unreadable value in \(table).\(column)"
        case .tooNew: "the store was written by a newer version of the library"
        }
    }
}
