/// One row of a result, valid while the closure that received it runs.
///
/// Columns are numbered from 0 in the order of the SELECT, and can be found by name. Integer columns and
/// ``withText(_:_:)`` cost no heap allocation.
public struct Row: ~Copyable {
    private let columns: [ResultColumn]
    /// The table whose columns are found by name; `nil` for all.
    private let table: String?

    init(columns: [ResultColumn], of table: String? = nil) {
        self.columns = columns
        self.table = table
    }

    /// The same row, restricted to finding the columns of one table by name.
    /// - Parameter table: the table's name in the statement: the alias, if it has one.
    public borrowing func columns(of table: StaticString) -> Row { Row(columns: columns, of: table.description) }

    /// The number of the first column with that name; it is the same in all rows of a statement.
    /// - Throws: ``MariaDBError/programming(code:message:)`` if there is none.
    public borrowing func position(of name: String) throws(MariaDBError) -> Int {
        for (index, column) in columns.enumerated() where column.name == name {
            if table == nil || column.table == table { return index }
        }
        throw .programming(code: 0, message: "the statement returns no column \(table.map { $0 + "." } ?? "")\(name)")
    }

    /// The table and name of a column in the schema; for a computed column, its name in the statement.
    public borrowing func origin(of column: Int) -> (table: String, column: String) {
        let found = columns[column]
        return found.schemaName.isEmpty ? (found.table, found.name) : (found.schemaTable, found.schemaName)
    }

    /// The number of columns.
    public var columnCount: Int { columns.count }

    /// Whether the column holds NULL.
    public borrowing func isNull(_ column: Int) -> Bool { columns[column].isNull }

    /// The integer in a column of an integer type, or of a DECIMAL or text type that holds one (as SUM returns).
    /// - Throws: ``MariaDBError/unexpectedValue(column:reason:)`` for NULL, for anything but an integer, and above 2⁶³
    ///   − 1.
    public borrowing func int(_ column: Int) throws(MariaDBError) -> Int64 {
        guard let value = try optionalInt(column) else { throw .unexpectedValue(column: column, reason: "NULL") }
        return value
    }

    /// The integer, or nil for NULL; otherwise like ``int(_:)``.
    public borrowing func optionalInt(_ column: Int) throws(MariaDBError) -> Int64? {
        let cell = columns[column]
        guard !cell.isNull else { return nil }
        switch cell.kind {
        case .signed:
            return cell.number
        case .unsigned:
            guard cell.number >= 0 else { throw .unexpectedValue(column: column, reason: "above 2^63 - 1") }
            return cell.number
        case .text:
            guard let value = unsafe DecimalInteger.parse(cell.bytes.bytes) else {
                throw .unexpectedValue(column: column, reason: "not an integer")
            }
            return value
        }
    }

    /// Whether the integer is not 0; otherwise like ``int(_:)``.
    public borrowing func bool(_ column: Int) throws(MariaDBError) -> Bool { try int(column) != 0 }

    /// The text of the column; integers as decimal digits, dates as `yyyy-MM-dd HH:mm:ss`.
    ///
    /// Invalid UTF-8, which a utf8mb4 column cannot hold, is repaired.
    /// - Throws: ``MariaDBError/unexpectedValue(column:reason:)`` for NULL.
    public borrowing func text(_ column: Int) throws(MariaDBError) -> String {
        guard let value = optionalText(column) else { throw .unexpectedValue(column: column, reason: "NULL") }
        return value
    }

    /// The text, or nil for NULL; otherwise like ``text(_:)``.
    public borrowing func optionalText(_ column: Int) -> String? {
        let cell = columns[column]
        guard !cell.isNull else { return nil }
        switch cell.kind {
        case .signed: return String(cell.number)
        case .unsigned: return String(UInt64(bitPattern: cell.number))
        case .text: return unsafe String(decoding: cell.bytes, as: UTF8.self)
        }
    }

    /// The bytes of a text or binary column.
    /// - Throws: ``MariaDBError/unexpectedValue(column:reason:)`` for NULL.
    public borrowing func bytes(_ column: Int) throws(MariaDBError) -> [UInt8] {
        guard let value = optionalBytes(column) else { throw .unexpectedValue(column: column, reason: "NULL") }
        return value
    }

    /// The bytes, or nil for NULL; of an integer column, its decimal digits.
    public borrowing func optionalBytes(_ column: Int) -> [UInt8]? {
        let cell = columns[column]
        guard !cell.isNull else { return nil }
        guard cell.kind == .text else { return optionalText(column).map { Array($0.utf8) } }
        return unsafe Array(cell.bytes)
    }

    /// Calls `body` with the column's bytes in place, nil for NULL, and returns its result; allocates nothing.
    ///
    /// For text, binary, date and DECIMAL columns; an integer column is a programming error and stops the program.
    public borrowing func withText<R, Failure: Error>(
        _ column: Int, _ body: (RawSpan?) throws(Failure) -> R
    ) throws(Failure) -> R {
        let cell = columns[column]
        precondition(cell.kind == .text, "withText reads text columns; use int for integers")
        guard !cell.isNull else { return try body(nil) }
        return try unsafe body(cell.bytes.bytes)
    }
}

/// Integers in decimal digits, parsed without creating a `String`.
enum DecimalInteger {
    /// The integer that `text` represents, with an optional minus sign; a fraction of zeros is allowed, as in DECIMAL.
    static func parse(_ text: RawSpan) -> Int64? {
        var value: Int64 = 0
        var digits = 0
        var isNegative = false
        var inFraction = false
        for offset in 0..<text.byteCount {
            let byte = unsafe text.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
            switch byte {
            case UInt8(ascii: "-") where offset == 0:
                isNegative = true
            case UInt8(ascii: ".") where digits > 0 && !inFraction:
                inFraction = true
            case UInt8(ascii: "0") where inFraction:
                break
            case UInt8(ascii: "0")...UInt8(ascii: "9") where !inFraction:
                // Accumulated as a negative number, since only that range holds the smallest value.
                let (product, overflow) = value.multipliedReportingOverflow(by: 10)
                let (next, borrow) = product.subtractingReportingOverflow(Int64(byte - UInt8(ascii: "0")))
                guard !overflow, !borrow else { return nil }
                value = next
                digits += 1
            default:
                return nil
            }
        }
        guard digits > 0 else { return nil }
        if isNegative { return value }
        return value == .min ? nil : -value
    }
}
