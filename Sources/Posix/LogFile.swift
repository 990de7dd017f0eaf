internal import Glibc
import Synchronization

/// Where log lines go: a descriptor that is there, or a file that can be opened anew after it was moved.
public final class LogFile: Sendable {
    private let path: String?
    private let descriptor: Mutex<Int32>

    /// Standard error, which systemd connects to the journal.
    public static let standardError = LogFile()

    private init() {
        path = nil
        descriptor = Mutex(STDERR_FILENO)
    }

    /// - Throws: ``PosixError`` if the file can be neither opened nor made.
    public init(path: String) throws(PosixError) {
        self.path = path
        descriptor = Mutex(try Self.open(path))
    }

    /// Appends one line in one write(2), so that lines of several processes do not mix.
    public func write(line: String) {
        write(line: Array(line.utf8))
    }

    /// Appends one line, given in UTF-8 and without its end.
    public func write(line: [UInt8]) {
        let bytes = line + [UInt8(ascii: "\n")]
        descriptor.withLock { descriptor in
            _ = unsafe Glibc.write(descriptor, bytes, bytes.count)
        }
    }

    /// Opens the file anew, since logrotate(8) has moved it; goes on with the old one if that fails.
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
