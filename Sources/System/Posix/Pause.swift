internal import Glibc

/// Blocks the calling thread for a while.
public enum Pause {
    /// Blocks for `duration`, longer if the system is busy; signals do not interrupt it.
    public static func sleep(_ duration: Duration) {
        var rest = timespec(
            tv_sec: Int(duration.components.seconds), tv_nsec: Int(duration.components.attoseconds / 1_000_000_000))
        var left = timespec()
        while unsafe nanosleep(&rest, &left) != 0 && errno == EINTR { rest = left }
    }
}
