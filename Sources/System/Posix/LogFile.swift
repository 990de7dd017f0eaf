internal import Glibc
import Synchronization

/// The destination of log lines: an existing descriptor, or a file that can be reopened after rotation.
public final class LogFile: Sendable {
    private let path: String?
    private let descriptor: Mutex<Int32>

    /// Whether lines go to systemd's journal, which interprets `<4>` at the beginning of a line as its priority
    /// (sd-daemon(3)).
    public let isJournal: Bool

    /// Standard error, which systemd connects to the journal.
    public static let standardError = LogFile()

    private init() {
        path = nil
        descriptor = Mutex(STDERR_FILENO)
        isJournal = Self.isStandardErrorJournal()
    }

    /// Whether `JOURNAL_STREAM` names standard error by device and inode, which holds unless it was redirected
    /// (systemd.exec(5)).
    private static func isStandardErrorJournal() -> Bool {
        guard let named = unsafe getenv("JOURNAL_STREAM").map({ unsafe String(cString: $0) }) else { return false }
        var status = stat()
        guard unsafe fstat(STDERR_FILENO, &status) == 0 else { return false }
        return named == "\(status.st_dev):\(status.st_ino)"
    }

    /// - Throws: ``PosixError`` if the file can be neither opened nor created.
    public init(path: String) throws(PosixError) {
        self.path = path
        isJournal = false
        descriptor = Mutex(try Self.open(path))
    }

    /// Appends one line in one write(2), so that lines of several processes do not interleave.
    public func write(line: String) {
        write(line: Array(line.utf8))
    }

    /// Appends one line, given in UTF-8 without its line feed.
    public func write(line: [UInt8]) {
        let bytes = line + [UInt8(ascii: "\n")]
        descriptor.withLock { descriptor in
            _ = unsafe Glibc.write(descriptor, bytes, bytes.count)
        }
    }

    /// Reopens the file after logrotate(8) has moved it; keeps the old one if that fails.
    public func reopen() {
        guard let path, let fresh = try? Self.open(path) else { return }
        descriptor.withLock { descriptor in
            close(descriptor)
            descriptor = fresh
        }
    }

    private static func open(_ path: String) throws(PosixError) -> Int32 {
        let descriptor = unsafe Glibc.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o640)
        guard descriptor >= 0 else { throw PosixError(call: "open", code: errno) }
        return descriptor
    }
}

/// Writes messages of programs whose log does not exist yet, or that have none.
public enum StandardError {
    public static func write(_ text: String) {
        let file = LogFile.standardError
        let lines = text.split(separator: "\n").map { PrintableText.escaping(String($0)) }
        guard file.isJournal else { return file.write(line: lines.joined(separator: "\n")) }
        // Each line is a separate journal record; 3 is an error (sd-daemon(3)).
        for line in lines { file.write(line: "<3>\(line)") }
    }
}
