import CZlib
import Glibc

/// Writes a new file, or standard output, compressed with gzip (RFC 1952), piece by piece.
///
/// Not `Sendable`: one thread at a time.
@safe
public struct GzipWriter: ~Copyable {
    private var file: gzFile?
    /// A second descriptor of the file, to sync it to disk after zlib has closed its own.
    private let descriptor: Int32

    /// Creates a file with mode 0600.
    /// - Throws: ``GzipError/system(call:errno:)``; `EEXIST` if the file exists.
    public init(creating path: String) throws(GzipError) {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .system(call: "open \(path)", errno: errno) }
        try self.init(taking: descriptor)
    }

    /// Writes to this process's standard output, which may be a pipe and stays open.
    /// - Throws: ``GzipError/system(call:errno:)``.
    public static func toStandardOutput() throws(GzipError) -> GzipWriter {
        let descriptor = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else { throw .system(call: "fcntl", errno: errno) }
        return try GzipWriter(taking: descriptor)
    }

    private init(taking descriptor: Int32) throws(GzipError) {
        let second = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        // Level 6, zlib's default; gzdopen takes ownership of the descriptor on success (zlib.h).
        guard second >= 0, let file = unsafe gzdopen(descriptor, "wb6") else {
            close(descriptor)
            if second >= 0 { close(second) }
            throw .system(call: "gzdopen", errno: errno)
        }
        unsafe self.file = unsafe file
        self.descriptor = second
    }

    deinit {
        if let file = unsafe file { _ = unsafe gzclose(file) }
        close(descriptor)
    }

    /// Appends `bytes`.
    /// - Throws: ``GzipError/system(call:errno:)``, such as `ENOSPC`.
    public mutating func write(_ bytes: [UInt8]) throws(GzipError) {
        guard let file = unsafe file, !bytes.isEmpty else { return }
        let written = unsafe gzwrite(file, bytes, UInt32(bytes.count))
        guard written == Int32(bytes.count) else { throw .system(call: "gzwrite", errno: errno) }
    }

    /// Completes the file and syncs it to disk (fsync(2)), unless it is a pipe or a terminal.
    /// - Throws: ``GzipError/system(call:errno:)``; the file is then unusable.
    public mutating func finish() throws(GzipError) {
        guard let open = unsafe file else { return }
        unsafe file = nil
        guard unsafe gzclose(open) == Z_OK else { throw .system(call: "gzclose", errno: errno) }
        // fsync(2): EINVAL and EROFS for what cannot be synced.
        guard fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS else {
            throw .system(call: "fsync", errno: errno)
        }
    }
}

/// What can go wrong with a compressed file.
public enum GzipError: Error, Equatable {
    /// The file cannot be opened, created, written or closed; the payload is errno, 0 if zlib gave none.
    case system(call: String, errno: Int32)
    /// The data read is not what was written: the file is damaged, truncated, or not compressed with gzip.
    case damaged
    /// A line is longer than the reader allows.
    case lineTooLong(limitBytes: Int)
}

extension GzipError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .system(let call, let code): "\(call) failed with errno \(code)"
        case .damaged: "the file is damaged, cut short, or not compressed with gzip"
        case .lineTooLong(let limit): "a line is longer than \(limit) bytes"
        }
    }
}
