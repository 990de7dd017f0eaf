import FoundationEssentials
import Posix
import Store
import SyncProtocol

/// The result of a command, for people and for programs.
///
/// The names in the JSON form are an interface; docs/operations.md lists them.
public protocol Report: Encodable {
    /// For people: one line each, with values unescaped. Code that displays them must escape characters that could
    /// forge other lines or control a terminal, as ``text`` does.
    var lines: [String] { get }
    /// Whether there are no problems; determines the exit status.
    var isGood: Bool { get }
}

extension Report {
    public var isGood: Bool { true }

    /// For people: lines without a trailing newline, safe on a terminal.
    public var text: String { PrintableText.lines(lines) }

    /// For programs: one JSON object, names sorted.
    public func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        if let key = WireDate.isForOperators { encoder.userInfo[key] = true }
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}

/// An item of a list, as a row of the table for people.
public protocol TableRow: Encodable {
    /// What the items are called, in the plural.
    static var noun: String { get }
    /// The titles of the columns.
    static var header: [String] { get }
    /// One text for each column.
    var cells: [String] { get }
}

/// A part of a list.
public struct Page<Item: TableRow>: Encodable {
    public var items: [Item]
    /// The value of `--after` for the next part; absent in the last part.
    public var nextAfter: String?

    /// - Parameters:
    ///   - items: up to one more than `limit`, to detect that there are more.
    ///   - key: the value by which the list is ordered.
    public init(_ items: [Item], limit: Int, key: (Item) -> String) {
        self.items = Array(items.prefix(limit))
        nextAfter = items.count > limit ? self.items.last.map(key) : nil
    }
}

extension Page: Report {
    /// The table, and the option that continues the list.
    public var lines: [String] {
        if items.isEmpty { return ["no \(Item.noun)"] }
        var table = TextTable(Item.header)
        for item in items { table.add(item.cells) }
        guard let nextAfter else { return table.lines }
        return table.lines + ["… more: --after \(nextAfter)"]
    }
}

/// Lays out rows of text in columns; numbers are right-aligned.
struct TextTable {
    private let header: [String]
    private var rows: [[String]] = []

    init(_ header: String...) { self.init(header) }

    init(_ header: [String]) { self.header = header }

    /// Adds a row. It escapes unprintable characters, so that column widths match the displayed text.
    mutating func add(_ row: String...) { add(row) }

    mutating func add(_ row: [String]) { rows.append(row.map(PrintableText.escaping)) }

    /// The table without trailing spaces.
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

    /// An estimate, to two digits, such as `about 1,300,000`.
    static func about(_ count: Int) -> String {
        var unit = 1
        while count / unit >= 100 { unit *= 10 }
        return "about \(grouped((count + unit / 2) / unit * unit))"
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
