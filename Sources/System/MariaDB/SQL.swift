/// The text of a statement, or of a part of one: a literal of the program, whose interpolations are literals as well.
///
/// No string created at run time becomes SQL: only other texts of this type, the names in a ``ColumnList``, the raw
/// values of an enumeration, and numbers can be interpolated.
///
/// ```swift
/// "SELECT \(FileRecord.columns) FROM files WHERE file_uuid = ?"
/// ```
public struct SQL: Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
    /// The literal alone, or the text with its interpolations.
    enum Text: Sendable {
        case literal(StaticString)
        case composed(String)
    }

    let text: Text

    public init(stringLiteral literal: StaticString) { text = .literal(literal) }

    public init(stringInterpolation interpolation: StringInterpolation) { text = .composed(interpolation.text) }

    /// The text to prepare.
    public var description: String {
        switch text {
        case .literal(let text): text.description
        case .composed(let text): text
        }
    }

    /// The parts of a statement.
    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        public init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity + 256 * interpolationCount)
        }

        public mutating func appendLiteral(_ literal: StaticString) { text += literal.description }

        /// A part of a statement.
        public mutating func appendInterpolation(_ part: SQL) { text += part.description }

        public mutating func appendInterpolation(_ number: Int) { text += "\(number)" }

        /// `'A', 'B'`: cases of an enumeration, whose raw values are literals of the program.
        public mutating func appendInterpolation<Name: CaseIterable & RawRepresentable<String>>(_ names: [Name]) {
            precondition(!names.isEmpty, "a list that SQL takes")
            for (index, name) in names.enumerated() {
                precondition(!name.rawValue.contains { $0 == "'" || $0 == "\\" }, "a name that needs no escapes")
                text += index > 0 ? ", '" : "'"
                text += name.rawValue
                text += "'"
            }
        }

        /// `a, b`
        public mutating func appendInterpolation(_ columns: ColumnList) {
            append(columns) { $0 += $1 }
        }

        /// `t.a, t.b`, where `t` is the table's name in the statement.
        public mutating func appendInterpolation(_ columns: ColumnList, of table: StaticString) {
            let prefix = table.description + "."
            append(columns) {
                $0 += prefix
                $0 += $1
            }
        }

        /// `?, ?`: a value for each column.
        public mutating func appendInterpolation(valuesOf columns: ColumnList) {
            append(columns) { text, _ in text += "?" }
        }

        /// `a = ?, b = ?`
        public mutating func appendInterpolation(assigning columns: ColumnList) {
            append(columns) {
                $0 += $1
                $0 += " = ?"
            }
        }

        /// `t.a = ?, t.b = ?`
        public mutating func appendInterpolation(assigning columns: ColumnList, of table: StaticString) {
            let prefix = table.description + "."
            append(columns) {
                $0 += prefix
                $0 += $1
                $0 += " = ?"
            }
        }

        private mutating func append(_ columns: ColumnList, _ column: (inout String, String) -> Void) {
            for (index, name) in columns.names.enumerated() {
                if index > 0 { text += ", " }
                column(&text, name)
            }
        }
    }
}

/// A value bound to one `?` of a statement.
///
/// Dates are bound as text, `yyyy-MM-dd HH:mm:ss` in UTC, and DECIMAL numbers as text too.
public enum Value: Sendable, Equatable {
    /// SQL's NULL.
    case null
    /// A signed 64-bit integer, for integer columns of any width.
    case int(Int64)
    /// Text in UTF-8, for text, DATETIME, TIMESTAMP, DATE and DECIMAL columns.
    case text(String)
    /// Bytes without a character set, for BINARY and BLOB columns.
    case bytes([UInt8])
    /// 1 or 0.
    case bool(Bool)

    /// The text, or NULL if there is none.
    public static func text(orNull text: String?) -> Value { text.map { .text($0) } ?? .null }

    /// The integer, or NULL if there is none.
    public static func int(orNull int: Int64?) -> Value { int.map { .int($0) } ?? .null }

    /// The bytes, or NULL if there are none.
    public static func bytes(orNull bytes: [UInt8]?) -> Value { bytes.map { .bytes($0) } ?? .null }
}

/// The names of columns, in the order in which a statement lists them.
public struct ColumnList: Sendable, Equatable, ExpressibleByArrayLiteral {
    let names: [String]

    public init(arrayLiteral names: StaticString...) { self.names = names.map(\.description) }

    init(_ names: [String]) { self.names = names }

    public static func + (left: ColumnList, right: ColumnList) -> ColumnList {
        ColumnList(left.names + right.names)
    }
}

/// Columns with the values that a statement writes into them.
///
/// A statement lists ``columns`` and binds ``values``, so that both have the same order.
public struct ColumnValues: Sendable, ExpressibleByDictionaryLiteral {
    public let columns: ColumnList
    public let values: [Value]

    public init(dictionaryLiteral elements: (StaticString, Value)...) {
        columns = ColumnList(elements.map(\.0.description))
        values = elements.map(\.1)
    }

    private init(_ columns: ColumnList, _ values: [Value]) {
        self.columns = columns
        self.values = values
    }

    public static func + (left: ColumnValues, right: ColumnValues) -> ColumnValues {
        ColumnValues(left.columns + right.columns, left.values + right.values)
    }

    /// The same columns, all NULL.
    public static func nulls(_ columns: ColumnList) -> ColumnValues {
        ColumnValues(columns, columns.names.map { _ in .null })
    }
}
