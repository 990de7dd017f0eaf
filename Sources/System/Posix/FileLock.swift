internal import CPosix
internal import Glibc

/// An inter-process lock, held until the value is destroyed or the process exits (flock(2)).
public struct FileLock: ~Copyable {
    private let descriptor: CInt

    /// Acquires the lock file at `path`, creating it if missing, and waits for other holders up to `limit`.
    /// - Throws: ``PosixError``; `EWOULDBLOCK` if others hold it for longer.
    public init(_ path: String, waiting limit: Duration) throws(PosixError) {
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o640)
        guard descriptor >= 0 else { throw PosixError(call: "open", code: errno) }
        let end = ContinuousClock.now + limit
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let code = errno
            guard code == EWOULDBLOCK || code == EINTR, ContinuousClock.now < end else {
                close(descriptor)
                throw PosixError(call: "flock", code: code)
            }
            Pause.sleep(.milliseconds(2))
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// When the lock file was created, in seconds since 1970: nothing ever writes to it (fstat(2), `st_mtim`).
    /// - Throws: ``PosixError``.
    public borrowing func made() throws(PosixError) -> Int64 {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw PosixError(call: "fstat", code: errno) }
        return Int64(status.st_mtim.tv_sec)
    }
}
