import Foundation
import Synchronization

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The program's output: results on standard output, the rest on standard error.
enum Output {
    private static let lock = Mutex<Void>(())

    /// Writes a result: an object for programs, or text for people.
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
    static func draw(_ text: String) { write("\r\u{1B}[K" + text, to: STDERR_FILENO) }

    /// Whether standard error is a terminal.
    static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

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
        lock.withLock { _ in
            try? FileHandle(fileDescriptor: descriptor, closeOnDealloc: false).write(contentsOf: Data(text.utf8))
        }
    }
}
