import Posix

/// Lays out rows of text in columns; numbers are aligned to the right.
struct TextTable {
    private let header: [String]
    private var rows: [[String]] = []

    init(_ header: String...) {
        self.header = header
    }

    /// Adds a row. Unprintable characters are escaped here, so that column widths match what is shown.
    mutating func add(_ row: String...) { rows.append(row.map(PrintableText.escaping)) }

    /// The table without trailing blanks.
    var lines: [String] {
        let all = [header] + rows
        let widths = header.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        let areNumbers = header.indices.map { column in
            !rows.isEmpty && rows.allSatisfy { Int64($0[column]) != nil || $0[column].isEmpty }
        }
        return all.map { row in
            let cells = row.enumerated().map { column, cell -> String in
                let blanks = String(repeating: " ", count: widths[column] - cell.count)
                return areNumbers[column] ? blanks + cell : cell + blanks
            }
            var line = cells.joined(separator: "  ")
            while line.last == " " { line.removeLast() }
            return line
        }
    }
}

/// Numbers for people.
enum Quantity {
    /// Such as `3 files`, `1 file`.
    static func of(_ count: Int, _ noun: String, _ plural: String? = nil) -> String {
        "\(count) \(count == 1 ? noun : plural ?? noun + "s")"
    }

    /// Such as `1.5 MiB`.
    static func bytes(_ count: Int64) -> String {
        var value = Double(count)
        var unit = 0
        let units = ["bytes", "KiB", "MiB", "GiB", "TiB"]
        while value >= 1_024, unit < units.count - 1 {
            value /= 1_024
            unit += 1
        }
        guard unit > 0 else { return "\(count) \(count == 1 ? "byte" : "bytes")" }
        let tenths = Int64((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }

    /// Such as `2 h 5 min`.
    static func seconds(_ count: Int64) -> String {
        switch count {
        case ..<60: "\(count) s"
        case ..<3_600: "\(count / 60) min"
        case ..<86_400: "\(count / 3_600) h \(count % 3_600 / 60) min"
        default: "\(count / 86_400) d \(count % 86_400 / 3_600) h"
        }
    }
}
