internal import CPosix
internal import Glibc

/// A lock among processes, held until the end of its life, or of the process (flock(2)).
public struct FileLock: ~Copyable {
    private let descriptor: CInt

    /// Takes the lock whose file is at `path`, made if it does not exist, waiting for others up to `limit`.
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
}
