internal import CMariaDB

/// The prepared statements of one connection, by their SQL: a literal by its address, because the same address and
/// length in the program's read-only memory mean the same text; a composed statement by its text.
///
/// Bounded; evicts the least recently used statement.
final class StatementCache {
    /// Maximum number of prepared statements kept; the server's own limit over all connections
    /// (`max_prepared_stmt_count`) is 16,382 by default.
    static let capacity = 256

    private enum Key: Hashable {
        case literal(address: UInt, count: Int)
        case composed(String)

        init(_ sql: SQL) {
            switch sql.text {
            case .literal(let text):
                precondition(text.hasPointerRepresentation, "SQL has more than one character")
                self = unsafe .literal(address: UInt(bitPattern: text.utf8Start), count: text.utf8CodeUnitCount)
            case .composed(let text):
                self = .composed(text)
            }
        }
    }

    private struct Entry {
        let statement: Statement
        var lastUse: UInt64
    }

    private var entries: [Key: Entry] = [:]
    private var uses: UInt64 = 0

    /// The number of statements kept.
    var count: Int { entries.count }

    /// The statement for `sql`; prepared now if it is not cached.
    func statement(
        for sql: SQL, on connection: UnsafeMutablePointer<MYSQL>
    ) throws(MariaDBError) -> Statement {
        uses += 1
        let key = Key(sql)
        if let entry = entries[key] {
            entries[key]?.lastUse = uses
            return entry.statement
        }
        let statement = unsafe try Statement(sql, on: connection)
        if entries.count >= Self.capacity, let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse })?.key {
            entries[oldest] = nil
        }
        entries[key] = Entry(statement: statement, lastUse: uses)
        return statement
    }

    /// Drops the statement for `sql`, so that it is prepared again next time.
    func remove(_ sql: SQL) { entries[Key(sql)] = nil }

    /// Closes all statements; called before their connection is closed.
    func removeAll() { entries.removeAll() }
}
