/// The key of a row, assigned by the store; increases with each row, and is never reused.
package struct RowID<Row>: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The number, from 1.
    package let rawValue: Int64

    /// Creates an id from its number.
    package init(_ rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// The older row sorts first.
    package static func < (left: Self, right: Self) -> Bool {
        left.rawValue < right.rawValue
    }

    /// The number in decimal.
    package var description: String { rawValue.description }
}
