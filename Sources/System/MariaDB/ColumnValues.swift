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
