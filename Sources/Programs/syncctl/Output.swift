import Glibc
import Operations
import Posix

/// The only way to write to the operator's terminal, for results and for errors.
///
/// Names of people and groups come from phones, and error texts quote others. So all output goes through here, and
/// everything not printable is escaped: no value can send terminal commands, reverse a line, or fake another line.
/// scripts/check rejects other ways.
enum Output {
    /// Writes lines of a result.
    static func write(_ lines: [String]) { print(PrintableText.lines(lines)) }

    /// Writes a multi-line result that contains no foreign values.
    static func write(text: String) { write(lines(of: text)) }

    /// Writes JSON, whose meaning is unchanged: its strings allow escapes.
    static func write(json: String) { print(PrintableText.json(json), terminator: json.hasSuffix("\n") ? "" : "\n") }

    /// Writes a report for people or for programs.
    static func write(_ report: any Report, asJSON: Bool) throws {
        if asJSON { return write(json: try report.json()) }
        guard Terminal.isColored else { return write(report.lines) }
        print(report.lines.map { colored(PrintableText.lines([$0])) }.joined(separator: "\n"))
    }

    /// The words with which reports begin a line about what is well or wrong, each with its colour (ECMA-48: SGR).
    private static let colors: [(words: String, color: Int)] = [
        ("BAD ", 31), ("THIS HOST NEEDS SOMEBODY", 31), ("FAILED", 31), ("CLOSED", 31), ("error ", 31),
        ("WARNING", 33), ("warning ", 33), ("ok ", 32), ("this host is well", 32), ("ignored ", 36), ("? ", 36),
    ]

    /// - Parameter line: printable characters only, so that the terminal receives no control sequences but the colours.
    private static func colored(_ line: String) -> String {
        guard let match = colors.first(where: { line.hasPrefix($0.words) }) else { return line }
        let end = line.index(line.startIndex, offsetBy: match.words.count)
        return "\u{1B}[1;\(match.color)m\(line[..<end])\u{1B}[0m\(line[end...])"
    }

    /// Writes an HTML page, in which nothing unprintable is left but its own line feeds; not for a terminal.
    static func write(page: [UInt8]) {
        print(PrintableText.lines(lines(of: String(decoding: page, as: UTF8.self))), terminator: "")
    }

    /// Empties a terminal's screen; what follows begins at its top (ECMA-48: CUP, ED).
    static func clearScreen() { print("\u{1B}[H\u{1B}[2J", terminator: "") }

    /// Passes on what was written so far, also to a pipe.
    static func flush() { fflush(nil) }

    /// Writes to standard error, for everything that is not a result.
    static func complain(_ lines: [String]) { LogFile.standardError.write(line: PrintableText.lines(lines)) }

    /// Writes what went wrong to standard error, for programs.
    static func complain(_ failure: FailureReport) {
        let json = (try? failure.json()) ?? "{}"
        LogFile.standardError.write(line: PrintableText.json(json))
    }

    /// Writes multi-line text to standard error.
    static func complain(text: String) { complain(lines(of: text)) }

    private static func lines(of text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }
}
