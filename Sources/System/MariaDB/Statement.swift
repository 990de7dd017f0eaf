import CMariaDB

/// One prepared statement of one connection, with its buffers for values and results.
///
/// Owned by the connection's ``StatementCache`` and closed in `deinit`, before the connection is.
@safe
final class Statement {
    private let handle: UnsafeMutablePointer<MYSQL_STMT>
    private let connection: UnsafeMutablePointer<MYSQL>
    private var parameters = ParameterBuffer()
    private var columns: [ResultColumn] = []

    /// Prepares `sql` on the connection (mysql_stmt_prepare(3)).
    init(_ sql: SQL, on connection: UnsafeMutablePointer<MYSQL>) throws(MariaDBError) {
        guard let handle = unsafe mysql_stmt_init(connection) else {
            throw .unavailable(code: UInt32(CR_OUT_OF_MEMORY), message: "out of memory")
        }
        unsafe self.connection = unsafe connection
        unsafe self.handle = unsafe handle
        let status =
            switch sql.text {
            case .literal(let text):
                unsafe Self.prepare(handle, UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
            case .composed(var text): text.withUTF8 { unsafe Self.prepare(handle, $0) }
            }
        guard status == 0 else { throw failure }
    }

    deinit { unsafe _ = mysql_stmt_close(handle) }

    private static func prepare(
        _ handle: UnsafeMutablePointer<MYSQL_STMT>, _ text: UnsafeBufferPointer<UInt8>
    ) -> Int32 {
        unsafe UnsafeRawBufferPointer(text).withMemoryRebound(to: CChar.self) { text in
            unsafe mysql_stmt_prepare(handle, text.baseAddress, UInt(text.count))
        }
    }

    /// Sends the values and runs the statement; a result, if any, must be fetched afterwards.
    func execute(_ values: [Value]) throws(MariaDBError) {
        let expected = unsafe Int(mysql_stmt_param_count(handle))
        guard values.count == expected else {
            throw .programming(code: 0, message: "\(expected) values expected, \(values.count) given")
        }
        if expected > 0 {
            parameters.fill(with: values)
            guard unsafe mysql_stmt_bind_param(handle, parameters.bindings.baseAddress) == 0 else { throw failure }
        }
        let result = unsafe mysql_stmt_execute(handle)
        parameters.trim()
        guard result == 0 else { throw failure }
    }

    /// Rows changed by the last execution; of an UPDATE, those whose values changed.
    var affectedRows: Int { unsafe Int(clamping: mysql_stmt_affected_rows(handle)) }

    /// The AUTO_INCREMENT value that the last execution generated; 0 if none.
    var lastInsertID: Int64 { unsafe Int64(clamping: mysql_stmt_insert_id(handle)) }

    /// Whether the statement returns rows.
    var hasResult: Bool { unsafe mysql_stmt_field_count(handle) > 0 }

    /// Binds the result's columns; called once after each execution.
    ///
    /// The columns are examined each time: a table may be altered while statements stay prepared.
    func bindResult() throws(MariaDBError) {
        guard let metadata = unsafe mysql_stmt_result_metadata(handle) else { throw failure }
        defer { unsafe mysql_free_result(metadata) }
        let count = unsafe Int(mysql_num_fields(metadata))
        guard let fields = unsafe mysql_fetch_fields(metadata) else { throw failure }
        let isUnchanged =
            columns.count == count
            && (0..<count).allSatisfy { unsafe columns[$0].kind == ResultColumn.Kind(fields[$0]) }
        if !isUnchanged { columns = (0..<count).map { unsafe ResultColumn(fields[$0]) } }
        try rebind()
    }

    /// Fetches the next row into the columns; false after the last one.
    func fetch() throws(MariaDBError) -> Bool {
        switch unsafe mysql_stmt_fetch(handle) {
        case 0:
            return true
        case MYSQL_DATA_TRUNCATED:
            try fetchLongColumns()
            return true
        case MYSQL_NO_DATA:
            return false
        default:
            throw failure
        }
    }

    /// The current row.
    var row: Row { Row(columns: columns) }

    /// Ends the result, reading and discarding the rows that were not fetched.
    func finishResult() throws(MariaDBError) {
        let result = unsafe mysql_stmt_free_result(handle)
        var mustRebind = false
        for column in columns where column.shrink() { mustRebind = true }
        if mustRebind { try rebind() }
        guard result == 0 else { throw failure }
    }

    /// The last error of this statement.
    ///
    /// An error packet in place of a row (a deadlock of a locking read, say) is recorded on the connection only:
    /// observed with libmariadb 3.3.
    private var failure: MariaDBError {
        let code = unsafe mysql_stmt_errno(handle)
        guard code == 0 else {
            return unsafe MariaDBError(code: code, message: String(cString: mysql_stmt_error(handle)))
        }
        return unsafe MariaDBError(code: mysql_errno(connection), message: String(cString: mysql_error(connection)))
    }

    /// Sets the columns' buffers in libmariadb, which copies the bindings (mysql_stmt_bind_result(3)).
    private func rebind() throws(MariaDBError) {
        let bindings = UnsafeMutableBufferPointer<MYSQL_BIND>.allocate(capacity: columns.count)
        defer { unsafe bindings.deallocate() }
        for (index, column) in columns.enumerated() {
            unsafe bindings.initializeElement(at: index, to: column.binding)
        }
        guard unsafe mysql_stmt_bind_result(handle, bindings.baseAddress) == 0 else { throw failure }
    }

    /// Grows the buffers for the current row's long values and fetches them again in full.
    private func fetchLongColumns() throws(MariaDBError) {
        var mustRebind = false
        for (index, column) in columns.enumerated() where column.needsMoreRoom {
            column.grow()
            var binding = unsafe column.binding
            guard unsafe mysql_stmt_fetch_column(handle, &binding, UInt32(index), 0) == 0 else { throw failure }
            mustRebind = true
        }
        if mustRebind { try rebind() }
    }
}

/// The result of a statement that returns no rows.
public struct ExecutionResult: Sendable, Equatable {
    /// Rows inserted, deleted or changed. A row that an UPDATE matched but did not change does not count.
    public let affectedRows: Int
    /// The AUTO_INCREMENT value generated by an INSERT, for its first row if there were several; 0 if none.
    public let lastInsertID: Int64
}
