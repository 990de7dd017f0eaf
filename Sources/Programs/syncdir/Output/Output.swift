import Foundation
import Synchronization

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The program's output: results on standard output, the rest on standard error.
enum Output {
    /// Whether the terminal's current line is a progress line, which must be cleared before other output.
    private static let isDrawn = Mutex(false)

    /// Writes a result: a JSON object for programs, or text for people.
    static func write(_ result: some Encodable, _ text: @autoclosure () -> String, asJSON: Bool) {
        let line = asJSON ? json(result) : text()
        if !line.isEmpty { write(line + "\n", to: STDOUT_FILENO) }
    }

    /// Reports why the command failed.
    static func complain(_ failure: Failure, asJSON: Bool) {
        if asJSON {
            struct Complaint: Encodable {
                var error: String
                var status: Int32
            }
            write(json(Complaint(error: failure.message, status: failure.status.rawValue)) + "\n", to: STDOUT_FILENO)
        } else {
            note("syncdir: \(failure.message)")
        }
    }

    /// Writes a message in addition to the result.
    static func note(_ text: String) { write(text + "\n", to: STDERR_FILENO) }

    /// Redraws the terminal's current line; empty text only clears it.
    static func draw(_ text: String) {
        isDrawn.withLock { isDrawn in
            guard isDrawn || !text.isEmpty else { return }
            put("\r\u{1B}[K" + text, to: STDERR_FILENO)
            isDrawn = !text.isEmpty
        }
    }

    /// Whether a person is watching: neither output is a pipe or a file.
    static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 }

    /// The width of the terminal, in columns.
    static var terminalWidth: Int {
        var size = winsize()
        guard unsafe ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// Such as `1.2 MB`.
    static func amount(_ bytes: Int64) -> String {
        if bytes < 1_000 { return "\(bytes) bytes" }
        let units = ["kB", "MB", "GB", "TB"]
        var (value, unit) = (Double(bytes) / 1_000, 0)
        while value >= 999.95, unit < units.count - 1 { (value, unit) = (value / 1_000, unit + 1) }
        return String(format: "%.1f \(units[unit])", value)
    }

    /// A name with non-ASCII characters as code points, so that people can distinguish spellings.
    static func spelled(_ text: String) -> String {
        text.unicodeScalars.map { scalar in
            scalar.isASCII ? String(scalar) : "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
        }.joined()
    }

    /// Foreign text without anything that a terminal could interpret as a command.
    static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) ? "\u{FFFD}" : $0 }))
    }

    static func json(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    private static func write(_ text: String, to descriptor: Int32) {
        isDrawn.withLock { isDrawn in
            if isDrawn { put("\r\u{1B}[K", to: STDERR_FILENO) }
            isDrawn = false
            put(text, to: descriptor)
        }
    }

    private static func put(_ text: String, to descriptor: Int32) {
        try? FileHandle(fileDescriptor: descriptor, closeOnDealloc: false).write(contentsOf: Data(text.utf8))
    }
}
