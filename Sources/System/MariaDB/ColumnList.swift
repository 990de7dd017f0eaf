/// The names of columns, in the order in which a statement lists them.
public struct ColumnList: Sendable, Equatable, ExpressibleByArrayLiteral {
    let names: [String]

    public init(arrayLiteral names: StaticString...) { self.names = names.map(\.description) }

    init(_ names: [String]) { self.names = names }

    public static func + (left: ColumnList, right: ColumnList) -> ColumnList {
        ColumnList(left.names + right.names)
    }
}
