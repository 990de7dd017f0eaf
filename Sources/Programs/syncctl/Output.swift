import Glibc
import Operations
import Posix

/// The only way to write to the operator's terminal, for results and for errors. Names of people and groups come from
/// phones, and error texts quote foreign text. So all output passes through here, and unprintable characters are
/// escaped: no value can send terminal commands, reverse a line, or fake another line. scripts/check rejects code that
/// writes in other ways.
enum Output {
    /// Writes lines of a result.
    static func write(_ lines: [String]) { print(PrintableText.lines(lines)) }

    /// Writes a multi-line result that contains no foreign values.
    static func write(text: String) { write(lines(of: text)) }

    /// Writes JSON; escapes in its strings keep its meaning unchanged.
    static func write(json: String) { print(PrintableText.json(json), terminator: json.hasSuffix("\n") ? "" : "\n") }

    /// Writes a report for people or for programs.
    static func write(_ report: any Report, asJSON: Bool) throws {
        if asJSON { return write(json: try report.json()) }
        guard Terminal.isColored else { return write(report.lines) }
        print(report.lines.map { colored(PrintableText.lines([$0])) }.joined(separator: "\n"))
    }

    /// The words at the beginning of a report's good and bad lines, each with its colour (ECMA-48: SGR).
    private static let colors: [(words: String, color: Int)] = [
        ("BAD ", 31), ("THIS HOST NEEDS ATTENTION", 31), ("FAILED", 31), ("CLOSED", 31), ("error ", 31),
        ("WARNING", 33), ("warning ", 33), ("ok ", 32), ("this host is healthy", 32), ("ignored ", 36), ("? ", 36),
    ]

    /// - Parameter line: printable characters only, so that the terminal receives no control sequences except the
    ///   colours.
    private static func colored(_ line: String) -> String {
        guard let match = colors.first(where: { line.hasPrefix($0.words) }) else { return line }
        let end = line.index(line.startIndex, offsetBy: match.words.count)
        return "\u{1B}[1;\(match.color)m\(line[..<end])\u{1B}[0m\(line[end...])"
    }

    /// Writes an HTML page, whose only unprintable characters are its own line feeds; not for a terminal.
    static func write(page: [UInt8]) {
        print(PrintableText.lines(lines(of: String(decoding: page, as: UTF8.self))), terminator: "")
    }

    /// Clears a terminal's screen; further output begins at the top (ECMA-48: CUP, ED).
    static func clearScreen() { print("\u{1B}[H\u{1B}[2J", terminator: "") }

    /// Flushes the output so far, even to a pipe.
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
