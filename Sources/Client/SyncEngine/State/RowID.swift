/// The key of a row that the store numbers itself; grows with each row, and is never used again.
package struct RowID<Row>: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The number, from 1.
    package let rawValue: Int64

    /// Gives the number its meaning.
    package init(_ rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// The older row comes first.
    package static func < (left: Self, right: Self) -> Bool {
        left.rawValue < right.rawValue
    }

    /// The number in decimal.
    package var description: String { rawValue.description }
}
