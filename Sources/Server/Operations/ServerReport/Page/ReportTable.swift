/// Numbers with their names.
struct ReportTable {
    enum Cell {
        case words(String)
        case count(Int)
        /// A number with its unit.
        case measure(String)
        /// Something that there is not, or that is not known.
        case none

        /// As terminals show it.
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
