import Operations
import Posix

/// The one way to the operator's terminal, for results and for complaints.
///
/// Names of people and groups come from phones, and error texts quote others. So everything goes through here, and
/// whatever is not printable is escaped: no value can give the terminal orders, turn a line around, or fake another line.
/// scripts/check refuses other ways.
enum Output {
    /// Writes lines of a result.
    static func write(_ lines: [String]) { print(PrintableText.lines(lines)) }

    /// Writes a result of several lines that holds no values of others.
    static func write(text: String) { write(lines(of: text)) }

    /// Writes JSON, which means the same afterwards: its strings take escapes.
    static func write(json: String) { print(PrintableText.json(json), terminator: json.hasSuffix("\n") ? "" : "\n") }

    /// Writes a report for people or for programs.
    static func write(_ report: any Report, asJSON: Bool) throws {
        if asJSON { write(json: try report.json()) } else { write(report.lines) }
    }

    /// Writes to standard error, where everything goes that is no result.
    static func complain(_ lines: [String]) { LogFile.standardError.write(line: PrintableText.lines(lines)) }

    /// Writes a text of several lines to standard error.
    static func complain(text: String) { complain(lines(of: text)) }

    private static func lines(of text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }
}
