/// A position in a text file.
public struct TextPlace: Sendable, Hashable {
    /// From 1.
    public var line: Int
    /// In characters (Unicode scalars), from 1.
    public var column: Int

    public init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }
}

extension TextPlace: Comparable, CustomStringConvertible {
    public static func < (left: TextPlace, right: TextPlace) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }

    public var description: String { "line \(line), column \(column)" }
}
