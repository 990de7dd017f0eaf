/// A table of numbers with their names.
struct ReportTable {
    enum Cell {
        case words(String)
        case count(Int)
        /// A number with its unit.
        case measure(String)
        /// A missing or unknown value.
        case none

        /// The text for terminals.
        var plain: String {
            switch self {
            case .words(let text), .measure(let text): text
            case .count(let number): "\(number)"
            case .none: ""
            }
        }
    }

    var header: [String]
    var rows: [[Cell]]

    init(_ header: [String], _ rows: [[Cell]]) {
        self.header = header
        self.rows = rows
    }

    /// For terminals.
    var lines: [String] {
        var table = TextTable(header.map { $0.uppercased() })
        for row in rows { table.add(row.map(\.plain)) }
        return table.lines
    }
}
