import Posix

/// Lays out rows of text in columns; numbers are right-aligned.
struct TextTable {
    private let header: [String]
    private var rows: [[String]] = []

    init(_ header: String...) { self.init(header) }

    init(_ header: [String]) { self.header = header }

    /// Adds a row. It escapes unprintable characters, so that column widths match the displayed text.
    mutating func add(_ row: String...) { add(row) }

    mutating func add(_ row: [String]) { rows.append(row.map(PrintableText.escaping)) }

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

/// Readable numbers.
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

    /// Such as `950`, `1.5k`, `20M`: for axes, which have little space.
    static func rounded(_ number: Double) -> String {
        var value = number
        var unit = 0
        let units = ["", "k", "M", "G", "T", "P", "E"]
        while value >= 999.5, unit < units.count - 1 {
            value /= 1_000
            unit += 1
        }
        return digits(value) + units[unit]
    }

    /// Such as `350 ms`, `2.5 s`, `5 min`.
    static func duration(_ seconds: Double) -> String {
        switch seconds {
        case ..<0.000_05: seconds > 0 ? "< 0.1 ms" : "0 ms"
        case ..<0.9995: "\(digits(seconds * 1_000)) ms"
        case ..<119.5: "\(digits(seconds)) s"
        default: "\(digits(min(seconds, 1e9) / 60)) min"
        }
    }

    /// Such as `1,234,567`.
    static func grouped(_ number: Int) -> String {
        var text = String(number.magnitude)
        var index = text.endIndex
        while text.distance(from: text.startIndex, to: index) > 3 {
            index = text.index(index, offsetBy: -3)
            text.insert(",", at: index)
        }
        return (number < 0 ? "-" : "") + text
    }

    /// With one digit after the decimal point for values below ten.
    private static func digits(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return tenths >= 100 || tenths % 10 == 0 ? "\(Int(value.rounded()))" : "\(tenths / 10).\(tenths % 10)"
    }
}
