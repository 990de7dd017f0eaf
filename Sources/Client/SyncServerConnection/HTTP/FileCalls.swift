package import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Android)
    import Android
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The calls of POSIX.1-2024 for files that the library owns, each of them one system call.
///
/// `FileManager` makes up to thirty for the same result: `attributesOfItem`, for example, reads `/etc/passwd` and
/// `/etc/group` for the names of the owners.
@safe
package enum FileCalls {
    /// stat(2), access(2): the size in bytes of a regular file that can be read, and its modification time in seconds
    /// since 1970; nil for anything else.
    package static func status(of path: String) -> (size: Int64, modified: Double)? {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            unsafe access(path, R_OK) == 0
        else { return nil }
        #if canImport(Darwin)
            let modified = status.st_mtimespec
        #else
            let modified = status.st_mtim
        #endif
        // As a `Date`, whose precision stored values have.
        let date = Date(timeIntervalSince1970: Double(modified.tv_sec) + Double(modified.tv_nsec) / 1e9)
        return (Int64(status.st_size), date.timeIntervalSince1970)
    }

    /// rename(2): moves a file within a file system; replaces an existing file.
    package static func move(_ path: String, to destination: String) throws(POSIXError) {
        guard unsafe rename(path, destination) == 0 else { throw lastError }
    }

    /// unlink(2): removes a file.
    package static func remove(_ path: String) throws(POSIXError) {
        guard unsafe unlink(path) == 0 else { throw lastError }
    }

    /// fsync(2): returns when the bytes of a file, or the names in a folder, are on disk.
    package static func synchronize(_ path: String) throws(POSIXError) {
        try OpenFile(path, O_RDONLY).synchronize()
    }

    fileprivate static var lastError: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}

/// An open file, closed with its last reference.
final class OpenFile: Sendable {
    private let descriptor: Int32

    /// open(2): with `O_CREAT`, the file has the mode that the umask allows.
    init(_ path: String, _ flags: Int32) throws(POSIXError) {
        let descriptor = unsafe open(path, flags | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw FileCalls.lastError }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// ftruncate(2).
    func truncate(to length: Int64) throws(POSIXError) {
        guard ftruncate(descriptor, off_t(length)) == 0 else { throw FileCalls.lastError }
    }

    /// pwrite(2), until all bytes are written.
    func write(_ bytes: RawSpan, at position: Int64) throws(POSIXError) {
        var written = 0
        while written < bytes.byteCount {
            let rest = bytes.extracting(written..<bytes.byteCount)
            let count = unsafe rest.withUnsafeBytes {
                unsafe pwrite(descriptor, $0.baseAddress, $0.count, off_t(position) + off_t(written))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw FileCalls.lastError }
            written += count
        }
    }

    /// fsync(2).
    func synchronize() throws(POSIXError) {
        guard fsync(descriptor) == 0 else { throw FileCalls.lastError }
    }
}
