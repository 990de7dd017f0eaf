internal import CMariaDB

/// The prepared statements of one connection, by the address of their SQL.
///
/// A `StaticString` is a literal in the program's read-only memory: the same address and length mean the same text.
/// Bounded; evicts the least recently used statement.
final class StatementCache {
    /// Maximum number of prepared statements kept; the server's own limit over all connections
    /// (`max_prepared_stmt_count`) is 16,382 by default.
    static let capacity = 256

    private struct Key: Hashable {
        let address: UInt
        let count: Int

        init(_ sql: StaticString) {
            precondition(sql.hasPointerRepresentation, "SQL has more than one character")
            address = unsafe UInt(bitPattern: sql.utf8Start)
            count = sql.utf8CodeUnitCount
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
        for sql: StaticString, on connection: UnsafeMutablePointer<MYSQL>
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
    func remove(_ sql: StaticString) { entries[Key(sql)] = nil }

    /// Closes all statements; called before their connection is closed.
    func removeAll() { entries.removeAll() }
}
