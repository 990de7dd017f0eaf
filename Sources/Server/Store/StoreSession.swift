package import MariaDB

/// One thread's session with the database; the repositories are its extensions.
///
/// Repositories never begin or end a transaction: ``MetadataStore`` does. The `package` members are for `Operations`,
/// whose statements only operators need; code that serves phones calls repositories.
public struct StoreSession: ~Copyable {
    var connection: Connection
    /// The request that the session serves, or `nil`.
    private let requestID: String?
    /// What the transaction has changed for listeners.
    var changes = CommittedChanges()

    init(_ connection: consuming Connection, requestID: String?) {
        self.connection = connection
        self.requestID = requestID
    }

    /// The ``requestID``, as each statement that adds work to the outbox binds it to the column `request_id`.
    var requestValue: Value { .text(orNull: requestID) }

    consuming func end() -> Connection { connection }

    mutating func begin() throws(StoreError) {
        do { try connection.beginReadingCommitted() } catch { throw StoreError(error) }
    }

    mutating func beginSnapshot() throws(StoreError) {
        do { try connection.begin(readOnly: true, consistentSnapshot: true) } catch { throw StoreError(error) }
    }

    mutating func commit() throws(StoreError) {
        do { try connection.commit() } catch { throw StoreError(error) }
    }

    mutating func check() throws(StoreError) {
        _ = try first("SELECT 1", []) { row throws(StoreError) in row.columnCount }
    }

    /// Runs a statement that changes rows.
    /// - Returns: how many rows it changed; rows that already had the new values do not count.
    @discardableResult
    package mutating func execute(_ sql: SQL, _ values: [Value]) throws(StoreError) -> Int {
        do { return Int(try connection.execute(sql, values).affectedRows) } catch { throw StoreError(error) }
    }

    /// Runs an INSERT and returns the row's AUTO_INCREMENT number.
    mutating func insert(_ sql: SQL, _ values: [Value]) throws(StoreError) -> Int64 {
        do { return Int64(try connection.execute(sql, values).lastInsertID) } catch { throw StoreError(error) }
    }

    /// Runs an INSERT of the result of a query, at most one row, and returns the row's AUTO_INCREMENT number; `nil` if
    /// the query returned no row.
    mutating func insertSelected(_ sql: SQL, _ values: [Value]) throws(StoreError) -> Int64? {
        do {
            let result = try connection.execute(sql, values)
            return result.affectedRows == 0 ? nil : result.lastInsertID
        } catch {
            throw StoreError(error)
        }
    }

    /// The first row that a query returns, decoded.
    package mutating func first<Decoded>(
        _ sql: SQL, _ values: [Value], _ decode: (borrowing Row) throws(StoreError) -> Decoded
    ) throws(StoreError) -> Decoded? {
        var found: Decoded?
        try connection.query(sql, values) { row throws(StoreError) in
            if found == nil { found = try decode(row) }
        }
        return found
    }

    /// All rows that a query returns, decoded.
    package mutating func all<Decoded>(
        _ sql: SQL, _ values: [Value], _ decode: (borrowing Row) throws(StoreError) -> Decoded
    ) throws(StoreError) -> [Decoded] {
        var found: [Decoded] = []
        try connection.query(sql, values) { row throws(StoreError) in
            found.append(try decode(row))
        }
        return found
    }

    /// The result of a query that counts.
    package mutating func count(_ sql: SQL, _ values: [Value]) throws(StoreError) -> Int {
        try first(sql, values) { row throws(StoreError) in Int(try row.number(0)) } ?? 0
    }

    /// Passes each row that a query returns to `body`, as it arrives; memory does not grow with their number.
    package mutating func query(
        _ sql: SQL, _ values: [Value] = [], _ body: (borrowing Row) throws(StoreError) -> Void
    ) throws(StoreError) {
        try connection.query(sql, values, body)
    }

    /// Runs SQL that this program composed, without bound values.
    package mutating func executeScript(_ trustedSQL: String) throws(StoreError) {
        do { try connection.executeScript(trustedSQL) } catch { throw StoreError(error) }
    }

    /// The database's clock, in milliseconds since 1970 (UTC).
    public mutating func clockMilliseconds() throws(StoreError) -> Int64 {
        try first("SELECT CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS INTEGER)", []) { row throws(StoreError) in
            try row.number(0)
        } ?? 0
    }
}
