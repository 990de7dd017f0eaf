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
