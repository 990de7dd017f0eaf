import Glibc

/// The system's wall clock.
public enum WallClock {
    /// Whole seconds since 1970-01-01 00:00:00 UTC.
    public static func secondsSince1970() -> Int64 { Int64(time(nil)) }

    /// Milliseconds since 1970-01-01 00:00:00 UTC.
    public static func millisecondsSince1970() -> Int64 {
        var now = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1_000 + Int64(now.tv_nsec) / 1_000_000
    }
}

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
