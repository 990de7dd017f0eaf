internal import CPosix
internal import Glibc

/// Wakes a thread that waits for work; any thread may ring, even while nobody waits.
///
/// A pipe (pipe(7)): a ring that nobody has heard yet stays in it, and further ones add nothing.
@safe
public final class Doorbell: Sendable {
    private let reading: CInt
    private let writing: CInt

    /// - Throws: ``PosixError`` if the process has too many open files.
    public init() throws(PosixError) {
        var ends: [CInt] = [-1, -1]
        guard unsafe pipe2(&ends, O_CLOEXEC | O_NONBLOCK) == 0 else { throw PosixError(call: "pipe2", code: errno) }
        reading = ends[0]
        writing = ends[1]
    }

    deinit {
        close(reading)
        close(writing)
    }

    /// Wakes the thread that waits, or the next one that does. Never waits: a full pipe means that it is ringing.
    public func ring() {
        var signal: UInt8 = 1
        _ = unsafe write(writing, &signal, 1)
    }

    /// Waits until somebody rings, at most for `limit` (poll(2)); a signal also ends the wait.
    public func wait(upTo limit: Duration) {
        var item = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
        let milliseconds = limit.components.seconds * 1_000 + limit.components.attoseconds / 1_000_000_000_000_000
        guard unsafe poll(&item, 1, Int32(clamping: milliseconds)) > 0 else { return }
        var heard = [UInt8](repeating: 0, count: 64)
        while unsafe read(reading, &heard, heard.count) > 0 {}
    }
}
